"""A run's small files at an address: gs://, s3://, file://, as pyarrow knows them."""

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
from pyarrow import fs

from mnist_gan._errors import UserError

_LOCAL = "file://"


def below(address: str, name: str) -> Path | str:
    """A folder below an address, as orbax takes it.

    Example:
      >>> below("gs://bucket/run", "checkpoints")
      'gs://bucket/run/checkpoints'
    """
    if address.startswith(_LOCAL):
        return Path(address.removeprefix(_LOCAL)) / name
    return f"{address.rstrip('/')}/{name}"


def copy_new(address: str, folder: Path, names: Iterable[str]) -> None:
    """Copies files and folders from an address, those that there are.

    Args:
      address: of a folder.
      folder: where to.
      names: of what is in it.

    Raises:
      UserError: if there is no such kind of address.
      OSError: if the address cannot be read.
    """
    store, root = _store(address)
    for name in names:
        source = f"{root.rstrip('/')}/{name}"
        kind = store.get_file_info(source).type
        if kind == fs.FileType.NotFound:
            continue
        if kind == fs.FileType.Directory:
            (folder / name).mkdir(exist_ok=True)
        fs.copy_files(source, str(folder / name), source_filesystem=store)


def copy_out(folder: Path, address: str, names: Iterable[str]) -> None:
    """Copies files and folders to an address, those that there are.

    Args:
      folder: where from.
      address: of a folder; made where its store has folders.
      names: of what to copy.

    Raises:
      UserError: if there is no such kind of address.
      OSError: if the address cannot be written to.
    """
    store, root = _store(address)
    store.create_dir(root, recursive=True)
    for name in names:
        source, target = folder / name, f"{root.rstrip('/')}/{name}"
        if source.is_dir():
            store.create_dir(target, recursive=True)
        if source.exists():
            fs.copy_files(str(source), target, destination_filesystem=store)


def _store(address: str) -> tuple[fs.FileSystem, str]:
    try:
        return fs.FileSystem.from_uri(address)
    except pa.ArrowInvalid as error:
        raise UserError(
            f"{address}: a run is kept in a folder, or at gs://, s3:// or file://, "
            "which checkpoints can be written to; name one of these"
        ) from error

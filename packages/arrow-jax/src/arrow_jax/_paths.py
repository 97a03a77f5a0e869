"""Which files a path stands for, here or behind an address."""

import glob
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path
from typing import Any

import pyarrow.fs as pafs

from arrow_jax._errors import ArrowJaxError


def is_address(path: str) -> bool:
    """Whether a path is opened by fsspec.

    Args:
      path: as typed.

    Returns:
      True for `hf://...` and its like.
    """
    return "://" in path


def expand(path: str, endings: tuple[str, ...]) -> list[str]:
    """Lists the files that a path stands for.

    Args:
      path: a file, a folder, a glob, or an address of one.
      endings: of the files that count in a folder.

    Returns:
      The files in order of name, at least one.

    Raises:
      FileNotFoundError: if there is nothing.
      ArrowJaxError: if a folder or an address holds no such file.
    """
    if is_address(path):
        return _expand_address(path, endings)
    here = Path(path)
    if here.is_dir():
        files = (f for f in here.rglob("*") if f.name.endswith(endings))
        found = sorted(str(f) for f in files if not _hidden(f, here))
        if not found:
            inside = sorted(f.name for f in here.iterdir())[:3]
            raise ArrowJaxError(
                f"the folder {path} holds no {_said(endings)} file"
                f" ({'it is empty' if not inside else 'it has ' + ', '.join(inside)})."
                " Name the folder that has them, or a file"
            )
        return found
    if here.is_file():
        return [path]
    if here.exists():
        raise ArrowJaxError(
            f"{path} is a pipe or device, wanted a file. Save what it gives first"
        )
    if found := sorted(glob.glob(path, recursive=True)):  # noqa: PTH207  (as typed)
        return [f for f in found if Path(f).is_file()]
    raise FileNotFoundError(_missing(here))


def _hidden(file: Path, folder: Path) -> bool:
    return any(p.startswith((".", "_")) for p in file.relative_to(folder).parts)


def _missing(path: Path) -> str:
    folder = path.parent
    if not folder.is_dir():
        return f"there is no file {path}, nor a folder {folder}. Check the path"
    near = sorted(f.name for f in folder.iterdir())[:5]
    beside = ", ".join(near) or "nothing"
    return f"there is no file {path}. Beside it: {beside}. Check the path"


def _said(endings: tuple[str, ...]) -> str:
    return " or ".join(endings)


def _fsspec(path: str) -> Any:
    try:
        import fsspec  # noqa: PLC0415  (only addresses need it)
    except ImportError as error:
        raise ArrowJaxError(
            f'{path} needs fsspec: pip install "arrow-jax[remote]"'
        ) from error
    try:
        return fsspec.core.url_to_fs(path)
    except (ImportError, ValueError) as error:
        scheme = path.split("://", maxsplit=1)[0]
        raise ArrowJaxError(
            f"{path} can't be opened: {error}. Addresses with {scheme}:// need the "
            "package that knows them (hf: huggingface_hub, gs: gcsfs, s3: s3fs, http: "
            "aiohttp)"
        ) from error


def _expand_address(path: str, endings: tuple[str, ...]) -> list[str]:
    files, inside = _fsspec(path)
    if "*" in inside:
        found = [files.unstrip_protocol(f) for f in files.glob(inside)]
    elif inside.endswith(endings) or not files.isdir(inside):
        return [path]
    else:
        found = [files.unstrip_protocol(f) for f in files.find(inside)]
        found = [f for f in found if f.endswith(endings)]
    if not found:
        raise ArrowJaxError(f"{path} holds no {_said(endings)} file. Check the address")
    return sorted(found)


@contextmanager
def opened(path: str) -> Generator[Any]:
    """Opens a file for Arrow.

    Args:
      path: of the file, or its address.

    Yields:
      The path itself where it is a local one, else an open file.
    """
    if not is_address(path):
        yield path
        return
    files, inside = _fsspec(path)
    with files.open(inside, "rb") as file:
        yield file


def filesystem_of(path: str) -> tuple[Any, str]:
    """Finds how Arrow opens a file.

    Args:
      path: of the file, or its address.

    Returns:
      Arrow's filesystem, and the path within.
    """
    if not is_address(path):
        return pafs.LocalFileSystem(), path
    files, inside = _fsspec(path)
    return pafs.PyFileSystem(pafs.FSSpecHandler(files)), inside


def short_names(files: Sequence[str]) -> list[str]:
    """Names files by what comes below the folder that all share.

    Args:
      files: paths or addresses.

    Returns:
      Names such as "a.parquet", or "train/a.parquet" where folders differ.
    """
    parts = [file.split("/") for file in files]
    levels = zip(*(file[:-1] for file in parts), strict=False)
    n = len(list(takewhile(lambda names: len(set(names)) == 1, levels)))
    return ["/".join(file[n:]) for file in parts]

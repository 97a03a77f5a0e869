"""Files of one kind as one dataset, whatever the kind."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from arrow_jax._dataset import Dataset
from arrow_jax._dataset_dict import split_up
from arrow_jax._errors import ArrowJaxError, ShapeError
from arrow_jax._facts import Facts, merge
from arrow_jax._features import Audio, Image
from arrow_jax._paths import expand, is_address, short_names
from arrow_jax._source import Source

# A path -> the table, and what the file says is known about its columns.
Read = Callable[[str], tuple[pa.Table, Mapping[str, Facts]]]


class Kind(NamedTuple):
    """A kind of file.

    Attributes:
      name: what it is called.
      reader: the function that reads it, for errors.
      endings: of its files.
      infers: whether types are guessed from the values, so that files of one dataset
        may differ in them.
    """

    name: str
    reader: str
    endings: tuple[str, ...]
    infers: bool = False


def read_files(paths: Any, kind: Kind, read: Read, *, folder: Any = None) -> Any:
    """Reads files into a dataset.

    Args:
      paths: a file, a folder, a glob, a list of these, or a mapping from split to
        these; also addresses.
      kind: of the files.
      read: reads one.
      folder: where paths in image columns start; by default where the files are.

    Returns:
      A `Dataset`; of a mapping a `DatasetDict`.

    Raises:
      FileNotFoundError: if there is nothing at a path.
      ArrowJaxError: if a file is not of that kind, or files differ in their columns.
    """
    if isinstance(paths, Mapping):
        found = {n: _source(p, kind, read, folder) for n, p in paths.items()}
        if not any(_names_files(source) for source in found.values()):
            # Folders do not matter then, and must not keep splits from sharing facts.
            found = {n: replace(source, folder=None) for n, source in found.items()}
        return split_up(found)
    return Dataset.of_source(_source(paths, kind, read, folder))


def _names_files(source: Source) -> bool:
    """Whether a row of images or sounds is in a file of its own."""
    for name, feature in source.features.items():
        if isinstance(feature, Image | Audio):
            for chunk in source.table.column(name).chunks:
                if pa.types.is_struct(chunk.type) and not _has_bytes(chunk):
                    return True
    return False


def _has_bytes(array: pa.StructArray) -> bool:
    fields = dict(zip([f.name for f in array.type], array.flatten(), strict=True))
    inside, path = fields["bytes"].is_null(), fields["path"].is_valid()
    return not (np.asarray(inside) & np.asarray(path)).any()


def _source(paths: Any, kind: Kind, read: Read, folder: Any) -> Source:
    several = isinstance(paths, Sequence) and not isinstance(paths, str)
    listed = paths if several else [paths]
    files = [f for p in listed for f in expand(str(p), kind.endings)]
    if not files:
        raise ArrowJaxError(f"{kind.reader} got an empty list: name at least one file")
    found = [_read(file, kind, read) for file in files]
    tables = [table for table, _ in found]
    starts, at = [], 0
    for name, part in zip(short_names(files), tables, strict=True):
        words = f" of {name}" if len(files) > 1 else ""
        starts.append((at, words))
        at += len(part)
    folders = {str(Path(f).parent) for f in files if not is_address(f)}
    below = Path(folders.pop()) if len(folders) == 1 else None
    return Source.of(
        _joined(files, tables, kind),
        origins=tuple(starts),
        folder=below if folder is None else Path(folder),
        said=merge(facts for _, facts in found),
    )


def _joined(files: list[str], tables: list[pa.Table], kind: Kind) -> pa.Table:
    first = tables[0].schema
    tables = [t.replace_schema_metadata(first.metadata) for t in tables]
    promote = "permissive" if kind.infers else "none"
    for file, table in zip(files, tables, strict=True):
        same = table.schema.equals(first)
        if kind.infers:
            same = table.column_names == first.names
        if not same:
            raise differ(file, files[0], table.schema, first)
        try:
            if kind.infers:
                both = [first, table.schema]
                first = pa.unify_schemas(both, promote_options=promote)
        except pa.ArrowException as error:
            raise differ(file, files[0], table.schema, first) from error
    return pa.concat_tables(tables, promote_options=promote)


def differ(file: str, other: str, found: pa.Schema, first: pa.Schema) -> ShapeError:
    """Makes the error for files of one dataset that differ in their columns.

    Args:
      file: that differs.
      other: the first file.
      found: schema of the one.
      first: schema of the other.

    Returns:
      The error.
    """
    return ShapeError(
        f"{file} has other columns than {other}:\n{found.remove_metadata()}\nagainst\n"
        f"{first.remove_metadata()}\nRead them apart, or pick what they share with "
        "columns=[...]"
    )


def _read(path: str, kind: Kind, read: Read) -> tuple[pa.Table, Mapping[str, Facts]]:
    try:
        return read(path)
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"there is nothing at {path}. Check the address"
        ) from error
    except (pa.ArrowException, ValueError) as error:
        if isinstance(error, ArrowJaxError):
            raise
        reason = str(error).split(". ", maxsplit=1)[0].strip().replace("\n", " ")
        way = "write one with arrow_jax.write_parquet"
        if kind.infers:
            way = "correct it"
        raise ArrowJaxError(
            f"{path} can't be read as {kind.name}: {reason}. It is another kind of file"
            f" or was cut short; get it again, or {way}"
        ) from error
    except OSError as error:
        raise ArrowJaxError(f"{path} can't be read: {error}. Try again") from error

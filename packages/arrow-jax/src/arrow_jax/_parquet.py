"""Reading Parquet from wherever it is."""

import glob
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from arrow_jax._dataset import Dataset
from arrow_jax._dataset_dict import split_up
from arrow_jax._errors import ArrowJaxError, ShapeError
from arrow_jax._facts import KEY, Facts, from_json, merge
from arrow_jax._format import check_columns
from arrow_jax._source import Source


def read_parquet(
    paths: Any, *, columns: Sequence[str] | None = None, filters: Any = None
) -> Any:
    """Reads Parquet files into a dataset.

    Features such as `Image` and `ClassLabel` come from the schema's metadata, in the
    layout of Hugging Face `datasets`.

    Args:
      paths: a file, a folder (every `.parquet` below it), a glob, a list of these, or a
        mapping from split to these. An address such as `hf://`, `gs://`, `s3://`,
        `https://` or `memory://` is opened with fsspec.
      columns: the names to read; all of them by default.
      filters: an Arrow expression; row groups that can't hold such rows are not read.

    Returns:
      A `Dataset`, with files in order of name; of a mapping a `DatasetDict`.

    Raises:
      FileNotFoundError: if there is nothing at a path.
      ArrowJaxError: if a file is not Parquet or is cut short, a folder holds none, a
        column is not there, or files differ in their columns.

    Example:
      >>> import pathlib, tempfile
      >>> from arrow_jax import write_parquet
      >>> folder = pathlib.Path(tempfile.mkdtemp())
      >>> write_parquet(folder / "a.parquet", {"x": [1, 2]})
      >>> read_parquet(folder)["x"]
      [1, 2]
    """
    if isinstance(paths, Mapping):
        return split_up({n: _read(p, columns, filters) for n, p in paths.items()})
    return Dataset.of_source(_read(paths, columns, filters))


def _read(paths: Any, columns: Sequence[str] | None, filters: Any) -> Source:
    several = isinstance(paths, Sequence) and not isinstance(paths, str)
    files = [f for p in (paths if several else [paths]) for f in _expand(str(p))]
    if not files:
        raise ArrowJaxError("read_parquet got an empty list: name at least one file")
    found = [_read_file(f, columns, filters) for f in files]
    tables = [table for table, _ in found]
    first = tables[0].schema
    for file, table in zip(files, tables, strict=True):
        if not table.schema.equals(first):
            raise ShapeError(
                f"{file} has other columns than {files[0]}:\n"
                f"{table.schema.remove_metadata()}\nagainst\n{first.remove_metadata()}"
                "\nRead them apart, or pick what they share with columns=[...]"
            )
    table = pa.concat_tables(
        [t.replace_schema_metadata(first.metadata) for t in tables]
    )
    starts, at = [], 0
    for file, part in zip(files, tables, strict=True):
        words = f" of {file.rsplit('/', 1)[-1]}" if len(files) > 1 else ""
        starts.append((at, words))
        at += len(part)
    folders = {str(Path(f).parent) for f in files if not _is_address(f)}
    folder = Path(folders.pop()) if len(folders) == 1 else None
    said = merge(facts for _, facts in found)
    return Source.of(table, origins=tuple(starts), folder=folder, said=said)


def _is_address(path: str) -> bool:
    return "://" in path


def _expand(path: str) -> list[str]:
    """Lists the files that a path stands for."""
    if _is_address(path):
        return _expand_address(path)
    here = Path(path)
    if here.is_dir():
        found = sorted(str(f) for f in here.rglob("*.parquet") if not _hidden(f, here))
        if not found:
            inside = sorted(f.name for f in here.iterdir())[:3]
            raise ArrowJaxError(
                f"the folder {path} holds no .parquet file"
                f" ({'it is empty' if not inside else 'it has ' + ', '.join(inside)})."
                " Name the folder that has them, or a file"
            )
        return found
    if here.exists():
        return [path]
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


def _expand_address(path: str) -> list[str]:
    files, inside = _fsspec(path)
    if "*" in inside:
        found = [files.unstrip_protocol(f) for f in files.glob(inside)]
    elif inside.endswith(".parquet") or not files.isdir(inside):
        return [path]
    else:
        found = [files.unstrip_protocol(f) for f in files.find(inside)]
        found = [f for f in found if f.endswith(".parquet")]
    if not found:
        raise ArrowJaxError(f"{path} holds no .parquet file. Check the address")
    return sorted(found)


@contextmanager
def _opened(path: str) -> Generator[Any]:
    if not _is_address(path):
        yield path
        return
    files, inside = _fsspec(path)
    with files.open(inside, "rb") as file:
        yield file


def _read_file(
    path: str, columns: Sequence[str] | None, filters: Any
) -> tuple[pa.Table, dict[str, Facts]]:
    try:
        with _opened(path) as file:
            footer = pq.read_metadata(file)
            if hasattr(file, "seek"):
                file.seek(0)
            if columns is not None:
                check_columns(tuple(columns), footer.schema.to_arrow_schema().names)
            table = pq.read_table(
                file,
                columns=None if columns is None else list(columns),
                filters=filters,
                partitioning=None,
            )
            return table, from_json((footer.metadata or {}).get(KEY))
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"there is nothing at {path}. Check the address"
        ) from error
    except pa.ArrowException as error:
        reason = str(error).split(". ", maxsplit=1)[0].strip()
        raise ArrowJaxError(
            f"{path} can't be read as Parquet: {reason}. It is another kind of file, "
            "or was cut short; get it again, or write one with arrow_jax.write_parquet"
        ) from error
    except OSError as error:
        raise ArrowJaxError(f"{path} can't be read: {error}. Try again") from error

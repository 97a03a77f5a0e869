"""Reading CSV and JSON, whose types are guessed from the values."""

import json
import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.json

from arrow_jax._errors import ArrowJaxError
from arrow_jax._facts import Facts
from arrow_jax._files import Kind, read_files
from arrow_jax._format import check_columns
from arrow_jax._paths import opened

# Some programs put a mark before the text that says how it is encoded.
_LIST = re.compile(rb"(?:\xef\xbb\xbf)?\s*\[")
CSV = Kind("CSV", "read_csv", (".csv", ".tsv"), infers=True)
JSON = Kind("JSON", "read_json", (".jsonl", ".json", ".ndjson"), infers=True)


def read_csv(
    paths: Any,
    *,
    columns: Sequence[str] | None = None,
    delimiter: str | None = None,
    folder: Any = None,
) -> Any:
    r"""Reads CSV files, with names in the first line, into a dataset.

    Types are guessed from the values; `ds.cast` makes others of them.

    Args:
      paths: as for `read_parquet`; in a folder files that end in `.csv` or `.tsv`
        count.
      columns: the names to read; all of them by default.
      delimiter: between cells; by default a tab for `.tsv`, else a comma.
      folder: as for `read_parquet`.

    Returns:
      A `Dataset`, with files in order of name; of a mapping a `DatasetDict`.

    Raises:
      FileNotFoundError: if there is nothing at a path.
      ArrowJaxError: as `read_parquet` does.

    Example:
      >>> import pathlib, tempfile
      >>> file = pathlib.Path(tempfile.mkdtemp()) / "a.csv"
      >>> n_bytes = file.write_text("x,name\n1,one\n2,two\n")
      >>> read_csv(file)[:]
      {'x': [1, 2], 'name': ['one', 'two']}
    """

    def read(path: str) -> tuple[pa.Table, dict[str, Facts]]:
        between = delimiter or ("\t" if path.endswith(".tsv") else ",")
        with opened(path) as file:
            table = pyarrow.csv.read_csv(
                file, parse_options=pyarrow.csv.ParseOptions(delimiter=between)
            )
        names = table.column_names
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ArrowJaxError(
                f"{path} has {names.count(twice)} columns named {twice!r} in its first "
                "line. Give each its own name there"
            )
        return _picked(table, columns), {}

    return read_files(paths, CSV, read, folder=folder)


def read_json(
    paths: Any, *, columns: Sequence[str] | None = None, folder: Any = None
) -> Any:
    r"""Reads JSON files into a dataset: an object a line, or one list of objects.

    Types are guessed from the values; `ds.cast` makes others of them.

    Args:
      paths: as for `read_parquet`; in a folder files that end in `.jsonl`, `.json` or
        `.ndjson` count.
      columns: the names to keep; all of them by default.
      folder: as for `read_parquet`.

    Returns:
      A `Dataset`, with files in order of name; of a mapping a `DatasetDict`.

    Raises:
      FileNotFoundError: if there is nothing at a path.
      ArrowJaxError: as `read_parquet` does.

    Example:
      >>> import pathlib, tempfile
      >>> file = pathlib.Path(tempfile.mkdtemp()) / "a.jsonl"
      >>> n_bytes = file.write_text('{"x": [1, 2]}\n{"x": [3, 4]}\n')
      >>> read_json(file).with_format("numpy")["x"].shape
      (2, 2)
    """

    def read(path: str) -> tuple[pa.Table, dict[str, Facts]]:
        with opened(path) as file:
            data = pa.OSFile(path).read() if file is path else file.read()
        if _LIST.match(data):
            table = _table(bytes(data))
        else:
            table = pyarrow.json.read_json(pa.BufferReader(data))
        return _picked(table, columns), {}

    return read_files(paths, JSON, read, folder=folder)


def _table(data: bytes) -> pa.Table:
    try:
        rows = json.loads(data)
        if not all(isinstance(row, dict) for row in rows):
            raise ValueError("it is a list, but not of objects")
        names = dict.fromkeys(name for row in rows for name in row)
        return pa.table({name: [row.get(name) for row in rows] for name in names})
    except (RecursionError, OverflowError) as error:
        raise ValueError(
            f"it has lists too deep or numbers too big ({error})"
        ) from error


def _picked(table: pa.Table, columns: Sequence[str] | None) -> pa.Table:
    if columns is None:
        return table
    check_columns(tuple(columns), table.column_names)
    return table.select(list(columns))

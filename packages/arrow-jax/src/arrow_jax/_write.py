"""Writing Parquet: whole, or not at all."""

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from arrow_jax._dataset import Dataset
from arrow_jax._encode import to_arrow
from arrow_jax._errors import ArrowJaxError, ShapeError, UnsupportedTypeError
from arrow_jax._facts import KEY, Facts, merge, to_json
from arrow_jax._metadata import feature_of, write_features
from arrow_jax._plain import plain, plain_type
from arrow_jax._planner import column_facts
from arrow_jax._source import Source


def write_parquet(
    path: Any, data: Any, features: Mapping[str, Any] | None = None
) -> None:
    """Writes a Parquet file that `read_parquet` and other readers understand.

    The file appears when it is complete: a failure leaves what was there before.

    Args:
      path: of the file.
      data: a `Dataset`, an Arrow table, a dict of columns, or an iterable of such
        dicts, which become one row group each. Columns are what `to_arrow` takes.
      features: what some of the columns are. `Image` columns take pixels and store
        PNG, `ClassLabel` columns int64, `Array2D` to `Array5D` nested lists; other
        arrays of rank two and more are stored as `arrow.fixed_shape_tensor`. Layouts
        that Parquet does not have, such as runs, are stored as plain columns.

    Raises:
      ShapeError: if columns differ in length, or batches in their columns.
      UnsupportedTypeError: if Parquet can't hold a column, such as one of unions.
      ArrowJaxError: if a value can't be what its feature declares, there is no batch,
        the path is a folder, or its folder does not exist.

    Example:
      >>> import pathlib, tempfile
      >>> import numpy as np
      >>> from arrow_jax import Features, Image, read_parquet
      >>> file = pathlib.Path(tempfile.mkdtemp()) / "grey.parquet"
      >>> pixels = np.zeros((2, 28, 28), np.uint8)
      >>> write_parquet(file, {"image": pixels}, Features({"image": Image()}))
      >>> read_parquet(file).with_format("numpy")[:]["image"].shape
      (2, 28, 28)
    """
    path = Path(path)
    if path.is_dir():
        raise ArrowJaxError(
            f"{path} is a folder. Name a file in it: {path / 'data.parquet'}"
        )
    if not path.parent.is_dir():
        raise ArrowJaxError(
            f"{path} can't be written: there is no folder {path.parent}. Make it first"
        )
    tables = (_writable(table, path) for table in _tables(data, features))
    first = next(tables, None)
    if first is None:
        raise ArrowJaxError(f"{path} was not written: there was no batch")
    handle, partial = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    try:
        with pq.ParquetWriter(partial, first.schema) as writer:
            writer.write_table(first)
            known = [_known(data, first)]
            for table in tables:
                _check_schema(table, first)
                writer.write_table(table)
                known.append(_known(data, table))
            writer.add_key_value_metadata({KEY: to_json(merge(known))})
        mask = os.umask(0)
        os.umask(mask)
        Path(partial).chmod(0o666 & ~mask)
        Path(partial).replace(path)
    except pa.ArrowNotImplementedError as error:
        # Some releases can't write certain rows of a type that they otherwise can.
        Path(partial).unlink(missing_ok=True)
        raise UnsupportedTypeError(
            f"{path} was not written: this release of pyarrow has no way to write a "
            f"row of the columns {first.schema.names}: {error}. Use a newer one"
        ) from error
    except BaseException:
        Path(partial).unlink(missing_ok=True)
        raise


def _is_refused(field: pa.Field) -> bool:
    try:
        pq.ParquetWriter(pa.BufferOutputStream(), pa.schema([field])).close()
    except pa.ArrowNotImplementedError:
        return True
    return False


def _writable(table: pa.Table, path: Path) -> pa.Table:
    """Brings layouts that Parquet does not have, such as runs, to plain ones."""
    for at, field in enumerate(table.schema):
        if not _is_refused(field):
            continue
        simple = pa.field(field.name, plain_type(field.type))
        if _is_refused(simple):
            raise UnsupportedTypeError(
                f"{path} was not written: Parquet has no place for column "
                f"{field.name!r} of type {field.type}. Leave it out with "
                "ds.with_format(columns=[...]), or cast it before"
            )
        chunks = [plain(chunk) for chunk in table.column(at).chunks]
        table = table.set_column(at, simple, pa.chunked_array(chunks, simple.type))
    return table


def _tables(data: Any, features: Mapping[str, Any] | None) -> Iterator[pa.Table]:
    if isinstance(data, Dataset):
        yield _described(
            data.with_format("arrow", columns=data.column_names)[:],
            {**data.features, **(features or {})},
        )
        return
    if isinstance(data, pa.Table | pa.RecordBatch | pa.RecordBatchReader):
        yield from _tables(Dataset.from_arrow(data, features), None)
        return
    if not isinstance(data, Iterable) or isinstance(data, str | bytes):
        raise ArrowJaxError(
            f"write_parquet got a {type(data).__name__}, wanted a Dataset, an Arrow "
            'table, a dict of columns such as {"x": [1, 2]}, or an iterable of dicts'
        )
    batches: Iterable[Any] = [data] if isinstance(data, Mapping) else data
    for batch in batches:
        yield _described(to_arrow(batch, features), features or {})


def _known(data: Any, table: pa.Table) -> dict[str, Facts]:
    """Finds what is known about the columns; of a view, what is true for all rows."""
    source = data.source if isinstance(data, Dataset) else Source.of(table)
    return {
        name: facts
        for column in table.column_names
        for name, facts in column_facts(source, column).items()
    }


def _described(table: pa.Table, features: Mapping[str, Any]) -> pa.Table:
    said = {f.name: feature_of(f.type, features.get(f.name)) for f in table.schema}
    return table.replace_schema_metadata(write_features(said))


def _check_schema(table: pa.Table, first: pa.Table) -> None:
    if not table.schema.equals(first.schema):
        raise ShapeError(
            "a batch has other columns than the first:\n"
            f"{table.schema.remove_metadata()}\nagainst\n"
            f"{first.schema.remove_metadata()}\n"
            "Give all batches one dtype and row shape a column"
        )

"""Anything that speaks Arrow, as a table."""

from collections.abc import Collection, Mapping
from typing import Any

import pyarrow as pa

from arrow_jax._encode import encode_chunks
from arrow_jax._errors import ArrowJaxError, UnsupportedTypeError
from arrow_jax._features import Audio, Image
from arrow_jax._metadata import feature_of


def with_features(
    table: pa.Table, features: Mapping[str, Any], *, typed: Collection[str] = ()
) -> pa.Table:
    """Brings the columns of a table to their features.

    Args:
      table: the columns.
      features: what some of them shall be.
      typed: columns of strings that the caller typed; their paths may lie anywhere.

    Returns:
      The table; columns that are that already are not touched.

    Raises:
      ArrowJaxError: if a column is not there, or can't be that.
    """
    names = table.column_names
    for name, feature in features.items():
        if name not in names:
            raise ArrowJaxError(
                f"the features name the column {name!r}; there are {names}"
            )
        at = names.index(name)
        if feature_of(table.schema.field(at).type, feature) != feature:
            column: Any = table.column(at)
            if name in typed and isinstance(feature, Audio | Image):
                column = column.to_pylist()
            made = encode_chunks(name, column, feature)
            table = table.set_column(at, pa.field(name, made.type), made)
    return table


def as_table(data: Any) -> pa.Table:
    """Makes a table of Arrow data without copying it.

    Args:
      data: see `Dataset.from_arrow`.

    Returns:
      The table.

    Raises:
      UnsupportedTypeError: if the object does not speak Arrow.
    """
    if isinstance(data, pa.Table):
        return data
    if isinstance(data, pa.RecordBatchReader):
        return data.read_all()
    single = isinstance(data, pa.Array | pa.ChunkedArray)
    if single and pa.types.is_struct(data.type):
        return pa.Table.from_struct_array(data)
    if single:
        raise UnsupportedTypeError(
            f"from_arrow got one {type(data).__name__} of type {data.type}, wanted "
            'columns with names: pa.table({"x": array})'
        )
    inner: Any = getattr(data, "data", None)
    table = getattr(inner, "table", None)
    if isinstance(table, pa.Table):
        # A Hugging Face Dataset. Its index view is only applied by its own access.
        selected = getattr(data, "_indices", None) is not None
        return data.with_format("arrow")[:] if selected else table
    if hasattr(data, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(data).read_all()
    if hasattr(data, "__arrow_c_array__"):
        return pa.Table.from_batches([pa.record_batch(data)])
    raise UnsupportedTypeError(
        f"from_arrow got {type(data).__module__}.{type(data).__qualname__}, which does "
        "not speak Arrow. Wanted a pyarrow Table, RecordBatch or RecordBatchReader, a "
        "Hugging Face Dataset, or an object with __arrow_c_stream__; for columns in "
        "memory use Dataset.from_dict"
    )

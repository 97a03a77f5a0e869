"""Whether lists of a fixed size have all their values.

Arrow does not check it of data from outside, and a library that hands over a slice can
get it wrong: polars 1 forgets that the values begin where the slice does.
Reading on would give each row the values of another.
"""

from typing import Any

import pyarrow as pa

from arrow_jax._errors import ArrowJaxError
from arrow_jax._metadata import is_list


def check_lengths(table: pa.Table) -> None:
    """Raises for lists of a fixed size that end before their rows do.

    Args:
      table: from wherever.

    Raises:
      ArrowJaxError: if there are such; names the column.
    """
    for name, column in zip(table.column_names, table.columns, strict=True):
        if not _has_fixed(column.type):
            continue
        for chunk in column.chunks:
            if _ends_early(chunk):
                raise ArrowJaxError(
                    f"column {name!r} of type {column.type}: its lists end before "
                    "its rows do, so the library that made it handed over a slice "
                    "that is not what it says. Pick the rows by index there, which "
                    "copies them (polars: frame[list(range(a, b))]), or update it"
                )


def _has_fixed(type_: pa.DataType) -> bool:
    return any(word in str(type_) for word in ("fixed_size_list", "fixed_shape_tensor"))


def _ends_early(array: Any) -> bool:
    type_ = array.type
    if isinstance(type_, pa.BaseExtensionType):
        return _ends_early(array.storage)
    if pa.types.is_struct(type_):
        return any(_ends_early(array.field(i)) for i in range(type_.num_fields))
    if not is_list(type_):
        return False
    if pa.types.is_fixed_size_list(type_):
        wanted = (array.offset + len(array)) * type_.list_size
        if len(array.values) < wanted:
            return True
    return _ends_early(array.values)

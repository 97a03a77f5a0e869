"""Structs taken apart: a struct is a dict of columns, also below lists."""

import numpy as np
import pyarrow as pa

from arrow_jax._errors import ArrowJaxError
from arrow_jax._metadata import is_list


def check_fields(field: pa.Field, path: str = "") -> None:
    """Raises for a struct with two fields of one name, of which one would be lost.

    Args:
      field: a column, or a field of it.
      path: the column's name with the fields that lead here.

    Raises:
      ArrowJaxError: if there is one, at any depth.
    """
    type_, path = field.type, path or field.name
    inner = [type_.field(i) for i in range(type_.num_fields)]
    names = [f.name for f in inner]
    is_struct = pa.types.is_struct(type_)
    twice = [n for n in names if is_struct and names.count(n) > 1]
    if twice:
        raise ArrowJaxError(
            f"column {path!r} is a struct with {names.count(twice[0])} fields "
            f"{twice[0]!r}. Give each its own name: pa.StructArray.from_arrays("
            "column.flatten(), names=[...])"
        )
    for one in inner:
        check_fields(one, f"{path}.{one.name}" if is_struct else path)


def has_struct(type_: pa.DataType) -> bool:
    """Whether a type is a struct, or lists of one.

    Args:
      type_: an Arrow type.

    Returns:
      True if `split` has something to do.
    """
    while is_list(type_):
        type_ = type_.value_type
    return pa.types.is_struct(type_)


def split_type(type_: pa.DataType) -> dict[str, pa.DataType]:
    """Finds the columns that `split` makes.

    Args:
      type_: a type for which `has_struct` is true.

    Returns:
      Field name -> type; the fields of a list of structs are lists.
    """
    if pa.types.is_struct(type_):
        return {f.name: f.type for f in type_}
    inner = split_type(type_.value_type)
    if pa.types.is_fixed_size_list(type_):
        return {k: pa.list_(t, type_.list_size) for k, t in inner.items()}
    wrap = pa.large_list if pa.types.is_large_list(type_) else pa.list_
    return {k: wrap(t) for k, t in inner.items()}


def split(array: pa.Array) -> dict[str, pa.Array]:
    """Takes a column of structs apart.

    Args:
      array: whose type `has_struct`.

    Returns:
      Field name -> array of as many rows, null where the struct or the field is.
    """
    type_, n = array.type, len(array)
    if pa.types.is_struct(type_):
        names = [f.name for f in type_]
        return dict(zip(names, array.flatten(), strict=True))
    mask = array.is_null() if array.null_count else None
    if pa.types.is_fixed_size_list(type_):
        k = type_.list_size
        inner = split(array.values.slice(array.offset * k, n * k))
        return {
            name: pa.FixedSizeListArray.from_arrays(child, k, mask=mask)
            for name, child in inner.items()
        }
    inner = split(array.values)
    # Arrow refuses a mask beside offsets that are a slice of others.
    offsets = pa.array(np.array(array.offsets)) if n else array.offsets
    wrap = pa.LargeListArray if pa.types.is_large_list(type_) else pa.ListArray
    return {
        name: wrap.from_arrays(offsets, child, mask=mask)
        for name, child in inner.items()
    }

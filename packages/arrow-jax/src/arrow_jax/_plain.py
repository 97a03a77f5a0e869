"""Arrow's many layouts brought to a few before anything else looks at them.

A run-end-encoded column, a view, a map or a uuid says in its own way what a plain
column, a list, a list of structs or a tensor says too. Here each becomes that, chunk by
chunk and without a loop over rows, so that the rest of the package knows numbers,
strings, lists, structs, dictionaries and `arrow.fixed_shape_tensor`, and no more.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from arrow_jax._metadata import is_canonical, is_list
from arrow_jax._nodes import expand


def plain_type(type_: pa.DataType) -> pa.DataType:
    """Finds the type that `plain` makes.

    Args:
      type_: any Arrow type.

    Returns:
      The plain type that says the same.

    Example:
      >>> plain_type(pa.map_(pa.int8(), pa.float32()))
      ListType(list<item: struct<key: int8, value: float>>)
    """
    return plain(pa.nulls(0, type_)).type


def plain(array: pa.Array) -> pa.Array:
    """Brings an array to a plain layout.

    Args:
      array: any Arrow array.

    Returns:
      An array with the same rows; the same object where it is plain already. Layouts
      that say something else than these, such as unions, are left as they are.
    """
    if isinstance(array.type, pa.BaseExtensionType):
        return _plain_extension(array)
    for is_kind, convert in _LAYOUTS:
        if is_kind(array.type):
            return convert(array)
    return array


def is_list_view(type_: pa.DataType) -> bool:
    """Whether a type is list_view or large_list_view.

    Args:
      type_: an Arrow type.

    Returns:
      True if it is.
    """
    return pa.types.is_list_view(type_) or pa.types.is_large_list_view(type_)


def with_child(array: pa.Array, type_: pa.DataType, child: pa.Array) -> pa.Array:
    """Exchanges what the lists of an array are of, and copies nothing.

    Args:
      array: lists of any kind with offsets or a fixed size.
      type_: the new type, with the same kind of offsets.
      child: as long as the old child, that of an array which is a slice included.

    Returns:
      The lists over the new child.
    """
    n_own = 1 if pa.types.is_fixed_size_list(type_) else 2
    buffers = array.buffers()[:n_own]
    return pa.Array.from_buffers(
        type_, len(array), buffers, offset=array.offset, children=[child]
    )


def as_bytes(array: pa.Array) -> pa.Array:
    """Looks at strings or bytes as lists of uint8, and copies nothing.

    Args:
      array: string, binary or their large forms, or fixed_size_binary.

    Returns:
      Lists, of a fixed size for fixed_size_binary.
    """
    type_, buffers = array.type, array.buffers()
    data = buffers[-1] or pa.py_buffer(b"")
    child = pa.Array.from_buffers(pa.uint8(), data.size, [None, data])
    if pa.types.is_fixed_size_binary(type_):
        return with_child(array, pa.list_(pa.uint8(), type_.byte_width), child)
    large = pa.types.is_large_string(type_) or pa.types.is_large_binary(type_)
    return with_child(
        array, pa.large_list(pa.uint8()) if large else pa.list_(pa.uint8()), child
    )


def _plain_extension(array: Any) -> pa.Array:
    match array.type.extension_name:
        case "arrow.bool8":
            flags, mask = array.storage.fill_null(0), array.is_null()
            return pa.array(np.asarray(flags) != 0, mask=np.asarray(mask))
        case "arrow.uuid":
            return as_bytes(array.storage)
        case "arrow.json" | "arrow.variable_shape_tensor":
            return plain(array.storage)
        case name if is_canonical(name):
            return array
    return plain(array.storage)


def _plain_lists(array: Any) -> pa.Array:
    child = plain(array.values)
    if child.type == array.type.value_type:
        return array
    return with_child(array, _rewrap(array.type, child.type), child)


def _plain_map(array: pa.MapArray) -> pa.Array:
    columns = [plain(array.keys), plain(array.items)]
    pairs = pa.StructArray.from_arrays(columns, ["key", "value"])
    return with_child(array, pa.list_(pairs.type), pairs)


def _rewrap(type_: pa.DataType, inner: pa.DataType) -> pa.DataType:
    if pa.types.is_fixed_size_list(type_):
        return pa.list_(inner, type_.list_size)
    return pa.large_list(inner) if pa.types.is_large_list(type_) else pa.list_(inner)


def _plain_struct(array: pa.StructArray) -> pa.Array:
    old = [array.field(i) for i in range(array.type.num_fields)]
    new = [plain(child) for child in old]
    if all(a.type == b.type for a, b in zip(old, new, strict=True)):
        return array
    names = [field.name for field in array.type]
    return pa.StructArray.from_arrays(new, names, mask=array.is_null())


def run_numbers(array: pa.RunEndEncodedArray, rows: np.ndarray) -> np.ndarray:
    """Finds the runs that rows are in.

    Args:
      array: run-end-encoded, a slice or not.
      rows: of it.

    Returns:
      int64[n], positions in `array.values`.
    """
    ends = np.asarray(array.run_ends)
    return np.searchsorted(ends, rows + array.offset, side="right")


def _from_views(array: Any) -> pa.Array:
    valid = None if not array.null_count else np.asarray(array.is_valid())
    starts = np.asarray(array.offsets).astype(np.int64)
    lengths = np.asarray(array.sizes).astype(np.int64)
    if valid is not None:
        lengths = np.where(valid, lengths, 0)
    ends = np.concatenate([[0], np.cumsum(lengths)])
    values = plain(array.values)
    used = lengths > 0
    first = int(starts[used][0]) if used.any() else 0
    if np.array_equal(starts[used], ends[:-1][used] + first):
        child = values.slice(first, int(ends[-1]))
    else:
        child = values.take(pa.array(expand(starts, lengths)))
    mask = None if valid is None else pa.array(~valid)
    return pa.LargeListArray.from_arrays(pa.array(ends), child, mask=mask)


_LAYOUTS: tuple[
    tuple[Callable[[pa.DataType], bool], Callable[[Any], pa.Array]], ...
] = (
    (
        pa.types.is_run_end_encoded,
        lambda a: plain(a.values).take(pa.array(run_numbers(a, np.arange(len(a))))),
    ),
    (pa.types.is_string_view, lambda a: a.cast(pa.large_string())),
    (pa.types.is_binary_view, lambda a: a.cast(pa.large_binary())),
    (pa.types.is_map, _plain_map),
    (is_list_view, _from_views),
    (is_list, _plain_lists),
    (pa.types.is_struct, _plain_struct),
)

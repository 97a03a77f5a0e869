"""From an Arrow array to NumPy, by its buffers.

Values are views of Arrow's memory wherever that is possible; only bits (booleans and
validity) are unpacked. Offsets are minded here, at every level, and nowhere else.
"""

import numpy as np
import pyarrow as pa

from arrow_jax._errors import UnsupportedTypeError
from arrow_jax._metadata import is_list
from arrow_jax._nodes import Lists, Node, Tensor, compact

_TEMPORAL = (
    pa.types.is_date,
    pa.types.is_time,
    pa.types.is_timestamp,
    pa.types.is_duration,
)
_BYTES = (
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_fixed_size_binary,
)


def is_temporal(type_: pa.DataType) -> bool:
    """Whether a type is a date, time, timestamp or duration.

    Args:
      type_: an Arrow type.

    Returns:
      True if it is.
    """
    return any(test(type_) for test in _TEMPORAL)


def is_objects(type_: pa.DataType) -> bool:
    """Whether a type, below any lists, is a string or binary.

    Args:
      type_: an Arrow type.

    Returns:
      True if its rows stay Python objects.
    """
    while is_list(type_):
        type_ = type_.value_type
    return is_bytes(type_)


def is_bytes(type_: pa.DataType) -> bool:
    """Whether a type is a string or binary.

    Args:
      type_: a plain Arrow type.

    Returns:
      True if it is.
    """
    return any(test(type_) for test in _BYTES)


def number_dtype(type_: pa.DataType) -> np.dtype | None:
    """Finds the dtype of the numbers that an Arrow type becomes.

    Args:
      type_: an Arrow type; lists are looked through.

    Returns:
      The dtype, with the declared width, or None if it has no numbers.
    """
    if isinstance(type_, pa.FixedShapeTensorType) or is_list(type_):
        return number_dtype(type_.value_type)
    if pa.types.is_dictionary(type_):
        return number_dtype(type_.index_type)
    if pa.types.is_boolean(type_):
        return np.dtype(bool)
    kinds = {
        "int": is_temporal(type_) or pa.types.is_signed_integer(type_),
        "uint": pa.types.is_unsigned_integer(type_),
        "float": pa.types.is_floating(type_),
    }
    kind = next((kind for kind, fits in kinds.items() if fits), None)
    return np.dtype(f"{kind}{type_.bit_width}") if kind else None


def decode(array: pa.Array) -> Node:
    """Decodes one Arrow array.

    Args:
      array: of numbers, or lists and tensors of them; see `number_dtype`.

    Returns:
      A node of as many rows. Lists in it are compact.
    """
    type_ = array.type
    if isinstance(array, pa.FixedShapeTensorArray):
        return decode_tensor(array)
    if pa.types.is_dictionary(type_):
        return _decode_codes(array)
    if is_list(type_):
        return _decode_lists(array)
    return Tensor(_values(array), validity(array))


def validity(array: pa.Array) -> np.ndarray | None:
    """Unpacks the validity bits of an array.

    Args:
      array: any Arrow array that keeps nulls in a bitmap.

    Returns:
      bool[n], or None if nothing is null.
    """
    if not array.null_count:
        return None
    return _bits(array.buffers()[0], array.offset, len(array))


def _bits(buffer: pa.Buffer, offset: int, n: int) -> np.ndarray:
    first = offset // 8
    packed = np.frombuffer(buffer, np.uint8)[first : (offset + n + 7) // 8]
    bits = np.unpackbits(packed, bitorder="little")
    return bits[offset - 8 * first :][:n].view(bool)


def _values(array: pa.Array) -> np.ndarray:
    dtype, n = number_dtype(array.type), len(array)
    if dtype is None:
        raise UnsupportedTypeError(f"{array.type} has no numbers")
    buffer = array.buffers()[1]
    if not n or buffer is None:
        return np.zeros(n, dtype)
    if dtype.kind == "b":
        return _bits(buffer, array.offset, n)
    values = np.frombuffer(buffer, dtype, n, array.offset * dtype.itemsize)
    # Arrow's memory is shared, and what it holds is not to change.
    values.flags.writeable = False
    return values


def decode_tensor(array: pa.FixedShapeTensorArray) -> Tensor:
    """Decodes a column of `arrow.fixed_shape_tensor`.

    Args:
      array: of n tensors.

    Returns:
      [n, *shape], its axes in the order that the type's permutation gives.
    """
    type_, storage = array.type, array.storage
    shape = tuple(type_.shape)
    axes = tuple(1 + axis for axis in type_.permutation or range(len(shape)))
    size, n = int(np.prod(shape)), len(array)
    elements = storage.values.slice(storage.offset * size, n * size)

    def rows(values: np.ndarray) -> np.ndarray:
        return values.reshape(n, *shape).transpose(0, *axes)

    valid, present = validity(storage), validity(elements)
    inner = None if present is None else _inner(rows(present), valid)
    return Tensor(rows(_values(elements)), valid, inner)


def _inner(elements: np.ndarray, valid: np.ndarray | None) -> np.ndarray | None:
    # What lies under a null row is nobody's element.
    if valid is not None:
        elements = elements | ~valid.reshape(-1, *[1] * (elements.ndim - 1))
    return None if elements.all() else elements


def _decode_codes(array: pa.DictionaryArray) -> Tensor:
    codes, valid = _values(array.indices), validity(array.indices)
    known = validity(array.dictionary)
    if known is None:
        return Tensor(codes, valid)
    safe = codes if valid is None else np.where(valid, codes, 0)
    return Tensor(codes, known[safe] if valid is None else known[safe] & valid)


def _decode_lists(array: pa.Array) -> Lists:
    type_, n = array.type, len(array)
    fixed = None
    if pa.types.is_fixed_size_list(type_):
        fixed = type_.list_size
        starts = np.arange(array.offset, array.offset + n, dtype=np.int64) * fixed
        lengths = np.full(n, fixed, np.int64)
    else:
        width = np.int64 if pa.types.is_large_list(type_) else np.int32
        buffer = array.buffers()[1]
        offsets = (
            np.frombuffer(buffer, width, n + 1, array.offset * width().itemsize)
            if n
            else np.zeros(1, width)
        ).astype(np.int64)
        starts, lengths = offsets[:-1], np.diff(offsets)
    valid = validity(array)
    if valid is not None:
        lengths = np.where(valid, lengths, 0)
    return _narrowed(array, starts, lengths, valid, fixed)


def _narrowed(
    array: pa.Array,
    starts: np.ndarray,
    lengths: np.ndarray,
    valid: np.ndarray | None,
    fixed: int | None,
) -> Lists:
    # The child is cut to what the rows reach before it is decoded: a slice of a long
    # column must not pay for, or be judged by, the rest of it.
    used = lengths > 0
    low = int(starts[used].min()) if used.any() else 0
    high = int((starts + lengths)[used].max()) if used.any() else 0
    child = decode(array.values.slice(low, high - low))
    return compact(Lists(starts - low, lengths, child, valid, fixed))

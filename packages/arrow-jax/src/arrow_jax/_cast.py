"""Columns as something else than they are stored as, because a feature asks for it.

Where a column's own type has no array to become, or not the one that is wanted, a
feature says which: a decimal as `Value("float32")`, bytes as `List(Value("uint8"))`, a
time as `Days("ms")`. Nothing here loops over rows or joins chunks.
"""

from typing import Any

import numpy as np
import pyarrow as pa

from arrow_jax._decode import is_bytes, is_temporal
from arrow_jax._errors import ArrowJaxError
from arrow_jax._features import Days, List, Value
from arrow_jax._metadata import is_list
from arrow_jax._plain import as_bytes, plain, with_child

_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


class BadRowError(ValueError):
    """A row that can't become what was asked for; its column is not known here.

    Args:
      row: in the array at hand.
      said: what is wrong with it.
    """

    def __init__(self, row: int, said: str) -> None:
        super().__init__(said)
        self.row = row
        self.said = said


def cast_array(array: pa.Array, feature: Any, target: pa.DataType) -> pa.Array:
    """Brings an array to a feature.

    Args:
      array: any Arrow array.
      feature: what it shall be.
      target: the Arrow type that stores the feature.

    Returns:
      An array of as many rows, null where it was.

    Raises:
      BadRowError: if a value does not fit, with the first row.
      pyarrow.ArrowException: if Arrow knows no such conversion.
    """
    array = plain(array)
    if isinstance(feature, Days):
        return _split_days(array, feature)
    is_uint8 = isinstance(feature, List) and feature.feature == Value("uint8")
    if is_uint8 and is_bytes(array.type):
        return as_bytes(array).cast(target)
    return cast_to(array, target)


def cast_to(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Brings a plain array to an Arrow type.

    Args:
      array: in a plain layout.
      target: the type.

    Returns:
      An array of as many rows, null where it was.

    Raises:
      BadRowError: if a value does not fit, with the first row.
      pyarrow.ArrowException: if Arrow knows no such conversion.
    """
    try:
        made = array.cast(target)
    except pa.ArrowInvalid:
        # Arrow also casts what no row shows: under nulls, and outside of a slice.
        array = _shown(array)
        made = _cast_shown(array, target)
    check_kept(array, made)
    return made


def _shown(array: Any) -> pa.Array:
    """Copies a plain array without the elements that none of its rows shows."""
    type_, n = array.type, len(array)
    mask = array.is_null()
    if pa.types.is_struct(type_):
        fields = [_shown(field) for field in array.flatten()]
        return pa.StructArray.from_arrays(fields, [f.name for f in type_], mask=mask)
    if pa.types.is_fixed_size_list(type_):
        size = type_.list_size
        hidden = np.repeat(np.asarray(mask), size)
        at = np.arange(n * size) + array.offset * size
        child = _shown(array.values.take(pa.array(at, mask=hidden)))
        if n and size:
            return pa.FixedSizeListArray.from_arrays(child, size, mask=mask)
    elif is_list(type_):
        array = array.take(pa.array(np.arange(n)))
        return with_child(array, type_, _shown(array.values)) if n else array
    return array


def _cast_shown(array: pa.Array, target: pa.DataType) -> pa.Array:
    try:
        return array.cast(target)
    except pa.ArrowInvalid as error:
        row = _first_bad(array, target)
        raise BadRowError(row, f"{array[row].as_py()!r}: {error}") from error


def check_kept(before: pa.Array, after: pa.Array) -> None:
    """Raises for numbers that Arrow changed without a word; rounding is fine.

    Args:
      before: plain; numbers, or lists or structs of them.
      after: the same rows as another type.

    Raises:
      BadRowError: if an integer was cut, or a finite number became inf.
    """
    lost = _first_lost(before, after)
    if lost is not None:
        row, value, type_ = lost
        raise BadRowError(row, f"{value!r} does not fit {type_}")


def _first_lost(before: Any, after: Any) -> tuple[int, Any, pa.DataType] | None:
    if isinstance(before, pa.ExtensionArray):
        before = before.storage
    if is_list(before.type) and is_list(after.type):
        lost = _first_lost(before.flatten(), after.flatten())
        return lost and (_row_of(after, lost[0]), *lost[1:])
    if pa.types.is_struct(before.type) and pa.types.is_struct(after.type):
        names = [field.name for field in before.type]
        old, new = before.flatten(), after.flatten()
        pairs = [
            _first_lost(old[names.index(field.name)], column)
            for field, column in zip(after.type, new, strict=True)
            if field.name in names
        ]
        return min((p for p in pairs if p), key=lambda p: p[0], default=None)
    if pa.types.is_dictionary(before.type):
        before = before.dictionary_decode()
    lost = np.flatnonzero(_is_lost(before, after))
    if not len(lost):
        return None
    return int(lost[0]), before[int(lost[0])].as_py(), after.type


def _is_lost(before: pa.Array, after: pa.Array) -> np.ndarray:
    old, new = before.type, after.type
    if pa.types.is_floating(old) and is_temporal(new):
        new = pa.int32() if new.bit_width == 32 else pa.int64()
        after = after.view(new)
    if pa.types.is_floating(old) and pa.types.is_integer(new):
        floats = _filled(before).astype(np.float64)
        return floats != np.asarray(after.fill_null(0)).astype(np.float64)
    if pa.types.is_boolean(new) and _is_number(old):
        numbers = _filled(before)
        return (numbers != 0) & (numbers != 1)
    if not pa.types.is_floating(new):
        return np.zeros(0, bool)
    infinite = np.isinf(_filled(after))
    if not infinite.any():
        return infinite
    if pa.types.is_floating(old):
        infinite &= np.isfinite(_filled(before))
    elif pa.types.is_string(old) or pa.types.is_large_string(old):
        import pyarrow.compute as pc  # noqa: PLC0415  (it takes long, and few need it)

        spelt = pc.call_function(
            "match_substring",
            [before],
            pc.MatchSubstringOptions("inf", ignore_case=True),
        )
        infinite &= ~np.asarray(spelt.fill_null(fill_value=False))
    return infinite


def _filled(numbers: pa.Array) -> np.ndarray:
    """Numbers with 0 where they are null."""
    if not pa.types.is_float16(numbers.type):
        return np.asarray(numbers.fill_null(0))
    # Older releases of pyarrow fill none of these.
    values = numbers.to_numpy(zero_copy_only=False)
    return np.where(np.asarray(numbers.is_null()), values.dtype.type(0), values)


def _is_number(type_: pa.DataType) -> bool:
    """Whether a type is one of integers or floats."""
    return pa.types.is_integer(type_) or pa.types.is_floating(type_)


def _row_of(lists: Any, element: int) -> int:
    import pyarrow.compute as pc  # noqa: PLC0415  (it takes long, and few need it)

    # A null of a fixed size has a length, but flattening leaves it out.
    lengths = pc.call_function(
        "if_else",
        [
            lists.is_valid(),
            pc.call_function("list_value_length", [lists]),
            pa.scalar(0),
        ],
    )
    ends = np.cumsum(np.asarray(lengths.fill_null(0)))
    return int(np.searchsorted(ends, element, side="right"))


def _first_bad(array: pa.Array, target: pa.DataType) -> int:
    """Finds the first row that can't be cast, by halves."""
    low, high = 0, len(array)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            _shown(array[low:middle]).cast(target)
            low = middle
        except pa.ArrowInvalid:
            high = middle
    return low


def _split_days(array: pa.Array, feature: Days) -> pa.Array:
    type_ = array.type
    if not is_temporal(type_) or pa.types.is_date32(type_):
        raise ArrowJaxError(
            f"{feature} splits timestamps, durations, times and date64, this is {type_}"
        )
    unit = "ms" if pa.types.is_date64(type_) else type_.unit
    mask = np.asarray(array.is_null())
    integers = np.asarray(array.cast(pa.int64()).fill_null(0))
    days, rest = np.divmod(integers, _DAY[unit])
    per, own = _DAY[feature.unit], _DAY[unit]
    rest = rest * (per // own) if per >= own else rest // (own // per)
    outside = np.flatnonzero((days < -(2**31)) | (days >= 2**31))
    if len(outside):
        row = int(outside[0])
        raise BadRowError(row, f"day {days[row]} does not fit int32")
    pairs = np.stack([days, rest], axis=1).astype(np.int32)
    return pa.FixedSizeListArray.from_arrays(
        pa.array(pairs.reshape(-1)), 2, mask=pa.array(mask)
    )

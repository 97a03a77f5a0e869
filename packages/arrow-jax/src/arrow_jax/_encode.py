"""The way back: arrays, lists and images to Arrow.

What a formatted dataset or a loader gives can be handed in as it is, `Flat` and `Pack`
apart: `Masked` becomes nulls, `Ragged` lists, a dict a struct, an array of rank two and
more a column of `arrow.fixed_shape_tensor`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import jax
import numpy as np
import pyarrow as pa

from arrow_jax._arrow_type import arrow_type
from arrow_jax._audio import encode_sounds
from arrow_jax._cast import BadRowError, cast_array, cast_to, check_kept
from arrow_jax._containers import Masked, Ragged, check_ragged
from arrow_jax._errors import ArrowJaxError, NarrowingError, ShapeError
from arrow_jax._features import (
    Audio,
    ClassLabel,
    Days,
    Image,
    List,
    no_label,
)
from arrow_jax._masked_rows import flatten_rows, holds_mask, row_lengths
from arrow_jax._metadata import is_list
from arrow_jax._png import encode_images


def to_arrow(tree: Mapping[str, Any], features: Mapping[str, Any] | None = None) -> Any:
    """Makes an Arrow table of a tree of arrays.

    Args:
      tree: column -> NumPy or jax array of any rank, list, `Masked`, `Ragged`, or a
        dict of these for a struct. All have as many rows.
      features: what some of the columns are; see `Features`.

    Returns:
      A `pyarrow.Table`.

    Raises:
      ShapeError: if columns differ in their number of rows.
      NarrowingError: if a value does not fit the type that its feature declares.
      ArrowJaxError: if a value can't be what its feature declares.

    Example:
      >>> import numpy as np
      >>> to_arrow({"x": np.zeros((4, 2, 3), np.float32)}).schema.field("x").type
      FixedShapeTensorType(extension<arrow.fixed_shape_tensor[value_type=float, ...
    """
    if not isinstance(tree, Mapping):
        raise ArrowJaxError(
            f"got a {type(tree).__name__}, wanted a dict of columns, such as "
            '{"x": [1, 2]}; rows as dicts go through pyarrow.Table.from_pylist, and '
            "Arrow data through Dataset.from_arrow"
        )
    features = features or {}
    for name in tree:
        if not isinstance(name, str):
            raise ArrowJaxError(f"column {name!r} has no string for a name")
    unknown = [name for name in features if name not in tree]
    if unknown:
        raise ArrowJaxError(
            f"the features name the column {unknown[0]!r}; there are {list(tree)}"
        )
    arrays = {n: encode_chunks(n, v, features.get(n)) for n, v in tree.items()}
    rows = {name: len(array) for name, array in arrays.items()}
    for name, n in rows.items():
        first = next(iter(rows))
        if n != rows[first]:
            raise ShapeError(
                f"column {name!r} has {n} rows, column {first!r} has {rows[first]}; "
                "wanted as many in each"
            )
    return pa.table(arrays)


def encode_chunks(name: str, values: Any, feature: Any = None) -> Any:
    """Makes an Arrow column; one that comes in chunks stays in chunks.

    Args:
      name: the column's, for errors.
      values: see `to_arrow`.
      feature: what it is, or None to go by the values.

    Returns:
      An array, or a chunked array of a chunked one.

    Raises:
      ArrowJaxError: as `encode_column`.
    """
    if not isinstance(values, pa.ChunkedArray):
        return encode_column(name, values, feature)
    at, chunks = 0, []
    for chunk in values.chunks or [pa.nulls(0, values.type)]:
        chunks.append(encode_column(name, chunk, feature, first_row=at))
        at += len(chunk)
    return pa.chunked_array(chunks)


def encode_column(
    name: str, values: Any, feature: Any = None, *, first_row: int = 0
) -> pa.Array:
    """Makes an Arrow array of one column.

    Args:
      name: the column's, for errors.
      values: see `to_arrow`.
      feature: what it is, or None to go by the values.
      first_row: number of the first row, for errors.

    Returns:
      The array.

    Raises:
      ArrowJaxError: if the values can't be that; names the column.
    """
    try:
        return _encode(name, values, feature)
    except ArrowJaxError:
        raise
    except BadRowError as error:
        raise NarrowingError(
            f"column {name!r}, row {first_row + error.row}: can't become {feature!r}: "
            f"{error.said}. Ask for a type that holds it, or correct the data"
        ) from error
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        kind = NarrowingError if _is_overflow(error) else ArrowJaxError
        wanted = "an Arrow column" if feature is None else repr(feature)
        raise kind(f"column {name!r} could not become {wanted}: {error}") from error


def _is_overflow(error: Exception) -> bool:
    return isinstance(error, OverflowError) or any(
        words in str(error) for words in ("not in range", "out of bounds", "too large")
    )


def _encode(name: str, values: Any, feature: Any) -> pa.Array:
    if isinstance(feature, Audio | Image):
        return _encode_files(name, values, feature)
    _check_rows(name, values)
    match values:
        case Masked(inner, valid):
            return _encode_masked(name, inner, np.asarray(valid), feature)
        case Ragged(inner, lengths):
            return _encode_ragged(name, inner, np.asarray(lengths), feature)
        case Mapping():
            return _encode_struct(name, values, feature)
        case jax.Array():
            values = np.asarray(values)
        case pa.ChunkedArray():
            values = values.combine_chunks()
    if isinstance(feature, ClassLabel):
        return _encode_labels(name, values, feature)
    plain = feature is None
    return _encode_plain(name, values) if plain else _as_type(values, feature)


def _check_rows(name: str, values: Any) -> None:
    has_rows = isinstance(values, Iterable) and not isinstance(values, str | bytes)
    if not has_rows or getattr(values, "ndim", 1) == 0:
        raise ShapeError(
            f"column {name!r} is {values!r}, wanted one value a row: a list or an array"
        )


def _encode_files(name: str, values: Any, feature: Any) -> pa.Array:
    if isinstance(feature, Audio):
        return encode_sounds(name, values, feature)
    return encode_images(name, values)


def _encode_plain(name: str, values: Any) -> pa.Array:
    if isinstance(values, pa.Array):
        return values
    if isinstance(values, np.ndarray):
        return encode_array(name, values)
    return _encode_list(name, list(values))


def encode_array(
    name: str, values: np.ndarray, mask: np.ndarray | None = None
) -> pa.Array:
    """Makes an Arrow array of a NumPy array; the memory is copied.

    Args:
      name: the column's, for errors.
      values: [n, ...].
      mask: of the same shape, True where null, or None.

    Returns:
      An array of numbers, or of tensors where there is more than one axis.

    Raises:
      ArrowJaxError: if Arrow does not have such numbers.
    """
    if values.dtype.kind == "V":
        raise ArrowJaxError(
            f"column {name!r} is {values.dtype}, which Arrow does not have; cast it "
            "before, such as with .astype(np.float32)"
        )
    values = _native(values)
    if values.ndim == 1:
        return pa.array(values.copy(), mask=mask)
    shape = values.shape[1:]
    flat = np.ascontiguousarray(values).reshape(-1)
    child = encode_array(name, flat, None if mask is None else mask.reshape(-1))
    if all(shape):
        storage = pa.FixedSizeListArray.from_arrays(child, int(np.prod(shape)))
    else:  # Arrow can't count rows of nothing
        storage = pa.array([[]] * len(values), pa.list_(child.type, 0))
    type_ = pa.fixed_shape_tensor(child.type, shape)
    return pa.ExtensionArray.from_storage(type_, storage)


def _native(values: np.ndarray) -> np.ndarray:
    """Arrow knows one order of bytes, that of this machine."""
    return values.astype(values.dtype.newbyteorder("="), copy=False)


def _encode_masked(name: str, values: Any, valid: np.ndarray, feature: Any) -> pa.Array:
    if isinstance(values, np.ndarray | jax.Array):
        values = np.asarray(values)
        declared = feature is not None and not isinstance(feature, Days)
        if declared and valid.ndim and values.shape == valid.shape:
            # What a mask hides need not fit, so it goes before the cast.
            return _encode(name, _encode_nested(name, values, ~valid), feature)
        if valid.ndim > 1:
            return encode_array(name, values, mask=~valid)
    array = _encode(name, values, feature)
    # Taking at a null index gives null, whatever the type.
    return array.take(pa.array(np.arange(len(array)), mask=~valid))


def _encode_ragged(
    name: str, values: Any, lengths: np.ndarray, feature: Any
) -> pa.Array:
    used = None
    if isinstance(values, Masked):
        used = np.asarray(values.valid)
        values = values.values
    values = np.asarray(values)
    check_ragged(name, values, lengths)
    kept = np.arange(values.shape[1]) < lengths[:, None]
    inner = feature.feature if isinstance(feature, List) else None
    flat: Any = values[kept]
    flat = flat if used is None else Masked(flat, used[kept])
    try:
        child = _encode(name, flat, inner)
    except BadRowError as error:
        row = int(np.searchsorted(np.cumsum(lengths), error.row, side="right"))
        raise BadRowError(row, error.said) from error
    return _lists(lengths, child)


def _lists(lengths: Any, child: pa.Array) -> pa.Array:
    offsets = np.cumsum([0, *lengths])
    if offsets[-1] <= np.iinfo(np.int32).max:
        return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), child)
    return pa.LargeListArray.from_arrays(pa.array(offsets), child)


def _encode_struct(name: str, values: Mapping[str, Any], feature: Any) -> pa.Array:
    inner = feature if isinstance(feature, Mapping) else {}
    arrays = {
        field: encode_column(f"{name}.{field}", column, inner.get(field))
        for field, column in values.items()
    }
    return pa.StructArray.from_arrays(list(arrays.values()), list(arrays))


def _encode_list(name: str, values: list[Any]) -> pa.Array:
    values = [np.asarray(v) if isinstance(v, jax.Array) else v for v in values]
    if any(map(holds_mask, values)) or _are_lists_of_arrays(values):
        elements = _encode_elements(name, flatten_rows(values))
        return _lists(row_lengths(values), elements)
    arrays = [v for v in values if isinstance(v, np.ndarray)]
    if not arrays or len(arrays) < len(values) or arrays[0].ndim < 1:
        plain = [v.tolist() if _is_deep(v) else v for v in values]
        try:
            return pa.array(plain)
        except OverflowError:  # Arrow looks for int64 only
            return pa.array(plain, pa.uint64())
    if len({(a.ndim, a.dtype, a.shape[1:]) for a in arrays}) > 1:
        return pa.array([a.tolist() for a in arrays])
    return _lists(map(len, arrays), _encode_nested(name, np.concatenate(arrays)))


def _are_lists_of_arrays(values: list[Any]) -> bool:
    """Whether rows are lists of arrays at some depth, as ragged lists of ragged are."""
    if not all(isinstance(row, list) for row in values):
        return False
    inner = [element for row in values for element in row]
    arrays = [isinstance(v, np.ndarray | jax.Array) and v.ndim > 0 for v in inner]
    return bool(inner) and (all(arrays) or _are_lists_of_arrays(inner))


def _encode_elements(name: str, flat: Any) -> pa.Array:
    """Encodes the elements of all lists of a column."""
    if isinstance(flat, list):
        return _encode_list(name, flat)
    if not isinstance(flat, Masked):
        return _encode_nested(name, flat)
    values, valid = flat
    if isinstance(values, np.ndarray) and values.shape == valid.shape:
        return _encode_nested(name, values, ~valid)
    child = _encode_elements(name, values)
    return child.take(pa.array(np.arange(len(child)), mask=~valid))


def _encode_nested(
    name: str, values: np.ndarray, mask: np.ndarray | None = None
) -> pa.Array:
    """Encodes an array of any rank as lists of a fixed size in each other."""
    flat_mask = None if mask is None else mask.reshape(-1)
    child = encode_array(name, values.reshape(-1), flat_mask)
    if not all(values.shape[1:]):  # Arrow can't count rows of nothing
        type_ = child.type
        for size in reversed(values.shape[1:]):
            type_ = pa.list_(type_, size)
        return pa.array(values.tolist(), type_)
    for size in reversed(values.shape[1:]):
        child = pa.FixedSizeListArray.from_arrays(child, size)
    return child


def _is_deep(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim != 1


def _encode_labels(name: str, values: Any, feature: ClassLabel) -> pa.Array:
    array = _encode_plain(name, values)
    if pa.types.is_string(array.type):
        known = [None if v is None else feature.str2int(v) for v in array.to_pylist()]
        return pa.array(known, pa.int64())
    array = array.cast(pa.int64())
    codes = np.asarray(array.fill_null(0))
    bad = np.flatnonzero((codes < -1) | (codes >= feature.num_classes))
    if len(bad):
        raise ArrowJaxError(
            f"column {name!r}, row {bad[0]}: "
            f"{no_label(codes[bad[0]], feature.num_classes)}"
        )
    return array


def _as_type(values: Any, feature: Any) -> pa.Array:
    type_ = arrow_type(feature)
    if isinstance(values, pa.Array):
        return cast_array(values, feature, type_)
    if isinstance(values, np.ndarray):
        if values.dtype != object and all(values.shape[1:]):
            return cast_to(_nest(values), type_)
        values = values.tolist()
    plain = [_plain(v) for v in values]
    try:
        made = pa.array(plain, type_)
    except pa.ArrowException:
        # Casting knows more conversions, such as 0 and 1 to bool, and checks ranges.
        return cast_to(pa.array(plain), type_)
    _check_list(plain, made)
    return made


def _check_list(values: list[Any], made: pa.Array) -> None:
    """Raises where Arrow cut a float, or made one inf, that a list holds."""
    try:
        check_kept(pa.array(values), made)
    except (pa.ArrowException, OverflowError):
        # No one type holds them, such as floats beside integers past int64.
        type_ = made.type
        while is_list(type_):
            type_ = type_.value_type
        if not pa.types.is_integer(type_):
            return
        for row, (old, new) in enumerate(zip(values, made.to_pylist(), strict=True)):
            if old != new:
                raise BadRowError(row, f"{old!r} does not fit {type_}") from None


def _nest(values: np.ndarray) -> pa.Array:
    child = pa.array(_native(values).flatten())  # a copy
    for size in reversed(values.shape[1:]):
        ends = np.arange(0, len(child) + 1, size, dtype=np.int32)
        child = pa.ListArray.from_arrays(pa.array(ends), child)
    return child


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | jax.Array | np.generic):
        return np.asarray(value).tolist()
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_plain(v) for v in value]
    return value

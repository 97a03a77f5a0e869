"""Picking rows of any Arrow array, also where Arrow itself can't.

Arrow has no `take` for views and run-end-encoded arrays, nor for anything with one of
these inside. The type stays what it was: this is what `with_format("arrow")` gives.
"""

from typing import Any

import numpy as np
import pyarrow as pa

from arrow_jax._nodes import expand
from arrow_jax._plain import run_numbers


def take_rows(array: Any, rows: np.ndarray) -> pa.Array:
    """Picks rows.

    Args:
      array: any Arrow array.
      rows: valid indices.

    Returns:
      An array of the same type with those rows, in that order.
    """
    try:
        return array.take(pa.array(rows))
    except pa.ArrowNotImplementedError:
        return _take(array, rows)


def _take(array: Any, rows: np.ndarray) -> pa.Array:
    type_ = array.type
    if isinstance(type_, pa.BaseExtensionType):
        storage = take_rows(array.storage, rows)
        return pa.ExtensionArray.from_storage(type_, storage)
    if pa.types.is_run_end_encoded(type_):
        values = take_rows(array.values, run_numbers(array, rows))
        ends = pa.array(np.arange(1, len(rows) + 1), type_.run_end_type)
        return pa.RunEndEncodedArray.from_arrays(ends, values, type=type_)
    if pa.types.is_string_view(type_) or pa.types.is_binary_view(type_):
        return _take_views(array, rows)
    mask = array.is_null().take(pa.array(rows))
    if pa.types.is_struct(type_):
        children = [take_rows(array.field(i), rows) for i in range(type_.num_fields)]
        return pa.StructArray.from_arrays(children, fields=list(type_), mask=mask)
    if pa.types.is_fixed_size_list(type_):
        first = (rows + array.offset) * type_.list_size
        at = first[:, None] + np.arange(type_.list_size)
        child = take_rows(array.values, at.reshape(-1))
        return pa.FixedSizeListArray.from_arrays(child, type=type_, mask=mask)
    return _take_lists(array, rows, mask)


def _take_views(array: Any, rows: np.ndarray) -> pa.Array:
    # A view is 16 bytes that say where the text is; the text itself stays in place.
    valid, views, *data = array.buffers()
    picked = np.frombuffer(views, "V16")[rows + array.offset]
    if valid is not None:
        shown = array.is_valid().take(pa.array(rows))
        valid = shown.buffers()[1]
    buffers = [valid, pa.py_buffer(picked), *data]
    try:
        return pa.Array.from_buffers(array.type, len(rows), buffers)
    except ValueError:  # older releases count the buffers of a view as two
        text = pa.types.is_string_view(array.type)
        large = array.cast(pa.large_string() if text else pa.large_binary())
        return large.take(pa.array(rows)).cast(array.type)


def _take_lists(array: Any, rows: np.ndarray, mask: pa.Array) -> pa.Array:
    type_ = array.type
    ends = np.asarray(array.offsets).astype(np.int64)
    starts, lengths = ends[:-1][rows], np.diff(ends)[rows]
    at = expand(starts, lengths)
    large = pa.types.is_large_list(type_)
    offsets = pa.array(
        np.concatenate([[0], np.cumsum(lengths)]), pa.int64() if large else pa.int32()
    )
    if pa.types.is_map(type_):
        keys, items = take_rows(array.keys, at), take_rows(array.items, at)
        return pa.MapArray.from_arrays(offsets, keys, items, type=type_, mask=mask)
    if large or pa.types.is_list(type_):
        kind = pa.LargeListArray if large else pa.ListArray
        child = take_rows(array.values, at)
        return kind.from_arrays(offsets, child, type=type_, mask=mask)
    raise pa.ArrowNotImplementedError(f"no rows can be taken of {type_}")

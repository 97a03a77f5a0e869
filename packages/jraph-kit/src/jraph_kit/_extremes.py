"""Largest and smallest rows of segments, and softmax and logsumexp, which need them."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from jraph_kit._errors import GraphsError
from jraph_kit._rows import graph_numbers, take_rows
from jraph_kit._segments import (
    _accumulator,
    _Axis,
    _beside,
    _count,
    _float,
    _ids,
    _real_numbers,
    _scatter,
    _within,
    segment_sum,
)


def segment_max(
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,  # noqa: FBT001, FBT002 (jraph's signature)
    unique_indices: bool = False,  # noqa: FBT001, FBT002
    *,
    empty: Any = 0,
    axis_name: _Axis = None,
) -> jax.Array:
    """Gives the largest row of each segment, element by element.

    Args:
      data: [n, ...].
      segment_ids: integers [n].
      num_segments: as for `segment_sum`, and so the others.
      indices_are_sorted: whether ids ascend.
      unique_indices: whether no id comes twice.
      empty: the value of a segment without rows; jraph's is the dtype's least.
      axis_name: inside `jax.shard_map`, the axis over which rows are spread.

    Returns:
      [num_segments, ...] of data's dtype.

    Example:
      >>> segment_max([-2.0, -1.0], [1, 1], 2)
      Array([ 0., -1.], dtype=float32)
    """
    how = (num_segments, indices_are_sorted, unique_indices)
    return _extreme(data, segment_ids, *how, kind="max", empty=empty, axis=axis_name)


def segment_min(
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,  # noqa: FBT001, FBT002 (jraph's signature)
    unique_indices: bool = False,  # noqa: FBT001, FBT002
    *,
    empty: Any = 0,
    axis_name: _Axis = None,
) -> jax.Array:
    """Gives the smallest row of each segment, element by element.

    Args:
      data: [n, ...].
      segment_ids: integers [n].
      num_segments: as for `segment_sum`, and so the others.
      indices_are_sorted: whether ids ascend.
      unique_indices: whether no id comes twice.
      empty: the value of a segment without rows; jraph's is the dtype's largest.
      axis_name: inside `jax.shard_map`, the axis over which rows are spread.

    Returns:
      [num_segments, ...] of data's dtype.

    Example:
      >>> segment_min([2.0, 1.0], [1, 1], 2)
      Array([0., 1.], dtype=float32)
    """
    how = (num_segments, indices_are_sorted, unique_indices)
    return _extreme(data, segment_ids, *how, kind="min", empty=empty, axis=axis_name)


def segment_max_or_constant(  # noqa: PLR0917 (jraph's signature)
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,  # noqa: FBT001, FBT002 (jraph's signature)
    unique_indices: bool = False,  # noqa: FBT001, FBT002
    constant: float = 0.0,
) -> jax.Array:
    """Is `segment_max` with jraph's name for `empty`.

    Args:
      data: [n, ...].
      segment_ids: integers [n].
      num_segments: as for `segment_sum`, and so the others.
      indices_are_sorted: whether ids ascend.
      unique_indices: whether no id comes twice.
      constant: the value of a segment without rows.

    Returns:
      [num_segments, ...] of data's dtype.

    Example:
      >>> segment_max_or_constant([-2.0], [1], 2, constant=-5.0)
      Array([-5., -2.], dtype=float32)
    """
    how = (num_segments, indices_are_sorted, unique_indices)
    return segment_max(data, segment_ids, *how, empty=constant)


def segment_min_or_constant(  # noqa: PLR0917 (jraph's signature)
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,  # noqa: FBT001, FBT002 (jraph's signature)
    unique_indices: bool = False,  # noqa: FBT001, FBT002
    constant: float = 0.0,
) -> jax.Array:
    """Is `segment_min` with jraph's name for `empty`.

    Args:
      data: [n, ...].
      segment_ids: integers [n].
      num_segments: as for `segment_sum`, and so the others.
      indices_are_sorted: whether ids ascend.
      unique_indices: whether no id comes twice.
      constant: the value of a segment without rows.

    Returns:
      [num_segments, ...] of data's dtype.

    Example:
      >>> segment_min_or_constant([2.0], [1], 2, constant=5.0)
      Array([5., 2.], dtype=float32)
    """
    how = (num_segments, indices_are_sorted, unique_indices)
    return segment_min(data, segment_ids, *how, empty=constant)


def _identity(dtype: Any, kind: str) -> Any:
    """The value that no row is beyond."""
    if dtype == jnp.bool_:
        return kind == "min"
    if jnp.issubdtype(dtype, jnp.floating):
        return -jnp.inf if kind == "max" else jnp.inf
    return jnp.iinfo(dtype).min if kind == "max" else jnp.iinfo(dtype).max


def _extreme(
    data: Any,
    segment_ids: Any,
    num_segments: int | None,
    indices_are_sorted: bool,  # noqa: FBT001
    unique_indices: bool,  # noqa: FBT001
    *,
    kind: str,
    empty: Any,
    axis: _Axis,
) -> jax.Array:
    data, ids = _real_numbers(data), _ids(segment_ids)
    n = _count(ids, num_segments)
    how = (n, indices_are_sorted, unique_indices)
    found = _raw_extreme(data, ids, how, kind, axis)
    ones = jnp.ones_like(ids, dtype=jnp.int32)
    rows = segment_sum(ones, ids, *how, axis_name=axis)
    try:
        constant = jnp.asarray(empty, data.dtype)
    except OverflowError as error:
        raise GraphsError(f"empty is {empty}, and data is {data.dtype}") from error
    return jnp.where(_beside(rows > 0, found), found, constant)


@functools.partial(jax.custom_jvp, nondiff_argnums=(2, 3, 4))
def _raw_extreme(
    data: jax.Array, ids: jax.Array, how: tuple[Any, ...], kind: str, axis: _Axis
) -> jax.Array:
    n, indices_are_sorted, unique_indices = how
    found = _scatter(
        data,
        ids,
        n,
        start=_identity(data.dtype, kind),
        kind=kind,
        indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices,
    )
    if axis is None:
        return found
    return lax.pmax(found, axis) if kind == "max" else lax.pmin(found, axis)


@_raw_extreme.defjvp
def _raw_extreme_jvp(
    how: tuple[Any, ...], kind: str, axis: _Axis, primals: Any, tangents: Any
) -> Any:
    """Rows that share the extreme share its gradient."""
    data, ids = primals
    found = _raw_extreme(data, ids, how, kind, axis)
    at = data == take_rows(found, ids, like=data)
    dtype = tangents[0].dtype
    shares = segment_sum(at.astype(dtype), ids, *how, axis_name=axis)
    moved = jnp.where(at, tangents[0], jnp.zeros((), dtype))
    total = segment_sum(moved, ids, *how, axis_name=axis)
    return found, total / jnp.maximum(shares, jnp.ones((), dtype))


def _shifted(
    logits: jax.Array, ids: jax.Array, how: tuple[Any, ...], axis: _Axis
) -> tuple[jax.Array, jax.Array]:
    """Each segment's largest logit, 0 where none is finite, and exp(logit - it).

    Rows out of range are zeros of the latter: theirs may be larger than any segment's.
    """
    logits = _within(logits, ids, how[0], fill=-jnp.inf)
    top = _raw_extreme(lax.stop_gradient(logits), ids, how, "max", axis)
    top = jnp.where(jnp.isfinite(top), top, jnp.zeros((), top.dtype))
    return top, jnp.exp(logits - take_rows(top, ids, like=logits))


def segment_softmax(
    logits: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,  # noqa: FBT001, FBT002 (jraph's signature)
    unique_indices: bool = False,  # noqa: FBT001, FBT002
    *,
    axis_name: _Axis = None,
) -> jax.Array:
    """Gives the softmax of rows within their segment.

    Args:
      logits: [n, ...]; -inf takes a row out, and a segment of nothing else gets 0.
      segment_ids: integers [n].
      num_segments: as for `segment_sum`, and so the others.
      indices_are_sorted: whether ids ascend.
      unique_indices: whether no id comes twice.
      axis_name: inside `jax.shard_map`, the axis over which rows are spread.

    Returns:
      [n, ...] of the logits' dtype, computed in float32.

    Example:
      >>> segment_softmax([1.0, 1.0, 7.0], [0, 0, 1], 2)
      Array([0.5, 0.5, 1. ], dtype=float32)
    """
    logits, ids = _float(logits), _ids(segment_ids)
    wide = logits.astype(_accumulator(logits.dtype))
    how = (_count(ids, num_segments), indices_are_sorted, unique_indices)
    _, exps = _shifted(wide, ids, how, axis_name)
    total = segment_sum(exps, ids, *how, axis_name=axis_name)
    shares = take_rows(total, ids, like=exps)
    shares = jnp.where(shares == 0, jnp.ones((), shares.dtype), shares)  # NaN stays
    return (exps / shares).astype(logits.dtype)


def segment_logsumexp(
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,  # noqa: FBT001, FBT002 (as the others)
    unique_indices: bool = False,  # noqa: FBT001, FBT002
    *,
    empty: Any = -jnp.inf,
    axis_name: _Axis = None,
) -> jax.Array:
    """Gives log(sum(exp(rows))) of each segment without overflow.

    Args:
      data: [n, ...].
      segment_ids: integers [n].
      num_segments: as for `segment_sum`, and so the others.
      indices_are_sorted: whether ids ascend.
      unique_indices: whether no id comes twice.
      empty: the value of a segment without rows, or with nothing but -inf.
      axis_name: inside `jax.shard_map`, the axis over which rows are spread.

    Returns:
      [num_segments, ...] of data's dtype, computed in float32.

    Example:
      >>> segment_logsumexp([1000.0, 1000.0], [0, 0], 2, empty=0)
      Array([1000.6932,    0.    ], dtype=float32)
    """
    data, ids = _float(data), _ids(segment_ids)
    wide = data.astype(_accumulator(data.dtype))
    how = (_count(ids, num_segments), indices_are_sorted, unique_indices)
    top, exps = _shifted(wide, ids, how, axis_name)
    total = segment_sum(exps, ids, *how, axis_name=axis_name)
    some = total != 0  # NaN stays
    logs = jnp.log(jnp.where(some, total, jnp.ones((), total.dtype)))
    out = jnp.where(some, top + logs, jnp.asarray(empty, total.dtype))
    return out.astype(data.dtype)


def partition_softmax(
    logits: Any, partitions: Any, sum_partitions: int | None = None
) -> jax.Array:
    """Gives the softmax of consecutive runs of rows.

    Args:
      logits: [n, ...].
      partitions: integers [n_partition], the rows of each run, such as `n_node`. They
        should add up to n, which is not looked at, as it is unknown under `jit`: rows
        beyond them get 0.
      sum_partitions: n; not needed, as it is read off the logits.

    Returns:
      [n, ...] of the logits' dtype.

    Raises:
      GraphsError: if `sum_partitions` is another number than n.

    Example:
      >>> partition_softmax(jnp.ones(3), jnp.array([2, 1]))
      Array([0.5, 0.5, 1. ], dtype=float32)
    """
    logits, partitions = jnp.asarray(logits), jnp.asarray(partitions)
    if sum_partitions not in (None, logits.shape[0]):
        raise GraphsError(
            f"sum_partitions is {sum_partitions}, and there are {logits.shape[0]} rows "
            "of logits"
        )
    ids = graph_numbers(partitions, logits.shape[0], like=logits)
    return segment_softmax(logits, ids, len(partitions), indices_are_sorted=True)

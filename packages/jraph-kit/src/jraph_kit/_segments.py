"""Sums, means, extremes and softmax over segments of rows.

The names and arguments are jraph's. Differences, all on purpose:

- floats narrower than 32 bits are accumulated in float32 (jraph's sum of 4096 ones in
  bfloat16 is 256), integers narrower than 32 bits in int32, which is also returned;
- an empty segment has a stated value: 0 for `segment_max` and `segment_min` too, where
  jraph has -inf and inf, and `empty=` sets another;
- gradients are finite wherever values are; rows that share an extreme share its
  gradient;
- sharded arrays work on meshes with explicit axes, and `axis_name` reduces over devices
  inside `jax.shard_map`.

Ids outside [0, num_segments) are dropped, negative ones included. Say
`indices_are_sorted=True` where ids ascend: XLA then need not guard against clashes.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import NamedSharding, PartitionSpec

from jraph_kit._errors import GraphsError
from jraph_kit._rows import explicit_sharding, on_any_mesh, take_rows

_Axis = str | tuple[str, ...] | None


def _accumulator(dtype: Any) -> Any:
    if dtype.itemsize >= 4:
        return dtype
    narrow_float = jnp.issubdtype(dtype, jnp.floating)
    return jnp.dtype(jnp.float32 if narrow_float else jnp.int32)


def _float(data: Any) -> jax.Array:
    data = jnp.asarray(data)
    return data if jnp.issubdtype(data.dtype, jnp.floating) else data.astype("float32")


def _count(segment_ids: jax.Array, num_segments: int | None) -> int:
    if num_segments is not None:
        return num_segments
    return int(jnp.max(segment_ids)) + 1 if segment_ids.size else 0


def _scatter(
    data: jax.Array,
    ids: jax.Array,
    n: int,
    *,
    start: Any,
    kind: str,
    indices_are_sorted: bool,
    unique_indices: bool,
) -> jax.Array:
    """One scatter of rows into n segments that begin at `start`."""

    def reduce(data: jax.Array, ids: jax.Array) -> jax.Array:
        into = jnp.full((n, *data.shape[1:]), start, data.dtype)
        return getattr(into.at[ids], kind)(
            data,
            mode="drop",
            indices_are_sorted=indices_are_sorted,
            unique_indices=unique_indices,
            wrap_negative_indices=False,
        )

    if ids.ndim != 1 or data.shape[:1] != ids.shape:
        raise GraphsError(
            f"data has shape {list(data.shape)} and segment_ids {list(ids.shape)}; "
            "wanted one id for each row"
        )
    by_data, by_ids = explicit_sharding(data), explicit_sharding(ids)
    known = by_data or by_ids
    if known is None:
        return reduce(data, ids)
    rest = by_data.spec[1:] if by_data else (None,) * (data.ndim - 1)
    out = NamedSharding(known.mesh, PartitionSpec(None, *rest))
    return on_any_mesh(reduce, out, data, ids)


def segment_sum(
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,  # noqa: FBT001, FBT002 (jraph's signature)
    unique_indices: bool = False,  # noqa: FBT001, FBT002
    *,
    axis_name: _Axis = None,
) -> jax.Array:
    """Adds up the rows of each segment.

    Args:
      data: [n, ...] of any number dtype; booleans are counted.
      segment_ids: integers [n].
      num_segments: how many; wanted under `jit`, by default the largest id and one.
      indices_are_sorted: whether ids ascend.
      unique_indices: whether no id comes twice.
      axis_name: inside `jax.shard_map`, the axis over which rows are spread.

    Returns:
      [num_segments, ...] of data's dtype, int32 for narrower integers; 0 where empty.

    Raises:
      GraphsError: if there is not one id for each row; so do the others.

    Example:
      >>> import jax.numpy as jnp
      >>> ones = jnp.ones(4096, jnp.bfloat16)
      >>> float(segment_sum(ones, jnp.zeros(4096, int), 1)[0])
      4096.0
    """
    data, ids = jnp.asarray(data), jnp.asarray(segment_ids)
    wide = _accumulator(data.dtype)
    out = _scatter(
        data.astype(wide),
        ids,
        _count(ids, num_segments),
        start=0,
        kind="add",
        indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices,
    )
    out = out if axis_name is None else lax.psum(out, axis_name)
    return out.astype(data.dtype) if jnp.issubdtype(wide, jnp.floating) else out


def segment_mean(
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,  # noqa: FBT001, FBT002 (jraph's signature)
    unique_indices: bool = False,  # noqa: FBT001, FBT002
    *,
    axis_name: _Axis = None,
) -> jax.Array:
    """Averages the rows of each segment.

    Args:
      data: [n, ...]; integers and booleans are averaged in float32.
      segment_ids: integers [n].
      num_segments: as for `segment_sum`, and so the others.
      indices_are_sorted: whether ids ascend.
      unique_indices: whether no id comes twice.
      axis_name: inside `jax.shard_map`, the axis over which rows are spread.

    Returns:
      [num_segments, ...] of data's dtype; 0 where empty.

    Example:
      >>> segment_mean([1.0, 3.0], [1, 1], 2)
      Array([0., 2.], dtype=float32)
    """
    data = _float(data)
    how = (num_segments, indices_are_sorted, unique_indices)
    wide = data.astype(_accumulator(data.dtype))
    total = segment_sum(wide, segment_ids, *how, axis_name=axis_name)
    count = _sizes(data, segment_ids, *how, axis_name=axis_name)
    return (total / _beside(jnp.maximum(count, 1), total)).astype(data.dtype)


def _sizes(
    data: jax.Array,
    segment_ids: Any,
    num_segments: int | None,
    indices_are_sorted: bool,  # noqa: FBT001
    unique_indices: bool,  # noqa: FBT001
    *,
    axis_name: _Axis,
) -> jax.Array:
    """The number of rows of each segment, in the dtype that data is summed in."""
    ids = jnp.asarray(segment_ids)
    # From the ids, so that they lie on the devices where the ids do.
    ones = jnp.ones_like(ids, dtype=_accumulator(data.dtype))
    how = (num_segments, indices_are_sorted, unique_indices)
    return segment_sum(ones, ids, *how, axis_name=axis_name)


def _beside(rows: jax.Array, like: jax.Array) -> jax.Array:
    """One value a row, shaped to go with arrays of more axes."""
    return rows.reshape(rows.shape + (1,) * (like.ndim - 1))


def segment_variance(
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,  # noqa: FBT001, FBT002 (jraph's signature)
    unique_indices: bool = False,  # noqa: FBT001, FBT002
    *,
    axis_name: _Axis = None,
) -> jax.Array:
    """Gives the variance of each segment's rows (of the population, by two passes).

    Args:
      data: [n, ...].
      segment_ids: integers [n].
      num_segments: as for `segment_sum`, and so the others.
      indices_are_sorted: whether ids ascend.
      unique_indices: whether no id comes twice.
      axis_name: inside `jax.shard_map`, the axis over which rows are spread.

    Returns:
      [num_segments, ...] of data's dtype; 0 where empty.

    Example:
      >>> segment_variance([1.0, 3.0], [0, 0], 2)
      Array([1., 0.], dtype=float32)
    """
    data = _float(data)
    how = (num_segments, indices_are_sorted, unique_indices)
    wide = data.astype(_accumulator(data.dtype))
    mean = segment_mean(wide, segment_ids, *how, axis_name=axis_name)
    squares = jnp.square(wide - take_rows(mean, segment_ids, like=wide))
    return segment_mean(squares, segment_ids, *how, axis_name=axis_name).astype(
        data.dtype
    )


def segment_normalize(  # noqa: PLR0917 (jraph's signature)
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,  # noqa: FBT001, FBT002 (jraph's signature)
    unique_indices: bool = False,  # noqa: FBT001, FBT002
    eps: float = 1e-8,
    *,
    axis_name: _Axis = None,
) -> jax.Array:
    """Shifts and scales rows to mean 0 and variance 1 within each segment.

    Args:
      data: [n, ...].
      segment_ids: integers [n].
      num_segments: as for `segment_sum`, and so the others.
      indices_are_sorted: whether ids ascend.
      unique_indices: whether no id comes twice.
      eps: the least variance that is divided by.
      axis_name: inside `jax.shard_map`, the axis over which rows are spread.

    Returns:
      [n, ...] of data's dtype.

    Example:
      >>> segment_normalize([1.0, 3.0], [0, 0], 1)
      Array([-1.,  1.], dtype=float32)
    """
    data, ids = _float(data), jnp.asarray(segment_ids)
    how = (num_segments, indices_are_sorted, unique_indices)
    wide = data.astype(_accumulator(data.dtype))
    mean = segment_mean(wide, ids, *how, axis_name=axis_name)
    variance = segment_variance(wide, ids, *how, axis_name=axis_name)
    taken = functools.partial(take_rows, indices=ids, like=wide)
    scale = lax.rsqrt(jnp.maximum(variance, jnp.asarray(eps, variance.dtype)))
    return ((wide - taken(mean)) * taken(scale)).astype(data.dtype)

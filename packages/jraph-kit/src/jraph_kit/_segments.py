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

Ids outside [0, num_segments) are dropped, negative ones included: those rows have no
part in any result or gradient, and where results have a row each theirs are 0. Say
`indices_are_sorted=True` where ids ascend: XLA then need not guard against clashes.

float32 cannot add up more than some 2**24 rows of one segment; turn x64 on for those.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import NamedSharding, PartitionSpec

from jraph_kit._checks import check_count
from jraph_kit._errors import GraphsError
from jraph_kit._rows import (
    explicit_sharding,
    on_any_mesh,
    spread,
    take_rows,
    wide_integers,
)

_Axis = str | tuple[str, ...] | None


def _accumulator(dtype: Any) -> Any:
    if dtype.itemsize >= 4:
        return dtype
    narrow_float = jnp.issubdtype(dtype, jnp.floating)
    return jnp.dtype(jnp.float32 if narrow_float else jnp.int32)


def _real_numbers(data: Any) -> jax.Array:
    data = jnp.asarray(data)
    if jnp.issubdtype(data.dtype, jnp.complexfloating):
        raise GraphsError(
            f"data is {data.dtype}; wanted real numbers; take data.real and data.imag "
            "one by one"
        )
    return data


def _float(data: Any) -> jax.Array:
    data = _real_numbers(data)
    return data if jnp.issubdtype(data.dtype, jnp.floating) else data.astype("float32")


def _ids(segment_ids: Any) -> jax.Array:
    """Integers of 32 bits or more, as narrower ones cannot be compared with a count."""
    ids = jnp.asarray(segment_ids)
    if not jnp.issubdtype(ids.dtype, jnp.integer) and ids.size:
        raise GraphsError(f"segment_ids are {ids.dtype}; wanted integers")
    return wide_integers(ids)


def _count(segment_ids: jax.Array, num_segments: int | None) -> int:
    if num_segments is None:
        if isinstance(segment_ids, jax.core.Tracer):
            raise GraphsError(
                "num_segments is None, and under jit the largest id is unknown; give it"
            )
        return int(jnp.max(segment_ids, initial=-1)) + 1
    return check_count("num_segments", num_segments, least=0)


def _within(data: jax.Array, ids: jax.Array, n: int, *, fill: float) -> jax.Array:
    """Rows whose id is out of range as `fill`, without a gradient."""

    def chosen(data: jax.Array, ids: jax.Array) -> jax.Array:
        inside = (ids >= 0) & (ids < n)
        return jnp.where(_beside(inside, data), data, jnp.asarray(fill, data.dtype))

    _check_rows(data, ids)
    out = explicit_sharding(data) or spread(ids, data)
    return on_any_mesh(chosen, out, data, ids)


def _check_rows(data: jax.Array, ids: jax.Array) -> None:
    if ids.ndim != 1 or data.shape[:1] != ids.shape:
        raise GraphsError(
            f"data has shape {list(data.shape)} and segment_ids {list(ids.shape)}; "
            "wanted one id for each row"
        )


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

    _check_rows(data, ids)
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
      GraphsError: if there is not one integer id for each row, `num_segments` is not a
        number known before tracing, or, but for this function, data is complex; so do
        the others.

    Example:
      >>> import jax.numpy as jnp
      >>> ones = jnp.ones(4096, jnp.bfloat16)
      >>> float(segment_sum(ones, jnp.zeros(4096, int), 1)[0])
      4096.0
    """
    data, ids = jnp.asarray(data), _ids(segment_ids)
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
    # From the ids, so that they lie on the devices where the ids do; and not counted in
    # float32, which ends at 2**24.
    ones = jnp.ones_like(_ids(segment_ids), dtype=jnp.int32)
    count = segment_sum(ones, segment_ids, *how, axis_name=axis_name)
    count = jnp.maximum(count, 1).astype(total.dtype)
    return (total / _beside(count, total)).astype(data.dtype)


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
    data, ids = _float(data), _ids(segment_ids)
    n = _count(ids, num_segments)
    how = (n, indices_are_sorted, unique_indices)
    wide = _within(data.astype(_accumulator(data.dtype)), ids, n, fill=0)
    mean = segment_mean(wide, ids, *how, axis_name=axis_name)
    squares = jnp.square(wide - take_rows(mean, ids, like=wide))
    out = segment_mean(squares, ids, *how, axis_name=axis_name)
    return out.astype(data.dtype)


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
    data, ids = _float(data), _ids(segment_ids)
    n = _count(ids, num_segments)
    how = (n, indices_are_sorted, unique_indices)
    wide = _within(data.astype(_accumulator(data.dtype)), ids, n, fill=0)
    mean = segment_mean(wide, ids, *how, axis_name=axis_name)
    variance = segment_variance(wide, ids, *how, axis_name=axis_name)
    taken = functools.partial(take_rows, indices=ids, like=wide)
    scale = lax.rsqrt(jnp.maximum(variance, jnp.asarray(eps, variance.dtype)))
    out = _within((wide - taken(mean)) * taken(scale), ids, n, fill=0)
    return out.astype(data.dtype)

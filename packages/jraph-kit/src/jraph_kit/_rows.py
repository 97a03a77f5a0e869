"""Rows taken by index and graph numbers of rows, on any mesh.

On a mesh of explicit axes jax refuses a gather or scatter whose result's sharding it
cannot read off the operands. Here it is stated: rows that are taken lie as the indices
do, sums over rows lie on every device.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import AxisType, NamedSharding, PartitionSpec


def explicit_sharding(x: Any) -> NamedSharding | None:
    """The sharding that x's type carries on a mesh with explicit axes, or None."""
    found = jax.typeof(x).sharding
    explicit = AxisType.Explicit in found.mesh.axis_types
    return found if explicit and any(part is not None for part in found.spec) else None


def spread(rows: Any, trailing: Any) -> NamedSharding | None:
    """Where results lie whose first axis is `rows`'s, and the others `trailing`'s."""
    by_rows, by_features = explicit_sharding(rows), explicit_sharding(trailing)
    known = by_rows or by_features
    if known is None:
        return None
    first = by_rows.spec[0] if by_rows else None
    taken = first if isinstance(first, tuple) else (first,)
    rest = by_features.spec[1:] if by_features else (None,) * (trailing.ndim - 1)
    kept = (None if part in taken else part for part in rest)
    return NamedSharding(known.mesh, PartitionSpec(first, *kept))


def on_any_mesh(
    function: Callable[..., jax.Array], out: NamedSharding | None, *args: Any
) -> jax.Array:
    """Calls a function of arrays; with `out`, lets the compiler place what is inside.

    Sharded gathers and scatters, which types cannot follow, are thus allowed, and the
    result has the sharding `out`.
    """
    if out is None:
        return function(*args)
    explicit = zip(out.mesh.axis_names, out.mesh.axis_types, strict=True)
    axes = tuple(name for name, kind in explicit if kind == AxisType.Explicit)
    wrap: Any = jax.sharding.auto_axes(function, axes=axes, out_sharding=out)
    return wrap(*args)


def everywhere(x: jax.Array) -> jax.Array:
    """Moves to every device what its type says is spread."""
    known = explicit_sharding(x)
    if known is None:
        return x
    return jax.sharding.reshard(x, NamedSharding(known.mesh, PartitionSpec()))


def wide_integers(x: jax.Array) -> jax.Array:
    """As int32 where they are narrower, or an empty list, of which jax makes floats."""
    kept = jnp.issubdtype(x.dtype, jnp.integer) and x.dtype.itemsize >= 4
    return x if kept else x.astype(jnp.int32)


def take_rows(x: Any, indices: Any, *, like: jax.Array | None = None) -> jax.Array:
    """x[indices], sharded as the indices are.

    Args:
      x: [n, ...].
      indices: integers [m]; those out of range are clamped, and where x has no rows
        the result is zeros.
      like: [m, ...] of x's rank, which the result will meet; sharded as this, if it is.

    Returns:
      [m, ...].
    """
    x, indices = jnp.asarray(x), jnp.asarray(indices)
    known = None if like is None else explicit_sharding(like)
    x = x if x.shape[0] else jnp.zeros((1, *x.shape[1:]), x.dtype)
    return on_any_mesh(
        lambda x, indices: x[indices], known or spread(indices, x), x, indices
    )


def row_sharding(rows: Any, lengths: jax.Array) -> NamedSharding | None:
    """Where one number a row lies, if the rows or the lengths of graphs say so."""
    by_rows = None if rows is None else explicit_sharding(rows)
    where = by_rows or explicit_sharding(lengths)
    first = by_rows.spec[0] if by_rows else None
    return where and NamedSharding(where.mesh, PartitionSpec(first))


def graph_numbers(lengths: Any, n: int, *, like: Any = None) -> jax.Array:
    """Which graph each row belongs to.

    Args:
      lengths: integers [n_graph], the rows of each graph.
      n: how many rows there are.
      like: the rows [n, ...]; the result is sharded as they are.

    Returns:
      int32 [n], ascending; rows beyond the last graph get n_graph.
    """

    def numbers(lengths: jax.Array) -> jax.Array:
        ends = jnp.cumsum(lengths.astype(jnp.int32))
        marks = jnp.zeros(n, jnp.int32).at[ends].add(1, mode="drop")
        return jnp.cumsum(marks)

    lengths = jnp.asarray(lengths)
    return on_any_mesh(numbers, row_sharding(like, lengths), lengths)

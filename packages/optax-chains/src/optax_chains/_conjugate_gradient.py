"""Solving A x = b for a positive A that is known by its products only.

`jax.scipy.sparse.linalg.cg` does the same, but not where mesh axes are explicit: its
inner products are matrix products, which ask where their result shall be.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from optax_chains._wide import wide


class _Iterate(NamedTuple):
    x: Any
    residual: Any
    direction: Any
    square: jax.Array  # of the residual's norm
    count: jax.Array


def inner(a: Any, b: Any) -> jax.Array:
    """The inner product of two trees, float[], in float32 at least."""
    products = jax.tree.map(lambda x, y: jnp.sum(x * y), wide(a), wide(b))
    return jax.tree.reduce(jnp.add, products, jnp.zeros(()))


def unit(tree: Any) -> tuple[Any, jax.Array]:
    """A tree by its largest number, and that, float[]; squares then fit in float32.

    Of numbers that are not finite, the tree or the largest one is NaN or infinite.
    """
    largest = jax.tree.map(lambda x: jnp.max(jnp.abs(x), initial=0), wide(tree))
    size = jax.tree.reduce(jnp.maximum, largest, jnp.zeros(()))
    divisor = jnp.where(size == 0, 1.0, size)
    return jax.tree.map(lambda x: (x / divisor).astype(x.dtype), tree), size


def conjugate_gradient(
    product: Callable[[Any], Any], b: Any, *, iterations: int, tolerance: float
) -> Any:
    """Solves A x = b from x = 0 on.

    Args:
      product: `v -> A v`, on trees like `b`; A symmetric and positive.
      b: a pytree of arrays.
      iterations: at most.
      tolerance: of the residual's norm, in units of that of b.

    Returns:
      x, a tree like `b`; with NaN where b, or the curvature along it, is not finite.

    References:
      Hestenes, Stiefel, 1952, [Methods of Conjugate Gradients for Solving Linear
      Systems](https://doi.org/10.6028/jres.049.044), section 3.
    """

    def unfinished(i: _Iterate) -> jax.Array:
        return (i.count < iterations) & (i.square > stop)

    def step(i: _Iterate) -> _Iterate:
        a_direction = product(i.direction)
        curvature = inner(i.direction, a_direction)
        # Rounding, or a matrix that is not positive: stay where one is.
        # NaN is no such case: it goes on into x.
        flat = curvature <= 0
        length = jnp.where(flat, 0.0, i.square / curvature)
        residual = _add(i.residual, a_direction, -length)
        square = inner(residual, residual)
        return _Iterate(
            _add(i.x, i.direction, length),
            residual,
            _add(residual, i.direction, square / i.square),
            jnp.where(flat, 0.0, square),
            i.count + 1,
        )

    b, size = unit(b)
    square = inner(b, b)
    stop = tolerance**2 * square
    zero = jax.tree.map(jnp.zeros_like, b)
    start = _Iterate(zero, b, b, square, jnp.int32(0))
    x = jax.lax.while_loop(unfinished, step, start).x
    return jax.tree.map(lambda x: (x * size).astype(x.dtype), x)


def _add(a: Any, b: Any, factor: jax.Array) -> Any:
    return jax.tree.map(lambda x, y: x + factor.astype(x.dtype) * y, a, b)

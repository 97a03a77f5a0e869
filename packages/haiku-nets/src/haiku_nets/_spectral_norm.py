"""Weights divided by their largest singular value, as a function of the weights alone.

Haiku's `SpectralNorm` keeps a vector in the state, and improves it by one step of power
iteration a call: networks need `transform_with_state`, and what they compute depends on
how often they were called. The matrices of convolutions are small beside the work of
the convolutions, so here the iteration starts anew each time and takes all its steps;
nothing has to be carried, saved, or kept equal on many devices.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from haiku_nets._checks import check_counts

_ITERATIONS = 20
_EPSILON = 1e-12


def largest_singular_value(w: jax.Array, *, iterations: int = _ITERATIONS) -> jax.Array:
    """The largest singular value of a kernel, taken as a matrix to its last axis.

    By power iteration from a fixed vector, in float32 at least. Gradients are those of
    u^T W v at the vectors found, which are exact where the iteration has converged.

    Args:
      w: floats [..., out], with two axes at least.
      iterations: of the power method; the error shrinks as
        (second / first singular value) ** (4 * iterations).

    Returns:
      A scalar, of w's dtype; never above the true value but for rounding.

    Raises:
      ValueError: if w has fewer than two axes, or `iterations` is below 1.
      TypeError: if `iterations` is no whole number.

    Example:
      >>> import jax.numpy as jnp
      >>> largest_singular_value(jnp.diag(jnp.array([3.0, -5.0])))
      Array(5., dtype=float32)
    """
    check_counts("largest_singular_value", iterations=iterations)
    if w.ndim < 2:
        raise ValueError(
            f"largest_singular_value found shape {w.shape}, wanted two axes at least."
        )
    if not w.size:
        return jnp.zeros((), w.dtype)
    matrix = w.reshape(-1, w.shape[-1])
    wide = matrix.astype(jnp.float32) if w.dtype.itemsize < 4 else matrix
    # Squares of very large or small numbers leave the range; those of shares do not.
    scale = jax.lax.stop_gradient(jnp.max(jnp.abs(wide)))
    scale = jnp.where(scale > 0, scale, jnp.ones_like(scale))
    wide = wide / scale
    fixed = jax.lax.stop_gradient(wide)
    # Any vector that is not orthogonal to the first singular one serves.
    v = jax.random.normal(jax.random.key(0), (w.shape[-1],), wide.dtype)

    def step(v: jax.Array, _: None) -> tuple[jax.Array, None]:
        return _unit(fixed.T @ _unit(fixed @ v)), None

    v, _ = jax.lax.scan(step, _unit(v), None, length=iterations)
    u = _unit(fixed @ v)
    return (u @ (wide @ v) * scale).astype(w.dtype)


def spectral_norm(
    next_getter: Callable[[jax.Array], jax.Array], value: jax.Array, context: Any
) -> jax.Array:
    """A getter that divides every matrix and kernel by its largest singular value.

    Give it to `hk.custom_getter` around any modules. Parameters of one axis, biases and
    scales, stay as they are.

    Args:
      next_getter: what Haiku hands over.
      value: the parameter.
      context: what is being fetched.

    Returns:
      The parameter to compute with.

    Example:
      >>> import haiku as hk, jax, jax.numpy as jnp
      >>> def f(x):
      ...     with hk.custom_getter(spectral_norm):
      ...         return hk.Linear(3)(x)
      >>> net = hk.without_apply_rng(hk.transform(f))
      >>> params = net.init(jax.random.key(0), jnp.ones((1, 3)))
      >>> matrix = net.apply(params, jnp.eye(3))
      >>> float(jnp.linalg.norm(matrix, 2).round(4))
      1.0

    References:
      Miyato et al., Spectral Normalization for Generative Adversarial Networks, 2018,
      section 2.1, https://arxiv.org/abs/1802.05957
    """
    del context
    w = next_getter(value)
    if w.ndim < 2:
        return w
    sigma = largest_singular_value(w)
    return w / jnp.where(sigma > 0, sigma, jnp.ones_like(sigma))


def _unit(x: jax.Array) -> jax.Array:
    return x / jnp.maximum(jnp.linalg.norm(x), _EPSILON)

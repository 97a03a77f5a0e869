"""How what is lost at each step becomes one number: the mean over steps that count.

Every loss of this package ends here. It returns `(loss, metrics)`: a scalar, and a dict
of scalars under the names that the field logs. All are float32, whatever the width of
the inputs (float64 where those are float64).
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from rlax_agents._checks import check_float, check_range, check_shape
from rlax_agents._recurrence import fill_masked

Metrics = dict[str, jax.Array]


def widen(array: jax.Array) -> jax.Array:
    """The array in float32, or as it is where it is wider: 16 bits add up badly."""
    return array if array.dtype == jnp.float64 else array.astype(jnp.float32)


def mean_of_steps(
    x_t: jax.Array, mask_t: jax.Array | None = None, weights: jax.Array | None = None
) -> jax.Array:
    """The mean over the steps that count; 0 where none does.

    Args:
      x_t: an array, a number a step.
      mask_t: bool like x_t, or None: which steps count.
      weights: float like x_t, or None: factors. The mean is still over the count of
        the steps and not over the sum of the weights, as prioritised replay has it.

    Returns:
      A scalar, at least as wide as float32.
    """
    x_t = widen(x_t)
    if weights is not None:
        x_t = x_t * weights
    if mask_t is None:
        return x_t.sum() / max(x_t.size, 1)
    count = jnp.maximum(mask_t.sum(dtype=x_t.dtype), 1)
    return fill_masked(x_t, mask_t).sum() / count


def variance_of_steps(x_t: jax.Array, mask_t: jax.Array | None = None) -> jax.Array:
    """The variance over the steps that count; 0 where none does."""
    x_t = widen(x_t)
    return mean_of_steps(jnp.square(x_t - mean_of_steps(x_t, mask_t)), mask_t)


def check_weights(
    where: str, weights: Any, shape: tuple[int, ...], *, mask_t: jax.Array | None
) -> jax.Array | None:
    """Makes factors of steps, without a gradient, or None of None.

    Raises:
      ArgumentError: if they are no floats, not of the shape, or below 0.
    """
    if weights is None:
        return None
    weights = check_float(where, "weights", weights)
    check_shape(where, "weights", weights, shape, like="r_t")
    check_range(where, "weights", weights, 0.0, mask=mask_t)
    return lax.stop_gradient(widen(fill_masked(weights, mask_t)))

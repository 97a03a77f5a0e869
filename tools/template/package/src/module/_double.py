"""One idea a file: here, doubling."""

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike


def double(x: ArrayLike) -> jax.Array:
    """Doubles a number or an array.

    Args:
      x: a number, or an array of any shape and numeric dtype.

    Returns:
      Twice `x`, of the same shape and dtype.

    Example:
      >>> double(2).item()
      4
    """
    return jnp.add(x, x)

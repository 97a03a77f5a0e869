"""Which actions an environment takes: their shape, dtype and bounds."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from rlax_agents._checks import ArgumentError, check_count, check_range, read_values


@dataclass(frozen=True)
class Discrete:
    """Actions 0 to n - 1: int32 scalars.

    Attributes:
      n: how many actions there are.

    Raises:
      ArgumentError: if n is no int of 1 or more.

    Example:
      >>> import jax
      >>> spec = Discrete(3)
      >>> int(spec.sample(jax.random.key(0))) in range(3)
      True
    """

    n: int

    def __post_init__(self) -> None:
        check_count("Discrete", "n", self.n)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one action: ()."""
        return ()

    @property
    def dtype(self) -> Any:
        """Of one action: int32."""
        return jnp.dtype(jnp.int32)

    def sample(self, key: jax.Array) -> jax.Array:
        """Draws one action, all alike."""
        return jax.random.randint(key, (), 0, self.n, jnp.int32)

    def check(self, where: str, action: Any) -> jax.Array:
        """Makes an int32 scalar in range of an action.

        Args:
          where: the function that asks.
          action: integer scalar.

        Returns:
          int32. Where the value is not known, under `jit`, it is clipped.

        Raises:
          ArgumentError: for another dtype or shape, or a known value out of range.
        """
        array = jnp.asarray(action)
        if not jnp.issubdtype(array.dtype, jnp.integer):
            raise ArgumentError(
                f"{where}: action has dtype {array.dtype}, wanted an integer below "
                f"{self.n}; type action.astype(jnp.int32)"
            )
        _check_shape(where, array, ())
        check_range(where, "action", array, 0, self.n - 1)
        if array.dtype.itemsize < 4:
            array = array.astype(jnp.int32)
        return jnp.int32(jnp.clip(array, 0, self.n - 1))


@dataclass(frozen=True)
class Continuous:
    """Actions that are float32 arrays between bounds.

    Attributes:
      shape: of one action, a tuple of ints.
      low: the least values, a number or nested tuples that broadcast to the shape.
      high: the greatest ones, likewise.

    Raises:
      ArgumentError: if a bound is not finite, or low is not below high, or a bound does
        not broadcast to the shape.

    Example:
      >>> import jax
      >>> spec = Continuous((2,), low=-1.0, high=(1.0, 5.0))
      >>> spec.sample(jax.random.key(0)).shape
      (2,)
    """

    shape: tuple[int, ...]
    low: Any
    high: Any

    def __post_init__(self) -> None:
        try:
            low, high = self.bounds()
        except ValueError as error:
            raise ArgumentError(
                f"Continuous: low {self.low!r} and high {self.high!r} do not broadcast "
                f"to shape {self.shape}; give numbers, or tuples of that shape"
            ) from error
        if not (np.isfinite(low) & np.isfinite(high) & (low < high)).all():
            raise ArgumentError(
                f"Continuous: low is {self.low!r} and high is {self.high!r}, wanted "
                f"finite numbers, low below high; type low=-1.0, high=1.0"
            )

    @property
    def dtype(self) -> Any:
        """Of one action: float32."""
        return jnp.dtype(jnp.float32)

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """The bounds as float32 arrays of the shape."""
        low, high = np.float32(self.low), np.float32(self.high)
        return np.broadcast_to(low, self.shape), np.broadcast_to(high, self.shape)

    def sample(self, key: jax.Array) -> jax.Array:
        """Draws one action, uniform between the bounds."""
        low, high = self.bounds()
        return jax.random.uniform(key, self.shape, jnp.float32, low, high)

    def check(self, where: str, action: Any) -> jax.Array:
        """Makes a float32 array between the bounds of an action.

        Args:
          where: the function that asks.
          action: float array of the shape.

        Returns:
          float32, clipped to the bounds. NaN stays NaN where it is not known, under
          `jit`.

        Raises:
          ArgumentError: for another dtype or shape, or a known NaN.
        """
        array = jnp.asarray(action)
        if not jnp.issubdtype(array.dtype, jnp.floating):
            raise ArgumentError(
                f"{where}: action has dtype {array.dtype}, wanted a float; "
                f"type action.astype(jnp.float32)"
            )
        _check_shape(where, array, self.shape)
        values = read_values(array)
        if values is not None and np.isnan(values).any():
            raise ArgumentError(
                f"{where}: action is {values.tolist()}, wanted no NaN; look at the "
                f"policy that drew it, with jax.debug_nans(True)"
            )
        return jnp.clip(array.astype(jnp.float32), *self.bounds())


ActionSpec = Discrete | Continuous


def _check_shape(where: str, array: jax.Array, shape: tuple[int, ...]) -> None:
    if array.shape == shape:
        return
    if array.shape[1:] == shape and array.ndim > len(shape):
        remedy = "type jax.vmap(env.step)(state, action) for a batch of environments"
    else:
        remedy = f"type action.reshape({shape}) if that is what it holds"
    raise ArgumentError(
        f"{where}: action has shape {array.shape}, wanted {shape}; {remedy}"
    )

"""Noise with a memory, for environments in which single kicks cancel out."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from rlax_agents._checks import ArgumentError


@dataclass(frozen=True)
class OrnsteinUhlenbeck:
    """Noise that drifts back to its mean: `dx = theta (mean - x) dt + sigma dW`.

    Physical systems filter out noise that is drawn anew each step; this one pushes the
    same way for about 1 / theta units of time. It is stepped by its exact solution, so
    its variance, `sigma^2 / (2 theta)` in the long run, does not depend on dt. The
    state is the noise itself, to be added to an action.

    Attributes:
      theta: rate of return to the mean, above 0, per unit of time.
      sigma: strength, 0 or more.
      mean: what it returns to.
      dt: time between steps, above 0. 1 makes the step the unit of time.

    Raises:
      ArgumentError: if an option is out of range.

    Example:
      >>> import jax
      >>> noise = OrnsteinUhlenbeck(sigma=0.2)
      >>> x = noise.init((3,))
      >>> x = noise.step(jax.random.key(0), x)
      >>> x.shape
      (3,)

    References:
      Uhlenbeck and Ornstein, 1930, On the Theory of the Brownian Motion; Lillicrap et
      al., 2016, Continuous control with deep reinforcement learning, section 3,
      https://arxiv.org/abs/1509.02971; Gillespie, 1996, Exact numerical simulation of
      the Ornstein-Uhlenbeck process and its integral, equation 1.9.
    """

    theta: float = 0.15
    sigma: float = 0.2
    mean: float = 0.0
    dt: float = 1.0

    def __post_init__(self) -> None:
        finite = all(map(math.isfinite, (self.theta, self.sigma, self.mean, self.dt)))
        if not (finite and self.theta > 0 and self.sigma >= 0 and self.dt > 0):
            raise ArgumentError(
                f"OrnsteinUhlenbeck: theta is {self.theta:g}, sigma {self.sigma:g}, "
                f"mean {self.mean:g} and dt {self.dt:g}, wanted finite numbers, theta "
                f"and dt above 0, sigma 0 or more"
            )

    def init(self, shape: Sequence[int], dtype: Any = jnp.float32) -> jax.Array:
        """Starts at the mean.

        Args:
          shape: of the actions, with the batch.
          dtype: of the actions, a float.

        Returns:
          The noise, all of it at the mean.
        """
        return jnp.full(tuple(shape), self.mean, dtype)

    def step(self, key: jax.Array, x: jax.Array) -> jax.Array:
        """Goes on by dt.

        Args:
          key: PRNG key.
          x: float, the noise before. At the start of an episode, `init` again.

        Returns:
          The noise after, like x.
        """
        decay = math.exp(-self.theta * self.dt)
        variance = -math.expm1(-2 * self.theta * self.dt) / (2 * self.theta)
        normal = jax.random.normal(key, x.shape, x.dtype)
        kick = self.sigma * math.sqrt(variance) * normal
        return self.mean + decay * (x - self.mean) + kick

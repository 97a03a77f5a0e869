"""Pendulum: swing a pole up with a motor that is too weak to lift it."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from rlax_agents._checks import check_count
from rlax_agents._environment import TimeStep, advance, restart
from rlax_agents._spaces import Continuous

_GRAVITY = 10.0  # m/s^2; mass and length are 1
_TIME_STEP = 0.05  # s
_SPEED_LIMIT = 8.0  # rad/s
_TORQUE_LIMIT = 2.0  # N m


class PendulumState(NamedTuple):
    """The state of the mechanics, and how long the episode has run.

    Attributes:
      theta: float32, angle in rad, 0 upright, not wrapped.
      theta_dot: float32, its speed in rad/s.
      steps: int32, taken in this episode.
    """

    theta: jax.Array
    theta_dot: jax.Array
    steps: jax.Array


@dataclass(frozen=True)
class Pendulum:
    """Swing a pole up and hold it there with little torque, as Pendulum-v1.

    The reward is -(theta^2 + 0.1 theta_dot^2 + 0.001 torque^2), of the state before the
    step, with theta in +-pi. An episode never terminates; it is truncated, with
    discount 1, after `max_steps`. The action is float32[1], a torque in N m, clipped to
    +-2. The observation is float32[3]: cos(theta), sin(theta), theta_dot. It starts at
    any angle, with a speed in +-1.

    Attributes:
      max_steps: after which an episode is truncated.

    Raises:
      ArgumentError: if max_steps is no int of 1 or more.

    Example:
      >>> import jax, jax.numpy as jnp
      >>> env = Pendulum()
      >>> state, timestep = env.reset(jax.random.key(0))
      >>> state, timestep = env.step(state, jnp.array([0.5]))
      >>> timestep.observation.shape
      (3,)

    References:
      Constants and dynamics as in Gymnasium,
      https://gymnasium.farama.org/environments/classic_control/pendulum/.
    """

    max_steps: int = 200

    def __post_init__(self) -> None:
        check_count("Pendulum", "max_steps", self.max_steps)

    @property
    def observation_spec(self) -> jax.ShapeDtypeStruct:
        """float32[3]: cos(theta), sin(theta), theta_dot."""
        return jax.ShapeDtypeStruct((3,), jnp.float32)

    @property
    def action_spec(self) -> Continuous:
        """float32[1], a torque in +-2 N m."""
        return Continuous((1,), -_TORQUE_LIMIT, _TORQUE_LIMIT)

    def reset(self, key: jax.Array) -> tuple[PendulumState, TimeStep]:
        """Starts at any angle, with a small speed."""
        theta, theta_dot = jax.random.uniform(key, (2,), jnp.float32, -1.0, 1.0)
        steps = jnp.zeros((), jnp.int32)
        state = PendulumState(jnp.float32(jnp.pi) * theta, theta_dot, steps)
        return state, restart(self._observe(state))

    def step(self, state: PendulumState, action: Any) -> tuple[PendulumState, TimeStep]:
        """Applies the torque for 0.05 s."""
        u = self.action_spec.check("Pendulum.step", action)[0]
        theta, theta_dot, steps = state
        angle = (theta + jnp.pi) % (2 * jnp.pi) - jnp.pi
        reward = -(angle**2 + 0.1 * theta_dot**2 + 0.001 * u**2)
        theta_acc = 1.5 * _GRAVITY * jnp.sin(theta) + 3 * u
        theta_dot = theta_dot + _TIME_STEP * theta_acc
        theta_dot = jnp.clip(theta_dot, -_SPEED_LIMIT, _SPEED_LIMIT)
        moved = PendulumState(theta + _TIME_STEP * theta_dot, theta_dot, steps + 1)
        return advance(state, moved, reward, ends=self._ends, observe=self._observe)

    def _ends(self, state: PendulumState) -> tuple[Any, Any]:
        return False, state.steps >= self.max_steps

    def _observe(self, state: PendulumState) -> jax.Array:
        theta = state.theta
        return jnp.stack([jnp.cos(theta), jnp.sin(theta), state.theta_dot])

"""CartPole: keep a pole upright on a cart that moves left and right."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from rlax_agents._checks import check_count
from rlax_agents._environment import TimeStep, advance, restart
from rlax_agents._spaces import Discrete

_GRAVITY = 9.8  # m/s^2
_POLE_MASS = 0.1  # kg
_TOTAL_MASS = 1.1  # kg, of pole and cart
_HALF_LENGTH = 0.5  # m, of the pole
_FORCE = 10.0  # N
_TIME_STEP = 0.02  # s
_POSITION_LIMIT = 2.4  # m
_ANGLE_LIMIT = 12 * 2 * jnp.pi / 360  # rad


class CartPoleState(NamedTuple):
    """The state of the mechanics, and how long the episode has run.

    Attributes:
      x: float32, position of the cart in m.
      x_dot: float32, its speed in m/s.
      theta: float32, angle of the pole in rad, 0 upright.
      theta_dot: float32, its speed in rad/s.
      steps: int32, taken in this episode.
    """

    x: jax.Array
    x_dot: jax.Array
    theta: jax.Array
    theta_dot: jax.Array
    steps: jax.Array


@dataclass(frozen=True)
class CartPole:
    """Push a cart left or right so that its pole does not fall, as CartPole-v1.

    Every step has reward 1. The episode terminates when the cart is more than 2.4 m
    from the middle or the pole leans more than 12 degrees, and is truncated, with
    discount 1, after `max_steps`. Actions: 0 push left, 1 push right. The observation
    is float32[4]: x, x_dot, theta, theta_dot. It starts with each uniform in +-0.05.

    Attributes:
      max_steps: after which an episode is truncated.

    Raises:
      ArgumentError: if max_steps is no int of 1 or more.

    Example:
      >>> import jax
      >>> env = CartPole()
      >>> keys = jax.random.split(jax.random.key(0), 8)
      >>> state, timestep = jax.vmap(env.reset)(keys)
      >>> state, timestep = jax.vmap(env.step)(state, jax.numpy.ones(8, int))
      >>> timestep.observation.shape, float(timestep.reward.sum())
      ((8, 4), 8.0)

    References:
      Barto, Sutton and Anderson, 1983, Neuronlike adaptive elements that can solve
      difficult learning control problems; constants and Euler steps as in Gymnasium.
    """

    max_steps: int = 500

    def __post_init__(self) -> None:
        check_count("CartPole", "max_steps", self.max_steps)

    @property
    def observation_spec(self) -> jax.ShapeDtypeStruct:
        """float32[4]: x, x_dot, theta, theta_dot."""
        return jax.ShapeDtypeStruct((4,), jnp.float32)

    @property
    def action_spec(self) -> Discrete:
        """0 push left, 1 push right."""
        return Discrete(2)

    def reset(self, key: jax.Array) -> tuple[CartPoleState, TimeStep]:
        """Starts near the middle, nearly upright, nearly at rest."""
        x, x_dot, theta, theta_dot = jax.random.uniform(
            key, (4,), jnp.float32, -0.05, 0.05
        )
        steps = jnp.zeros((), jnp.int32)
        state = CartPoleState(x, x_dot, theta, theta_dot, steps)
        return state, restart(self._observe(state))

    def step(self, state: CartPoleState, action: Any) -> tuple[CartPoleState, TimeStep]:
        """Pushes for 0.02 s."""
        action = self.action_spec.check("CartPole.step", action)
        force = _FORCE * (2 * action.astype(jnp.float32) - 1)
        x, x_dot, theta, theta_dot, steps = state
        cos, sin = jnp.cos(theta), jnp.sin(theta)
        push = force + _POLE_MASS * _HALF_LENGTH * theta_dot**2 * sin
        theta_acc = (_GRAVITY * sin - cos * push / _TOTAL_MASS) / (
            _HALF_LENGTH * (4 / 3 - _POLE_MASS * cos**2 / _TOTAL_MASS)
        )
        x_acc = (push - _POLE_MASS * _HALF_LENGTH * theta_acc * cos) / _TOTAL_MASS
        moved = CartPoleState(
            x + _TIME_STEP * x_dot,
            x_dot + _TIME_STEP * x_acc,
            theta + _TIME_STEP * theta_dot,
            theta_dot + _TIME_STEP * theta_acc,
            steps + 1,
        )
        return advance(state, moved, 1.0, ends=self._ends, observe=self._observe)

    def _ends(self, state: CartPoleState) -> tuple[Any, Any]:
        inside = jnp.abs(state.x) <= _POSITION_LIMIT
        upright = jnp.abs(state.theta) <= _ANGLE_LIMIT
        return ~(inside & upright), state.steps >= self.max_steps

    def _observe(self, state: CartPoleState) -> jax.Array:
        return jnp.stack(state[:4])

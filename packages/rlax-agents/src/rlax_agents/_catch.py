"""Catch, the smallest environment in which reward comes late."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from rlax_agents._checks import check_count
from rlax_agents._environment import TimeStep, advance, restart
from rlax_agents._spaces import Discrete


class CatchState(NamedTuple):
    """Where ball and paddle are; the paddle is in the bottom row.

    Attributes:
      row: int32, of the ball, 0 at the top.
      column: int32, of the ball.
      paddle: int32, column of the paddle.
    """

    row: jax.Array
    column: jax.Array
    paddle: jax.Array


@dataclass(frozen=True)
class Catch:
    """A ball falls; move the paddle under it, as in bsuite.

    The ball starts in a random column of the top row and falls one row a step. The
    episode terminates when it reaches the bottom, after `rows` - 1 steps, with reward 1
    if the paddle is there and -1 if not; all other rewards are 0. Actions: 0 left,
    1 stay, 2 right. The observation is float32[rows, columns], 1 where the ball and the
    paddle are, else 0.

    Attributes:
      rows: of the board.
      columns: of the board.

    Raises:
      ArgumentError: if there are fewer than 2 rows or 1 column.

    Example:
      >>> import jax
      >>> env = Catch()
      >>> state, timestep = env.reset(jax.random.key(0))
      >>> state, timestep = jax.jit(env.step)(state, 2)
      >>> timestep.observation.shape, float(timestep.observation.sum())
      ((10, 5), 2.0)

    References:
      Mnih et al., 2014, Recurrent Models of Visual Attention, section 4.2,
      https://arxiv.org/abs/1406.6247; Osband et al., 2020, Behaviour Suite for
      Reinforcement Learning, https://arxiv.org/abs/1908.03568.
    """

    rows: int = 10
    columns: int = 5

    def __post_init__(self) -> None:
        check_count("Catch", "rows", self.rows, low=2)
        check_count("Catch", "columns", self.columns)

    @property
    def observation_spec(self) -> jax.ShapeDtypeStruct:
        """float32[rows, columns]."""
        return jax.ShapeDtypeStruct((self.rows, self.columns), jnp.float32)

    @property
    def action_spec(self) -> Discrete:
        """0 left, 1 stay, 2 right."""
        return Discrete(3)

    def reset(self, key: jax.Array) -> tuple[CatchState, TimeStep]:
        """Drops a ball from a random column; the paddle is in the middle."""
        column = jax.random.randint(key, (), 0, self.columns, jnp.int32)
        middle = jnp.full((), self.columns // 2, jnp.int32)
        state = CatchState(jnp.zeros((), jnp.int32), column, middle)
        return state, restart(self._observe(state))

    def step(self, state: CatchState, action: Any) -> tuple[CatchState, TimeStep]:
        """Moves the paddle, then the ball."""
        action = self.action_spec.check("Catch.step", action)
        paddle = jnp.clip(state.paddle + action - 1, 0, self.columns - 1)
        moved = CatchState(state.row + 1, state.column, paddle)
        reward = jnp.where(paddle == state.column, 1.0, -1.0)
        reward = jnp.where(self._ends(moved)[0], reward, 0.0)
        return advance(state, moved, reward, ends=self._ends, observe=self._observe)

    def _ends(self, state: CatchState) -> tuple[Any, Any]:
        return state.row == self.rows - 1, False

    def _observe(self, state: CatchState) -> jax.Array:
        row = jnp.arange(self.rows, dtype=jnp.int32)[:, None]
        column = jnp.arange(self.columns, dtype=jnp.int32)[None]
        ball = (row == state.row) & (column == state.column)
        paddle = (row == self.rows - 1) & (column == state.paddle)
        return (ball | paddle).astype(jnp.float32)

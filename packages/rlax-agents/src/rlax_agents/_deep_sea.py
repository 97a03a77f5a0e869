"""Deep sea: what needs exploration that goes deep, for chance rarely finds it."""

import functools
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from rlax_agents._checks import check_count
from rlax_agents._environment import TimeStep, advance, restart
from rlax_agents._spaces import Discrete

_MOVE_COST = 0.01  # of going right all the way


class DeepSeaState(NamedTuple):
    """Where the diver is.

    Attributes:
      row: int32, the depth; `size` after the last step.
      column: int32.
    """

    row: jax.Array
    column: jax.Array


@dataclass(frozen=True)
class DeepSea:
    """Sink one row a step, go right each time, and find the treasure, as in bsuite.

    The diver starts at the top left of a square and sinks one row a step, one column to
    the left or right. Going right costs 0.01 / size; going right in the last row at the
    far right yields 1. The best return is 0.99, of one sequence of actions in 2^size.
    Which of the two actions means right differs by cell, at random by the seed. The
    episode terminates after `size` steps. The observation is float32[size, size], 1 at
    the diver, all 0 at the end.

    Attributes:
      size: rows and columns.
      seed: of the meaning of actions; None makes 1 go right everywhere.

    Raises:
      ArgumentError: if size is no int of 1 or more, or seed no int of 0 or more.

    Example:
      >>> import jax, jax.numpy as jnp
      >>> env = DeepSea(5, seed=None)
      >>> state, timestep = env.reset(jax.random.key(0))
      >>> _, timesteps = jax.lax.scan(env.step, state, jnp.ones(5, jnp.int32))
      >>> float(timesteps.reward.sum())
      0.99

    References:
      Osband et al., 2019, Deep Exploration via Randomized Value Functions, section 4,
      https://arxiv.org/abs/1703.07608; Osband et al., 2020, Behaviour Suite for
      Reinforcement Learning, https://arxiv.org/abs/1908.03568.
    """

    size: int = 10
    seed: int | None = 0

    def __post_init__(self) -> None:
        check_count("DeepSea", "size", self.size)
        if self.seed is not None:
            check_count("DeepSea", "seed", self.seed, low=0)

    @property
    def observation_spec(self) -> jax.ShapeDtypeStruct:
        """float32[size, size]."""
        return jax.ShapeDtypeStruct((self.size, self.size), jnp.float32)

    @property
    def action_spec(self) -> Discrete:
        """Two actions; which goes right differs by cell."""
        return Discrete(2)

    def reset(self, key: jax.Array) -> tuple[DeepSeaState, TimeStep]:
        """Starts at the top left, always."""
        del key
        state = DeepSeaState(jnp.zeros((), jnp.int32), jnp.zeros((), jnp.int32))
        return state, restart(self._observe(state))

    def step(self, state: DeepSeaState, action: Any) -> tuple[DeepSeaState, TimeStep]:
        """Sinks one row, to the left or right."""
        action = self.action_spec.check("DeepSea.step", action)
        rights = jnp.asarray(right_actions(self.size, self.seed))
        right = action == rights[state.row, state.column]
        found = right & (state.column == self.size - 1)
        cost = jnp.where(right, _MOVE_COST / self.size, 0.0)
        column = jnp.clip(state.column + jnp.where(right, 1, -1), 0, self.size - 1)
        moved = DeepSeaState(state.row + 1, column.astype(jnp.int32))
        reward = found.astype(jnp.float32) - cost
        return advance(state, moved, reward, ends=self._ends, observe=self._observe)

    def _ends(self, state: DeepSeaState) -> tuple[Any, Any]:
        return state.row >= self.size, False

    def _observe(self, state: DeepSeaState) -> jax.Array:
        cells = jnp.arange(self.size, dtype=jnp.int32)
        here = (cells[:, None] == state.row) & (cells[None] == state.column)
        return here.astype(jnp.float32)


@functools.lru_cache(maxsize=64)
def right_actions(size: int, seed: int | None) -> np.ndarray:
    """Which action goes right, int32[size, size]; the array is read-only."""
    if seed is None:
        rights = np.ones((size, size), np.int32)
    else:
        rights = np.random.default_rng(seed).integers(0, 2, (size, size), np.int32)
    rights.flags.writeable = False
    return rights

"""GridWorld: find the way through a maze, whose best values are known exactly."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from rlax_agents._checks import ArgumentError, check_count, check_range
from rlax_agents._environment import TimeStep, advance, restart
from rlax_agents._maze import DEFAULT_MAZE, read_maze
from rlax_agents._spaces import Discrete


class GridWorldState(NamedTuple):
    """Where the walker is.

    Attributes:
      cell: int32, number of the cell, by row, then column.
      steps: int32, taken in this episode.
      key: PRNG key, of which slips are drawn.
    """

    cell: jax.Array
    steps: jax.Array
    key: jax.Array


@dataclass(frozen=True)
class GridWorld:
    """Walk through a maze from the start to the goal.

    Every step has reward `step_reward`, and the one that reaches the goal `goal_reward`
    on top. There the episode terminates; it is truncated, with discount 1, after
    `max_steps`. Actions: 0 up, 1 right, 2 down, 3 left; a move against a wall stays.
    With probability `slip` a move is drawn at random, all four alike. The observation
    is float32[rows, columns], 1 where the walker is, else 0: the maze never changes.

    Attributes:
      maze: lines of one length; # is a wall, . is free, S the start, G the goal.
      max_steps: after which an episode is truncated.
      slip: probability in [0, 1].
      goal_reward: above 0.
      step_reward: 0 or less.

    Raises:
      ArgumentError: for a maze that cannot be walked, or an option out of range.

    Example:
      >>> import jax, jax.numpy as jnp
      >>> env = GridWorld("S.G")
      >>> state, timestep = env.reset(jax.random.key(0))
      >>> _, timesteps = jax.lax.scan(env.step, state, jnp.array([1, 1]))
      >>> [round(float(r), 2) for r in timesteps.reward]
      [-0.01, 0.99]
    """

    maze: str = DEFAULT_MAZE
    max_steps: int = 100
    slip: float = 0.0
    goal_reward: float = 1.0
    step_reward: float = -0.01

    def __post_init__(self) -> None:
        read_maze(self.maze)
        check_count("GridWorld", "max_steps", self.max_steps)
        check_range("GridWorld", "slip", self.slip, 0.0, 1.0)
        if not (0 < self.goal_reward < np.inf and -np.inf < self.step_reward <= 0):
            raise ArgumentError(
                f"GridWorld: goal_reward is {self.goal_reward:g} and step_reward "
                f"{self.step_reward:g}, wanted above 0, and 0 or less"
            )

    @property
    def observation_spec(self) -> jax.ShapeDtypeStruct:
        """float32[rows, columns]."""
        return jax.ShapeDtypeStruct(read_maze(self.maze).shape, jnp.float32)

    @property
    def action_spec(self) -> Discrete:
        """0 up, 1 right, 2 down, 3 left."""
        return Discrete(4)

    def reset(self, key: jax.Array) -> tuple[GridWorldState, TimeStep]:
        """Starts at the start."""
        cell = jnp.full((), read_maze(self.maze).start, jnp.int32)
        state = GridWorldState(cell, jnp.zeros((), jnp.int32), key)
        return state, restart(self._observe(state))

    def step(
        self, state: GridWorldState, action: Any
    ) -> tuple[GridWorldState, TimeStep]:
        """Moves one cell, if no wall is there."""
        action, key = self.action_spec.check("GridWorld.step", action), state.key
        if self.slip:
            key, slips, moves = jax.random.split(key, 3)
            slipped = jax.random.bernoulli(slips, jnp.float32(self.slip))
            action = jnp.where(slipped, self.action_spec.sample(moves), action)
        cell = jnp.asarray(read_maze(self.maze).following)[state.cell, action]
        moved = GridWorldState(cell, state.steps + 1, key)
        arrived = self._ends(moved)[0]
        reward = jnp.where(arrived, self.goal_reward, 0.0) + self.step_reward
        return advance(state, moved, reward, ends=self._ends, observe=self._observe)

    def _ends(self, state: GridWorldState) -> tuple[Any, Any]:
        return state.cell == read_maze(self.maze).goal, state.steps >= self.max_steps

    def _observe(self, state: GridWorldState) -> jax.Array:
        shape = read_maze(self.maze).shape
        cells = jnp.arange(shape[0] * shape[1], dtype=jnp.int32).reshape(shape)
        return (cells == state.cell).astype(jnp.float32)


class OptimalValues(NamedTuple):
    """What the best policy is worth.

    Attributes:
      values: float64[rows, columns], the best expected return of each cell; 0 at the
        goal, NaN at walls and at cells that cannot be reached.
      start: float, the value of the start.
    """

    values: np.ndarray
    start: float


def value_iteration(env: GridWorld, discount: float) -> OptimalValues:
    """Finds the best values of a GridWorld, to 1e-12 of a step, by NumPy.

    This is what an agent's return is measured against. The step limit is left out, as a
    truncated episode's value goes on; where the best policy may take longer than
    `max_steps`, returns that are cut there lie below.

    Args:
      env: the GridWorld.
      discount: in [0, 1]; 1 gives the best mean of the sum of rewards.

    Returns:
      The values.

    Raises:
      ArgumentError: if the discount is out of range.

    Example:
      >>> round(value_iteration(GridWorld("S.G"), 1.0).start, 2)
      0.98

    References:
      Sutton and Barto, 2018, Reinforcement Learning, section 4.4.
    """
    check_range("value_iteration", "discount", discount, 0.0, 1.0)
    maze = read_maze(env.maze)
    arrives = maze.following == maze.goal
    reward = env.step_reward + env.goal_reward * arrives
    values, change = np.zeros(len(maze.following)), np.inf
    while change > 1e-12:
        moved = reward + discount * values[maze.following]
        better = (1 - env.slip) * moved.max(1) + env.slip * moved.mean(1)
        better[maze.goal] = 0.0
        change = np.abs(better - values)[maze.reachable].max()
        values = better
    values = np.where(maze.reachable, values, np.nan).reshape(maze.shape)
    return OptimalValues(values, float(values.flat[maze.start]))

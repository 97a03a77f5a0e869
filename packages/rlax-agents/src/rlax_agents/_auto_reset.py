"""An endless stream of episodes, for rollouts of a fixed length."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax

from rlax_agents._environment import Environment, TimeStep, select
from rlax_agents._spaces import ActionSpec


class Outcome(NamedTuple):
    """What a step led to, and what to act on next. They differ at a LAST step only.

    Attributes:
      timestep: the true outcome, with the last observation of the episode and its
        discount. Learn from this: its value is the one to bootstrap from.
      now: the FIRST timestep of the new episode where the old one ended, else the
        outcome. Act on this.
    """

    timestep: TimeStep
    now: TimeStep


class AutoResetState(NamedTuple):
    """The state of `AutoReset`.

    Attributes:
      env: the state of the environment, in the episode that now runs.
      key: PRNG key, of which the next episode starts.
    """

    env: Any
    key: jax.Array


@dataclass(frozen=True)
class AutoReset:
    """Starts the next episode in the same step in which one ends.

    Environments that are stepped together end their episodes at different times. Here
    each starts anew by itself, and the last observation of the old episode is not lost.
    How an episode starts depends on the key given to `reset` and on the number of
    episodes before it, not on when they ended.

    Attributes:
      env: the environment.

    Example:
      >>> import jax, jax.numpy as jnp
      >>> from rlax_agents import Catch
      >>> env = AutoReset(Catch())
      >>> state, timestep = env.reset(jax.random.key(0))
      >>> state, outcomes = jax.lax.scan(env.step, state, jnp.ones(9, jnp.int32))
      >>> outcomes.timestep.last().nonzero()[0].tolist()
      [8]
      >>> outcomes.now.first().nonzero()[0].tolist()
      [8]
    """

    env: Environment

    @property
    def observation_spec(self) -> Any:
        """Tree of `jax.ShapeDtypeStruct`, as the environment's."""
        return self.env.observation_spec

    @property
    def action_spec(self) -> ActionSpec:
        """As the environment's."""
        return self.env.action_spec

    def reset(self, key: jax.Array) -> tuple[AutoResetState, TimeStep]:
        """Starts the first episode.

        Args:
          key: PRNG key, of which all episodes start.

        Returns:
          The state and the FIRST timestep.
        """
        key, now = jax.random.split(key)
        env, timestep = self.env.reset(now)
        return AutoResetState(env, key), timestep

    def step(
        self, state: AutoResetState, action: Any
    ) -> tuple[AutoResetState, Outcome]:
        """Takes one action, and starts anew where it ended the episode.

        Args:
          state: of `reset` or `step`.
          action: as the environment's `action_spec`.

        Returns:
          The next state and the outcome.

        Raises:
          ArgumentError: for an action that the environment refuses.
        """
        env, timestep = self.env.step(state.env, action)
        fresh, now = self.reset(state.key)
        stays = AutoResetState(env, state.key)
        state, now = select(timestep.last(), (fresh, now), (stays, timestep))
        return state, Outcome(timestep, now)

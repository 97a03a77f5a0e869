"""Any agent, made curious: a bonus for what was seldom seen joins its rewards."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.sharding import PartitionSpec as P

from rlax_agents._agent import Agent, Rollout
from rlax_agents._checks import check_count
from rlax_agents._counts import CountBonus, Counts, simhash
from rlax_agents._mean import Metrics


class BonusState(NamedTuple):
    """The state of an agent with a bonus: the agent's, and the counts."""

    agent: Any
    counts: Counts


@dataclass(frozen=True)
class WithBonus:
    """Adds `beta / sqrt(n)` to the reward of a step to what was seen n times.

    The agent learns from the sum, and is evaluated, as ever, on the environment's own
    rewards; those are what `episode_return` counts, too.

    Attributes:
      agent: any agent.
      beta: the bonus of a first visit.
      bits: of the hash that numbers observations, see `simhash`.
      number: observation[time, batch, ...] -> int32[time, batch] below 2^bits, in place
        of the hash of the first leaf of the observation.

    Raises:
      ArgumentError: if an option is out of range.

    Example:
      >>> import rlax_agents as ra
      >>> agent = ra.WithBonus(ra.DQN(ra.DeepSea(10)), beta=0.1)
      >>> agent.unroll_length
      4

    References:
      Tang et al., 2017, [#Exploration](https://arxiv.org/abs/1611.04717).
    """

    agent: Agent
    _: KW_ONLY
    beta: float
    bits: int = 16
    number: Callable[[Any], jax.Array] | None = None

    def __post_init__(self) -> None:
        check_count("WithBonus", "bits", self.bits)
        _ = self._counter  # which checks beta

    @property
    def unroll_length(self) -> int:
        """The agent's."""
        return self.agent.unroll_length

    def init(self, key: jax.Array, num_envs: int) -> BonusState:
        """Makes the agent's state, and counts of 0."""
        return BonusState(self.agent.init(key, num_envs), self._counter.init())

    def act(self, state: BonusState, key: jax.Array, observation: Any) -> tuple:
        """As the agent does."""
        return self.agent.act(state.agent, key, observation)

    def exploit(self, state: BonusState, observation: Any) -> Any:
        """As the agent does."""
        return self.agent.exploit(state.agent, observation)

    def update(
        self, state: BonusState, key: jax.Array, rollout: Rollout
    ) -> tuple[BonusState, Metrics]:
        """Counts, adds the bonus, and lets the agent learn; `bonus` is its mean."""
        number = self._number(rollout.observation_t)
        counts, bonus = self._counter.update(state.counts, number)
        rollout = rollout._replace(reward_t=rollout.reward_t + bonus)
        learned, metrics = self.agent.update(state.agent, key, rollout)
        return BonusState(learned, counts), {"bonus": bonus.mean(), **metrics}

    def specs(self, axis: str) -> BonusState:
        """The agent's; counts are on every device."""
        whole: Any = P()
        return BonusState(self.agent.specs(axis), whole)

    @property
    def _counter(self) -> CountBonus:
        return CountBonus(2**self.bits, self.beta)

    def _number(self, observation: Any) -> jax.Array:
        if self.number is not None:
            return self.number(observation)
        leaf = jax.tree.leaves(observation)[0]
        leaf = leaf.reshape(*leaf.shape[:2], int(np.prod(leaf.shape[2:])))
        return simhash(leaf.astype(np.float32), bits=self.bits)

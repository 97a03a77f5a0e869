"""What an agent is: pure functions over a state, bound to an environment's specs.

An agent sees whole batches: observations and actions have an axis of environments in
front, and what it learns from an axis of time before that.
"""

from typing import Any, NamedTuple, Protocol

import jax


class Rollout(NamedTuple):
    """What happened in a batch of environments: arrays [time, batch, ...].

    One entry is one step: seen `observation_tm1`, done `action_tm1`, got `reward_t`.

    Attributes:
      observation_tm1: what was seen and acted on.
      action_tm1: what was done.
      reward_t: float32, for it.
      discount_t: float32, 0 where the episode terminated.
      truncated_t: bool, where it was cut short: its discount is above 0.
      last_t: bool, where it ended in either way; the next entry is another episode.
      observation_t: what the step truly led to, not the start of the next episode.
      extras_tm1: what `act` gave beside the actions, such as log-probabilities.
    """

    observation_tm1: Any
    action_tm1: Any
    reward_t: jax.Array
    discount_t: jax.Array
    truncated_t: jax.Array
    last_t: jax.Array
    observation_t: Any
    extras_tm1: Any


class Agent(Protocol):
    """An agent: a frozen description with pure functions over a state.

    `PPO`, `DQN`, `IMPALA` and `MPO` are some; `train` runs whatever has these methods.
    They are frozen dataclasses: hashable, so that `jit` takes them as static arguments,
    and two that are equal share one compiled program.

    Attributes:
      unroll_length: how many steps a rollout has.
    """

    @property
    def unroll_length(self) -> int:
        """How many steps a rollout has."""
        ...

    def init(self, key: jax.Array, num_envs: int) -> Any:
        """Makes the state: parameters, optimiser, and whatever else is carried on."""
        ...

    def act(self, state: Any, key: jax.Array, observation: Any) -> tuple[Any, Any]:
        """Explores: (actions[batch], extras) for observations [batch, ...]."""
        ...

    def exploit(self, state: Any, observation: Any) -> Any:
        """Acts as well as it can: actions[batch]."""
        ...

    def update(
        self, state: Any, key: jax.Array, rollout: Rollout
    ) -> tuple[Any, dict[str, jax.Array]]:
        """Learns from a rollout: (state, metrics), the metrics scalars by name."""
        ...

    def specs(self, axis: str) -> Any:
        """Which parts of the state are split over the environments.

        A tree of `PartitionSpec`, a prefix of the state's, that splits over the mesh
        axis of that name what has an axis of environments, such as a replay, and leaves
        the rest, `PartitionSpec()`, on every device.
        """
        ...

"""The DQN agent: double, with n-step returns, and categorical, by option."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import PartitionSpec as P

from rlax_agents._agent import Rollout
from rlax_agents._checks import ArgumentError, check_count, check_range
from rlax_agents._distributional import categorical_q_loss
from rlax_agents._environment import Environment
from rlax_agents._exploration import epsilon_greedy
from rlax_agents._mean import Metrics
from rlax_agents._networks import action_values, example_of
from rlax_agents._q_learning import double_q_loss, q_loss
from rlax_agents._replay import ReplayState
from rlax_agents._sequences import SequenceReplay
from rlax_agents._spaces import ActionSpec, Discrete
from rlax_agents._transforms import check_atoms
from rlax_agents._windows import (
    Transition,
    example_of_experience,
    scan_if,
    to_experience,
    to_transition,
)


class DQNState(NamedTuple):
    """The state of a DQN agent.

    Attributes:
      params: of the network that learns and acts.
      target: of the one that says what things are worth.
      opt: of the optimiser.
      replay: experience of all environments.
      updates: int32, how many rollouts were learned from.
      steps: int32, how many steps the optimiser has taken.
    """

    params: Any
    target: Any
    opt: Any
    replay: ReplayState
    updates: jax.Array
    steps: jax.Array


class Atoms(NamedTuple):
    """Values that a categorical agent has probabilities of.

    Attributes:
      low: the least.
      high: the greatest.
      count: how many, evenly spaced, 2 or more.
    """

    low: float
    high: float
    count: int = 51

    def values(self) -> np.ndarray:
        """float32[count]."""
        return np.linspace(self.low, self.high, self.count, dtype=np.float32)


@dataclass(frozen=True)
class DQN:
    """Deep Q-learning from a replay, with a target network.

    Attributes:
      env: with discrete actions.
      network: maps [batch, ...] to values [batch, actions], or with atoms to logits
        [batch, actions, atoms]; by default `action_values`.
      optimizer: of optax; by default Adam at 1e-3. It is stepped `learner_steps` times
        an update.
      epsilon: how often to act at random, a number or a schedule by updates.
      unroll_length: steps of each environment between learning.
      learner_steps: steps of the optimiser an update.
      batch_size: transitions of each.
      capacity: steps of each environment that are kept.
      min_steps: steps of each environment before learning starts.
      n_step: rewards before a value.
      double: whether the learning network picks the action that the target's value is
        taken of.
      atoms: makes the agent categorical.
      huber: where a loss of values goes on linearly; None for squares alone.
      target_period: steps of the optimiser between copies to the target network.
      discount: of rewards, times that of the environment.

    Raises:
      ArgumentError: if the actions are not discrete, or a number is out of range.

    Example:
      >>> import rlax_agents as ra
      >>> agent = ra.DQN(ra.Catch(), n_step=3, atoms=ra.Atoms(-1.0, 1.0))
      >>> agent.unroll_length
      4

    References:
      Mnih et al., 2015, [Human-level control through deep reinforcement
      learning](https://www.nature.com/articles/nature14236); van Hasselt et al., 2016,
      [Double Q-learning](https://arxiv.org/abs/1509.06461); Bellemare et al., 2017, [A
      Distributional Perspective](https://arxiv.org/abs/1707.06887).
    """

    env: Environment
    _: KW_ONLY
    network: hk.Transformed | None = None
    optimizer: optax.GradientTransformation | None = None
    epsilon: optax.ScalarOrSchedule = 0.05
    unroll_length: int = 4
    learner_steps: int = 4
    batch_size: int = 128
    capacity: int = 1000
    min_steps: int = 20
    n_step: int = 1
    double: bool = True
    atoms: Atoms | None = None
    huber: float | None = 1.0
    target_period: int = 100
    discount: float = 0.99

    def __post_init__(self) -> None:
        check_discrete("DQN", self.env.action_spec)
        least = max(self.min_steps, self.n_step, self.unroll_length)
        for name in ("unroll_length", "learner_steps", "batch_size", "min_steps"):
            check_count("DQN", name, getattr(self, name))
        check_count("DQN", "n_step", self.n_step)
        check_count("DQN", "target_period", self.target_period)
        check_count("DQN", "capacity", self.capacity, low=least)
        check_range("DQN", "discount", self.discount, 0.0, 1.0)
        if not callable(self.epsilon):
            check_range("DQN", "epsilon", self.epsilon, 0.0, 1.0)
        if self.atoms is not None:
            check_atoms("DQN", "atoms", self.atoms.values())

    def init(self, key: jax.Array, num_envs: int) -> DQNState:
        """Makes the state, with an empty replay."""
        params = self._net.init(key, example_of(self.env.observation_spec))
        example = example_of_experience(self.env)
        return DQNState(
            params,
            jax.tree.map(jnp.copy, params),
            self._optimizer.init(params),
            self._replay(num_envs).init(example),
            jnp.int32(0),
            jnp.int32(0),
        )

    def act(
        self, state: DQNState, key: jax.Array, observation: Any
    ) -> tuple[jax.Array, tuple[()]]:
        """Takes the best actions, and sometimes any; there are no extras."""
        epsilon = self.epsilon
        epsilon = epsilon(state.updates) if callable(epsilon) else epsilon
        return epsilon_greedy(key, self._q(state.params, observation), epsilon), ()

    def exploit(self, state: DQNState, observation: Any) -> jax.Array:
        """Takes the best actions."""
        return self._q(state.params, observation).argmax(-1).astype(jnp.int32)

    def update(
        self, state: DQNState, key: jax.Array, rollout: Rollout
    ) -> tuple[DQNState, Metrics]:
        """Keeps a rollout, and learns from samples once there is enough.

        Before that, the metrics are 0.
        """
        replay = self._replay(rollout.reward_t.shape[1])
        kept = replay.add(state.replay, to_experience(rollout, self.discount))
        state = state._replace(replay=kept, updates=state.updates + 1)

        def learn(state: DQNState, key: jax.Array) -> tuple[DQNState, Metrics]:
            window = replay.sample(kept, key, self.batch_size).items
            return self._learn(state, to_transition(window))

        keys = jax.random.split(key, self.learner_steps)
        return scan_if(
            kept.size >= max(self.min_steps, self.n_step), learn, state, keys
        )

    def specs(self, axis: str) -> DQNState:
        """Each device holds the experience of its own environments."""
        whole: Any = P()
        replay = ReplayState(P(None, axis), whole, whole)
        return DQNState(whole, whole, whole, replay, whole, whole)

    @property
    def _net(self) -> hk.Transformed:
        count = None if self.atoms is None else self.atoms.count
        n = check_discrete("DQN", self.env.action_spec).n
        return self.network or action_values(n, atoms=count)

    @property
    def _optimizer(self) -> optax.GradientTransformation:
        return self.optimizer or optax.adam(1e-3)

    def _replay(self, num_envs: int) -> SequenceReplay:
        return SequenceReplay(self.capacity, rows=num_envs, length=self.n_step)

    def _q(self, params: Any, observation: Any) -> jax.Array:
        q = self._net.apply(params, observation)
        return q if self.atoms is None else jax.nn.softmax(q) @ self.atoms.values()

    def _loss(
        self, params: Any, target: Any, batch: Transition
    ) -> tuple[jax.Array, Metrics]:
        steps = batch.a_tm1, batch.r_t, batch.discount_t
        q_tm1 = self._net.apply(params, batch.observation_tm1)
        q_t = self._net.apply(target, batch.observation_t)
        selector = self._q(params, batch.observation_t) if self.double else None
        if self.atoms is not None:
            z = self.atoms.values()
            return categorical_q_loss(
                q_tm1, *steps, q_t, atoms=z, q_t_selector=selector
            )
        if selector is not None:
            return double_q_loss(q_tm1, *steps, q_t, selector, huber=self.huber)
        return q_loss(q_tm1, *steps, q_t, huber=self.huber)

    def _learn(self, state: DQNState, batch: Transition) -> tuple[DQNState, Metrics]:
        (total, metrics), grads = jax.value_and_grad(self._loss, has_aux=True)(
            state.params, state.target, batch
        )
        changes, opt = self._optimizer.update(grads, state.opt, state.params)
        params = optax.apply_updates(state.params, changes)
        steps = state.steps + 1
        target = optax.periodic_update(params, state.target, steps, self.target_period)
        after = state._replace(params=params, target=target, opt=opt, steps=steps)
        return after, {"loss": total, **metrics}


def check_discrete(where: str, spec: ActionSpec) -> Discrete:
    """The spec of an environment's actions, which have to be discrete."""
    if not isinstance(spec, Discrete):
        raise ArgumentError(
            f"{where}: env has actions {spec}, wanted Discrete ones; "
            f"type MPO(env) or PPO(env) for continuous actions"
        )
    return spec

"""The MPO agent: off policy, for continuous actions and discrete ones."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import haiku as hk
import jax
import jax.numpy as jnp
import optax
from jax.sharding import PartitionSpec as P

from rlax_agents._agent import Rollout
from rlax_agents._checks import check_count, check_range
from rlax_agents._distributions import Categorical, DiagonalGaussian
from rlax_agents._duals import MPODuals, init_duals, project_duals
from rlax_agents._environment import Environment
from rlax_agents._mean import Metrics
from rlax_agents._mpo import EPSILON_KL, mpo_loss
from rlax_agents._networks import (
    action_critic,
    action_values,
    example_of,
    flatten_actions,
    stochastic_policy,
    unflatten_actions,
)
from rlax_agents._replay import ReplayState
from rlax_agents._sequences import SequenceReplay
from rlax_agents._spaces import Continuous, Discrete
from rlax_agents._td import td_loss
from rlax_agents._windows import (
    Transition,
    example_of_experience,
    scan_if,
    to_experience,
    to_transition,
)


class MPOParams(NamedTuple):
    """What MPO optimises."""

    policy: Any
    critic: Any
    duals: MPODuals


class MPOState(NamedTuple):
    """The state of an MPO agent.

    Attributes:
      params: that learn; their policy acts.
      target: of the old policy and critic, copied from time to time.
      opt: of the optimiser of policy and critic, and of that of the duals.
      replay: experience of all environments.
      steps: int32, how many steps the optimiser has taken.
    """

    params: MPOParams
    target: MPOParams
    opt: Any
    replay: ReplayState
    steps: jax.Array


@dataclass(frozen=True)
class MPO:
    """Maximum a posteriori policy optimisation from a replay.

    The critic learns from the values of actions that the old policy draws. The policy
    is fitted to drawn actions, or to all of them where they are discrete, weighted by
    their values, within bounds on its divergence from the old one.

    Attributes:
      env: with continuous or discrete actions.
      policy_network: maps [batch, ...] to a policy of flat actions; by default
        `stochastic_policy`.
      critic_network: maps ([batch, ...], actions[batch, size]) to values [batch]; for
        discrete actions [batch, ...] to [batch, actions]. By default `action_critic`
        and `action_values`.
      optimizer: of policy and critic; by default gradients clipped to norm 40 and Adam
        at 1e-3.
      dual_optimizer: of the dual variables; by default Adam at 1e-2.
      unroll_length: steps of each environment between learning.
      learner_steps: steps of the optimiser an update.
      batch_size: transitions of each.
      samples: actions drawn in each state.
      capacity: steps of each environment that are kept.
      min_steps: steps of each environment before learning starts.
      n_step: rewards before a value.
      target_period: steps of the optimiser between copies to the target.
      epsilon: how far the weighted actions may diverge from the old policy.
      epsilon_kl: how far the policy may, see `mpo_loss`.
      discount: of rewards, times that of the environment.

    Raises:
      ArgumentError: if a number is out of range.

    Example:
      >>> import rlax_agents as ra
      >>> ra.MPO(ra.Pendulum()).samples
      16

    References:
      Abdolmaleki et al., 2018, [Maximum a Posteriori Policy
      Optimisation](https://arxiv.org/abs/1806.06920).
    """

    env: Environment
    _: KW_ONLY
    policy_network: hk.Transformed | None = None
    critic_network: hk.Transformed | None = None
    optimizer: optax.GradientTransformation | None = None
    dual_optimizer: optax.GradientTransformation | None = None
    unroll_length: int = 4
    learner_steps: int = 4
    batch_size: int = 128
    samples: int = 16
    capacity: int = 10_000
    min_steps: int = 100
    n_step: int = 1
    target_period: int = 100
    epsilon: float = 0.1
    epsilon_kl: float | tuple[tuple[str, float], ...] = tuple(EPSILON_KL.items())
    discount: float = 0.99

    def __post_init__(self) -> None:
        for name in ("unroll_length", "learner_steps", "batch_size", "min_steps"):
            check_count("MPO", name, getattr(self, name))
        for name in ("samples", "n_step", "target_period"):
            check_count("MPO", name, getattr(self, name))
        least = max(self.min_steps, self.n_step, self.unroll_length)
        check_count("MPO", "capacity", self.capacity, low=least)
        check_range("MPO", "discount", self.discount, 0.0, 1.0)
        check_range("MPO", "epsilon", self.epsilon, 0.0)

    def init(self, key: jax.Array, num_envs: int) -> MPOState:
        """Makes the state, with an empty replay."""
        k_policy, k_critic = jax.random.split(key)
        seen = example_of(self.env.observation_spec)
        size = [] if self._discrete else [jnp.zeros((1, self._size), jnp.float32)]
        kind = Categorical if self._discrete else DiagonalGaussian
        params = MPOParams(
            self._policy.init(k_policy, seen),
            self._critic.init(k_critic, seen, *size),
            init_duals(kind),
        )
        nets, duals = self._optimizers
        return MPOState(
            params,
            jax.tree.map(jnp.copy, params),
            (nets.init(params[:2]), duals.init(params.duals)),
            self._replay(num_envs).init(example_of_experience(self.env)),
            jnp.int32(0),
        )

    def act(
        self, state: MPOState, key: jax.Array, observation: Any
    ) -> tuple[Any, tuple[()]]:
        """Draws actions of the policy; there are no extras."""
        a = self._policy.apply(state.params.policy, observation).sample(key)
        return unflatten_actions(a, self.env.action_spec), ()

    def exploit(self, state: MPOState, observation: Any) -> Any:
        """Takes the most likely actions."""
        a = self._policy.apply(state.params.policy, observation).mode()
        return unflatten_actions(a, self.env.action_spec)

    def update(
        self, state: MPOState, key: jax.Array, rollout: Rollout
    ) -> tuple[MPOState, Metrics]:
        """Keeps a rollout, and learns from samples once there is enough.

        Before that, the metrics are 0.
        """
        replay = self._replay(rollout.reward_t.shape[1])
        kept = replay.add(state.replay, to_experience(rollout, self.discount))
        state = state._replace(replay=kept)

        def learn(state: MPOState, key: jax.Array) -> tuple[MPOState, Metrics]:
            k_sample, k_learn = jax.random.split(key)
            window = replay.sample(kept, k_sample, self.batch_size).items
            return self._learn(state, k_learn, to_transition(window))

        keys = jax.random.split(key, self.learner_steps)
        ready = kept.size >= max(self.min_steps, self.n_step)
        return scan_if(ready, learn, state, keys)

    def specs(self, axis: str) -> MPOState:
        """Each device holds the experience of its own environments."""
        whole: Any = P()
        replay = ReplayState(P(None, axis), whole, whole)
        return MPOState(whole, whole, whole, replay, whole)

    @property
    def _discrete(self) -> bool:
        return isinstance(self.env.action_spec, Discrete)

    @property
    def _size(self) -> int:
        size = 1
        for length in self.env.action_spec.shape:
            size *= length
        return size

    @property
    def _policy(self) -> hk.Transformed:
        return self.policy_network or stochastic_policy(self.env.action_spec)

    @property
    def _critic(self) -> hk.Transformed:
        if self.critic_network is not None:
            return self.critic_network
        spec = self.env.action_spec
        return action_values(spec.n) if isinstance(spec, Discrete) else action_critic()

    @property
    def _optimizers(self) -> tuple[optax.GradientTransformation, ...]:
        clip = optax.clip_by_global_norm(40.0)
        nets = self.optimizer or optax.chain(clip, optax.adam(1e-3))
        return nets, self.dual_optimizer or optax.adam(1e-2)

    def _replay(self, num_envs: int) -> SequenceReplay:
        return SequenceReplay(self.capacity, rows=num_envs, length=self.n_step)

    def _judge(self, params: MPOParams, observation: Any, a: jax.Array) -> jax.Array:
        """Values of sampled actions [samples, batch, size], as they are when taken."""
        if isinstance(spec := self.env.action_spec, Continuous):
            low, high = (bound.ravel() for bound in spec.bounds())
            a = jnp.clip(a, low[None, None], high[None, None])
        return jax.vmap(self._critic.apply, (None, None, 0))(
            params.critic, observation, a
        )

    def _draw(
        self, target: MPOParams, key: jax.Array, observation: Any
    ) -> tuple[Any, jax.Array | None, jax.Array]:
        """The old policy, actions of it, and their values; or all actions' values."""
        pi = self._policy.apply(target.policy, observation)
        if self._discrete:
            return pi, None, self._critic.apply(target.critic, observation)
        a = jax.vmap(pi.sample)(jax.random.split(key, self.samples))
        return pi, a, self._judge(target, observation, a)

    def _loss(
        self, params: MPOParams, target: MPOParams, key: jax.Array, batch: Transition
    ) -> tuple[jax.Array, Metrics]:
        k_tm1, k_t = jax.random.split(key)
        old, a, q = self._draw(target, k_tm1, batch.observation_tm1)
        pi = self._policy.apply(params.policy, batch.observation_tm1)
        kl = self.epsilon_kl
        fit, metrics = mpo_loss(
            params.duals,
            pi,
            old,
            a,
            q,
            epsilon=self.epsilon,
            epsilon_kl=dict(kl) if isinstance(kl, tuple) else kl,
        )
        pi_t, _, q_t = self._draw(target, k_t, batch.observation_t)
        if self._discrete:
            v_t = (jax.nn.softmax(pi_t.logits) * q_t).sum(-1)
            q_all = self._critic.apply(params.critic, batch.observation_tm1)
            q_tm1 = jnp.take_along_axis(q_all, batch.a_tm1[:, None], 1)[:, 0]
        else:
            v_t = q_t.mean(0)
            taken = flatten_actions(batch.a_tm1, self.env.action_spec)[None]
            q_tm1 = self._judge(params, batch.observation_tm1, taken)[0]
        critic, _ = td_loss(q_tm1, batch.r_t, batch.discount_t, v_t)
        return fit + critic, {"critic_loss": critic, **metrics}

    def _learn(
        self, state: MPOState, key: jax.Array, batch: Transition
    ) -> tuple[MPOState, Metrics]:
        params, (of_nets, of_duals) = state.params, state.opt
        (total, metrics), grads = jax.value_and_grad(self._loss, has_aux=True)(
            params, state.target, key, batch
        )
        nets, duals = self._optimizers
        changes, of_nets = nets.update(grads[:2], of_nets, params[:2])
        policy, critic = _apply(params[:2], changes)
        changes, of_duals = duals.update(grads.duals, of_duals, params.duals)
        bounded = project_duals(_apply(params.duals, changes))
        params, steps = MPOParams(policy, critic, bounded), state.steps + 1
        target: Any = optax.periodic_update(
            params, state.target, steps, self.target_period
        )
        after = MPOState(params, target, (of_nets, of_duals), state.replay, steps)
        return after, {"loss": total, **metrics}


def _apply(params: Any, changes: Any) -> Any:
    return optax.apply_updates(params, changes)

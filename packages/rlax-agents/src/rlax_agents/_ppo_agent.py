"""The PPO agent: rollouts of many environments, a few epochs on each."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import haiku as hk
import jax
import jax.numpy as jnp
import optax
from jax.sharding import PartitionSpec as P

from rlax_agents._agent import Rollout
from rlax_agents._checks import ArgumentError, check_count, check_range
from rlax_agents._environment import Environment
from rlax_agents._mean import Metrics
from rlax_agents._networks import (
    actor_critic,
    example_of,
    flatten_actions,
    over_steps,
    unflatten_actions,
)
from rlax_agents._ppo import normalise_advantages, ppo_loss
from rlax_agents._returns import gae


class PPOState(NamedTuple):
    """The state of a PPO agent: parameters and optimiser."""

    params: Any
    opt: Any


class Batch(NamedTuple):
    """What a PPO epoch goes over: arrays [time, batch, ...]."""

    observation_tm1: Any
    a_tm1: jax.Array
    log_mu_tm1: jax.Array
    v_mu_tm1: jax.Array
    adv_tm1: jax.Array
    target_tm1: jax.Array


@dataclass(frozen=True)
class PPO:
    """Proximal policy optimisation with a clipped ratio.

    A minibatch is a random set of the rollout's steps in all environments, rather than
    of single transitions, so that no data move between devices; advantages are
    normalised in each.

    Attributes:
      env: whose actions and observations the agent is for.
      network: maps [batch, ...] to (policy, v[batch]); by default `actor_critic`.
      optimizer: of optax, with its schedule; by default gradients clipped to norm 0.5
        and Adam at 3e-4. It is stepped `epochs * minibatches` times an update.
      unroll_length: steps of a rollout, a multiple of `minibatches`.
      epochs: how often each rollout is gone over.
      minibatches: into how many parts.
      discount: of rewards, times that of the environment.
      lambda_: of the advantages.
      clip_epsilon: how far a ratio of probabilities may leave 1 and still gain.
      value_cost: factor of the value loss.
      entropy_cost: factor of the entropy.
      clip_value: how far values may leave those of acting time and still gain, or None.

    Raises:
      ArgumentError: if minibatches do not divide unroll_length, or a number is out of
        range.

    Example:
      >>> import rlax_agents as ra
      >>> agent = ra.PPO(ra.CartPole(), unroll_length=32)
      >>> agent.unroll_length
      32

    References:
      Schulman et al., 2017, [Proximal Policy Optimization
      Algorithms](https://arxiv.org/abs/1707.06347).
    """

    env: Environment
    _: KW_ONLY
    network: hk.Transformed | None = None
    optimizer: optax.GradientTransformation | None = None
    unroll_length: int = 128
    epochs: int = 4
    minibatches: int = 4
    discount: float = 0.99
    lambda_: float = 0.95
    clip_epsilon: float = 0.2
    value_cost: float = 0.5
    entropy_cost: float = 0.01
    clip_value: float | None = None

    def __post_init__(self) -> None:
        for name in ("unroll_length", "epochs", "minibatches"):
            check_count("PPO", name, getattr(self, name))
        for name in ("discount", "lambda_"):
            check_range("PPO", name, getattr(self, name), 0.0, 1.0)
        for name in ("clip_epsilon", "clip_value"):
            check_range("PPO", name, getattr(self, name), 0.0)
        steps, parts = self.unroll_length, self.minibatches
        if steps % parts:
            raise ArgumentError(
                f"PPO: unroll_length is {steps}, wanted a multiple of minibatches, "
                f"{parts}; type unroll_length={-(-steps // parts) * parts}"
            )

    def init(self, key: jax.Array, num_envs: int) -> PPOState:
        """Makes the state."""
        del num_envs
        params = self._net.init(key, example_of(self.env.observation_spec))
        return PPOState(params, self._optimizer.init(params))

    def act(
        self, state: PPOState, key: jax.Array, observation: Any
    ) -> tuple[Any, tuple[jax.Array, jax.Array]]:
        """Draws actions; the extras are their log-probabilities, and the values."""
        policy, v = self._net.apply(state.params, observation)
        a = policy.sample(key)
        return unflatten_actions(a, self.env.action_spec), (policy.log_prob(a), v)

    def exploit(self, state: PPOState, observation: Any) -> Any:
        """Takes the most likely actions."""
        policy, _ = self._net.apply(state.params, observation)
        return unflatten_actions(policy.mode(), self.env.action_spec)

    def update(
        self, state: PPOState, key: jax.Array, rollout: Rollout
    ) -> tuple[PPOState, dict[str, jax.Array]]:
        """Goes over a rollout some times."""
        batch = self._prepare(state.params, rollout)

        def minibatch(state: PPOState, steps: jax.Array) -> tuple[PPOState, dict]:
            return self._learn(state, jax.tree.map(lambda x: x[steps], batch))

        def epoch(state: PPOState, key: jax.Array) -> tuple[PPOState, dict]:
            order = jax.random.permutation(key, self.unroll_length)
            return jax.lax.scan(minibatch, state, order.reshape(self.minibatches, -1))

        state, metrics = jax.lax.scan(epoch, state, jax.random.split(key, self.epochs))
        return state, jax.tree.map(jnp.mean, metrics)

    def specs(self, axis: str) -> P:
        """All of the state is on every device."""
        del axis
        return P()

    @property
    def _net(self) -> hk.Transformed:
        return self.network or actor_critic(self.env.action_spec)

    @property
    def _optimizer(self) -> optax.GradientTransformation:
        clip = optax.clip_by_global_norm(0.5)
        return self.optimizer or optax.chain(clip, optax.adam(3e-4))

    def _prepare(self, params: Any, rollout: Rollout) -> Batch:
        log_mu_tm1, v_mu_tm1 = rollout.extras_tm1
        _, v_t = over_steps(self._net.apply, params, rollout.observation_t)
        adv_tm1 = gae(
            rollout.reward_t,
            self.discount * rollout.discount_t,
            v_mu_tm1,
            v_t,
            lambda_=self.lambda_,
            truncated_t=rollout.truncated_t,
        )
        return Batch(
            rollout.observation_tm1,
            flatten_actions(rollout.action_tm1, self.env.action_spec),
            log_mu_tm1,
            v_mu_tm1,
            adv_tm1,
            adv_tm1 + v_mu_tm1,
        )

    def _loss(self, params: Any, batch: Batch) -> tuple[jax.Array, Metrics]:
        policy, v_tm1 = over_steps(self._net.apply, params, batch.observation_tm1)
        return ppo_loss(
            policy,
            batch.a_tm1,
            batch.log_mu_tm1,
            v_tm1,
            normalise_advantages(batch.adv_tm1),
            batch.target_tm1,
            clip_epsilon=self.clip_epsilon,
            value_cost=self.value_cost,
            entropy_cost=self.entropy_cost,
            clip_value=self.clip_value,
            v_mu_tm1=None if self.clip_value is None else batch.v_mu_tm1,
        )

    def _learn(self, state: PPOState, batch: Batch) -> tuple[PPOState, Metrics]:
        (total, metrics), grads = jax.value_and_grad(self._loss, has_aux=True)(
            state.params, batch
        )
        changes, opt = self._optimizer.update(grads, state.opt, state.params)
        params = optax.apply_updates(state.params, changes)
        return PPOState(params, opt), {"loss": total, **metrics}

"""An actor-critic of the IMPALA kind: one V-trace step a rollout, or a few."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import haiku as hk
import jax
import jax.numpy as jnp
import optax
from jax.sharding import PartitionSpec as P

from rlax_agents._agent import Rollout
from rlax_agents._checks import check_count, check_range
from rlax_agents._environment import Environment
from rlax_agents._impala import impala_loss
from rlax_agents._mean import Metrics
from rlax_agents._networks import (
    actor_critic,
    example_of,
    flatten_actions,
    over_steps,
    unflatten_actions,
)


class ImpalaState(NamedTuple):
    """The state of an IMPALA agent: parameters, optimiser, and the actors' copy."""

    params: Any
    opt: Any
    acting: Any
    updates: jax.Array


@dataclass(frozen=True)
class IMPALA:
    """An actor-critic that corrects for actors that lag behind the learner.

    With `actor_period=1` the actors have the newest parameters, and it is an advantage
    actor-critic. With more they act on older ones, as actors on other machines would,
    and V-trace makes up for it.

    Attributes:
      env: whose actions and observations the agent is for.
      network: maps [batch, ...] to (policy, v[batch]); by default `actor_critic`.
      optimizer: of optax; by default gradients clipped to norm 40 and RMSProp at 1e-3.
      unroll_length: steps of a rollout.
      discount: of rewards, times that of the environment.
      lambda_: of the traces.
      value_cost: factor of the value loss.
      entropy_cost: factor of the entropy.
      actor_period: how many updates the actors keep their parameters.

    Raises:
      ArgumentError: if a number is out of range.

    Example:
      >>> import rlax_agents as ra
      >>> ra.IMPALA(ra.Catch()).unroll_length
      20

    References:
      Espeholt et al., 2018, [IMPALA](https://arxiv.org/abs/1802.01561).
    """

    env: Environment
    _: KW_ONLY
    network: hk.Transformed | None = None
    optimizer: optax.GradientTransformation | None = None
    unroll_length: int = 20
    discount: float = 0.99
    lambda_: float = 1.0
    value_cost: float = 0.5
    entropy_cost: float = 0.01
    actor_period: int = 1

    def __post_init__(self) -> None:
        for name in ("unroll_length", "actor_period"):
            check_count("IMPALA", name, getattr(self, name))
        for name in ("discount", "lambda_"):
            check_range("IMPALA", name, getattr(self, name), 0.0, 1.0)

    def init(self, key: jax.Array, num_envs: int) -> ImpalaState:
        """Makes the state."""
        del num_envs
        params = self._net.init(key, example_of(self.env.observation_spec))
        acting = jax.tree.map(jnp.copy, params)
        return ImpalaState(params, self._optimizer.init(params), acting, jnp.int32(0))

    def act(
        self, state: ImpalaState, key: jax.Array, observation: Any
    ) -> tuple[Any, jax.Array]:
        """Draws actions; the extras are their log-probabilities."""
        policy, _ = self._net.apply(state.acting, observation)
        a = policy.sample(key)
        return unflatten_actions(a, self.env.action_spec), policy.log_prob(a)

    def exploit(self, state: ImpalaState, observation: Any) -> Any:
        """Takes the most likely actions."""
        policy, _ = self._net.apply(state.params, observation)
        return unflatten_actions(policy.mode(), self.env.action_spec)

    def update(
        self, state: ImpalaState, key: jax.Array, rollout: Rollout
    ) -> tuple[ImpalaState, Metrics]:
        """Takes one step of the optimiser on a rollout."""
        del key
        (total, metrics), grads = jax.value_and_grad(self._loss, has_aux=True)(
            state.params, rollout
        )
        changes, opt = self._optimizer.update(grads, state.opt, state.params)
        params = optax.apply_updates(state.params, changes)
        updates = state.updates + 1
        acting = optax.periodic_update(params, state.acting, updates, self.actor_period)
        return ImpalaState(params, opt, acting, updates), {"loss": total, **metrics}

    def specs(self, axis: str) -> P:
        """All of the state is on every device."""
        del axis
        return P()

    @property
    def _net(self) -> hk.Transformed:
        return self.network or actor_critic(self.env.action_spec)

    @property
    def _optimizer(self) -> optax.GradientTransformation:
        clip = optax.clip_by_global_norm(40.0)
        return self.optimizer or optax.chain(clip, optax.rmsprop(1e-3, eps=1e-3))

    def _loss(self, params: Any, rollout: Rollout) -> tuple[jax.Array, Metrics]:
        policy, v_tm1 = over_steps(self._net.apply, params, rollout.observation_tm1)
        _, v_t = over_steps(self._net.apply, params, rollout.observation_t)
        return impala_loss(
            policy,
            flatten_actions(rollout.action_tm1, self.env.action_spec),
            rollout.extras_tm1,
            v_tm1,
            v_t,
            rollout.reward_t,
            self.discount * rollout.discount_t,
            lambda_=self.lambda_,
            value_cost=self.value_cost,
            entropy_cost=self.entropy_cost,
            truncated_t=rollout.truncated_t,
        )

"""What off-policy agents learn from: n steps of one environment, as one transition."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from rlax_agents._agent import Rollout
from rlax_agents._environment import Environment


class Experience(NamedTuple):
    """One step as it is kept in a replay; in windows [time, batch, ...]."""

    observation_tm1: Any
    a_tm1: Any
    r_t: jax.Array
    discount_t: jax.Array
    last_t: jax.Array
    observation_t: Any


class Transition(NamedTuple):
    """Some steps as one: what the target `r_t + discount_t * v(observation_t)` needs.

    Attributes:
      observation_tm1: [batch, ...], before the first step.
      a_tm1: [batch, ...], the first action.
      r_t: float[batch], the discounted sum of rewards.
      discount_t: float[batch], the product of discounts; 0 where the episode ended.
      observation_t: [batch, ...], after the last step.
    """

    observation_tm1: Any
    a_tm1: Any
    r_t: jax.Array
    discount_t: jax.Array
    observation_t: Any


def example_of_experience(env: Environment) -> Experience:
    """One step of an environment, as specs."""
    seen, spec = env.observation_spec, env.action_spec
    number: Any = jax.ShapeDtypeStruct((), jnp.float32)
    action = jax.ShapeDtypeStruct(spec.shape, spec.dtype)
    flag: Any = jax.ShapeDtypeStruct((), jnp.bool_)
    return Experience(seen, action, number, number, flag, seen)


def to_experience(rollout: Rollout, discount: float) -> Experience:
    """The part of a rollout that is kept, with the agent's discount in it."""
    return Experience(
        rollout.observation_tm1,
        rollout.action_tm1,
        rollout.reward_t,
        discount * rollout.discount_t,
        rollout.last_t,
        rollout.observation_t,
    )


def to_transition(window: Experience) -> Transition:
    """Sums up a window, as far as its first episode goes.

    Where an episode ends within the window, by termination or truncation, the
    transition ends there too: its observation is the last of that episode.
    """
    last = window.last_t.astype(jnp.int32)
    counts = jnp.cumsum(last, 0) - last == 0  # up to the first that ends an episode
    discounts = jnp.where(counts, window.discount_t, 1.0)
    ones = jnp.ones_like(discounts[:1])
    before = jnp.cumprod(jnp.concatenate([ones, discounts[:-1]]), 0)
    end = counts.sum(0, dtype=jnp.int32) - 1

    def at_end(x: jax.Array) -> jax.Array:
        index = end.reshape(1, -1, *[1] * (x.ndim - 2))
        return jnp.take_along_axis(x, index, 0)[0]

    return Transition(
        jax.tree.map(lambda x: x[0], window.observation_tm1),
        jax.tree.map(lambda x: x[0], window.a_tm1),
        (jnp.where(counts, before * window.r_t, 0.0)).sum(0),
        discounts.prod(0),
        jax.tree.map(at_end, window.observation_t),
    )


def scan_if(
    ready: jax.Array, learn: Callable[..., tuple[Any, Any]], state: Any, keys: jax.Array
) -> tuple[Any, dict[str, jax.Array]]:
    """Learns once a key and gives the mean of the metrics; or neither, and zeros."""

    def learn_some(state: Any) -> tuple[Any, dict]:
        state, metrics = jax.lax.scan(learn, state, keys)
        return state, jax.tree.map(lambda x: x.mean(0), metrics)

    def wait(state: Any) -> tuple[Any, dict]:
        _, metrics = jax.eval_shape(learn_some, state)
        return state, jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), metrics)

    return jax.lax.cond(ready, learn_some, wait, state)

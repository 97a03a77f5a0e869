"""Evaluation: whole episodes without exploration, apart from training."""

import functools
from typing import Any

import jax
import jax.numpy as jnp

from rlax_agents._agent import Agent
from rlax_agents._checks import check_count
from rlax_agents._environment import Environment


def evaluate(
    agent: Agent,
    env: Environment,
    state: Any,
    *,
    key: jax.Array,
    episodes: int = 100,
    max_steps: int = 10_000,
) -> jax.Array:
    """Returns of whole episodes, each from a start of its own, with `agent.exploit`.

    All episodes run side by side until the last one ends, so that short ones do not
    count for more than long ones.

    Args:
      agent: the agent.
      env: one environment, such as that of training.
      state: the agent's state, `trained.state.agent`.
      key: PRNG key, of which the episodes start.
      episodes: how many.
      max_steps: where episodes that do not end are left; they count with what they got.

    Returns:
      float32[episodes], undiscounted.

    Raises:
      ArgumentError: if a number is no int of 1 or more.

    Example:
      >>> import jax, rlax_agents as ra
      >>> env = ra.Catch()
      >>> agent = ra.PPO(env)
      >>> state = agent.init(jax.random.key(0), num_envs=1)
      >>> evaluate(agent, env, state, key=jax.random.key(1), episodes=5).shape
      (5,)
    """
    episodes = check_count("evaluate", "episodes", episodes)
    max_steps = check_count("evaluate", "max_steps", max_steps)
    return _evaluate(agent, env, episodes, max_steps, state, key)


@functools.partial(jax.jit, static_argnums=(0, 1, 2, 3))
def _evaluate(  # noqa: PLR0917 (jit's static arguments go by position)
    agent: Agent,
    env: Environment,
    episodes: int,
    max_steps: int,
    state: Any,
    key: jax.Array,
) -> jax.Array:
    envs, now = jax.vmap(env.reset)(jax.random.split(key, episodes))

    def goes_on(carry: tuple) -> jax.Array:
        _, now, _, step = carry
        return (step < max_steps) & ~now.last().all()

    def step(carry: tuple) -> tuple:
        envs, now, returns, step = carry
        over = now.last()
        envs, now = jax.vmap(env.step)(envs, agent.exploit(state, now.observation))
        # After its end an environment may say what it likes: the episode is over.
        step_type = jnp.where(over, jnp.int32(2), now.step_type)
        returns += jnp.where(over, 0, now.reward)
        return envs, now._replace(step_type=step_type), returns, step + 1

    carry = envs, now, jnp.zeros(episodes, jnp.float32), jnp.int32(0)
    return jax.lax.while_loop(goes_on, step, carry)[2]

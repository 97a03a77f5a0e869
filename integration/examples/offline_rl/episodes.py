"""Episodes of CartPole in a Parquet file: half of the steps skilled, half at random.

The columns are those of `rlax_agents.to_columns`, a row a step, and `skilled`, which
says whose step it is. Only whole episodes are kept.
"""

from collections.abc import Callable
from pathlib import Path

import jax
import numpy as np

import arrow_jax
import rlax_agents as ra

ENV = ra.CartPole()
Act = Callable[[jax.Array, jax.Array], jax.Array]


def play(act: Act, key: jax.Array, *, num_envs: int, steps: int) -> ra.Rollout:
    """Steps environments side by side, each from a start of its own.

    Args:
      act: (key, observations[batch, 4]) -> actions[batch].
      key: PRNG key.
      num_envs: how many environments.
      steps: of each.

    Returns:
      What happened, [steps, num_envs, ...].
    """
    env = ra.AutoReset(ENV)
    k_start, k_act = jax.random.split(key)

    def step(carry: tuple, key: jax.Array) -> tuple[tuple, ra.Rollout]:
        state, now = carry
        action = act(key, now.observation)
        state, (true, after) = jax.vmap(env.step)(state, action)
        row = now.observation, action, true.reward, true.discount
        ends = true.truncated(), true.last()
        return (state, after), ra.Rollout(*row, *ends, true.observation, ())

    @jax.jit
    def run() -> ra.Rollout:
        start = jax.vmap(env.reset)(jax.random.split(k_start, num_envs))
        return jax.lax.scan(step, start, jax.random.split(k_act, steps))[1]

    return run()


def whole_episodes(rollout: ra.Rollout) -> list[dict[str, np.ndarray]]:
    """The episodes of a rollout that are there from start to end."""
    episodes = ra.to_episodes(ra.to_columns(rollout, from_start=True))
    return [episode for episode in episodes if episode["complete"].all()]


def write_episodes(
    path: str | Path, *, updates: int, num_envs: int = 32, steps: int = 1000
) -> dict[str, np.ndarray]:
    """Trains a PPO agent, plays it and a random one, and writes their episodes.

    Args:
      path: of the Parquet file.
      updates: of the PPO agent, whose recipe has 400; fewer make it less skilled.
      num_envs: environments of each of the two.
      steps: of each environment; an episode has 500 at most.

    Returns:
      The columns that were written.
    """
    found = ra.recipe("ppo", "cartpole")
    k_train, k_skilled, k_random = jax.random.split(jax.random.key(0), 3)
    ppo = ra.train(
        found.agent, ENV, updates=updates, num_envs=found.num_envs, key=k_train
    ).state.agent

    def skilled(key: jax.Array, observation: jax.Array) -> jax.Array:
        return found.agent.act(ppo, key, observation)[0]

    def at_random(key: jax.Array, observation: jax.Array) -> jax.Array:
        keys = jax.random.split(key, len(observation))
        return jax.vmap(ENV.action_spec.sample)(keys)

    episodes = []
    for act, key in ((skilled, k_skilled), (at_random, k_random)):
        rollout = play(act, key, num_envs=num_envs, steps=steps)
        for episode in whole_episodes(rollout):
            who = np.full(len(episode["step"]), act is skilled)
            episodes.append(episode | {"skilled": who})
    columns = ra.from_episodes(episodes)
    arrow_jax.write_parquet(path, columns)
    return columns


def read_episodes(path: str | Path) -> list[dict[str, np.ndarray]]:
    """The episodes of a file, bit by bit as they were written."""
    return ra.to_episodes(arrow_jax.read_parquet(path).with_format("numpy")[:])

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from agents import Recorder

import rlax_agents as ra
from rlax_agents import ArgumentError

KEY = jax.random.key(0)
step = jax.jit(ra.train_step, static_argnums=(0, 1))


def cell(observation):
    rows = observation.reshape(*observation.shape[:2], -1)
    return rows.argmax(-1).astype(jnp.int32)


def test_rewards_get_a_bonus_that_falls_with_visits():
    env = ra.GridWorld("S..G", step_reward=0.0)
    inner = Recorder(env, action=1)
    agent = ra.WithBonus(inner, beta=1.0, bits=3, number=cell)
    state = ra.init_train(agent, env, KEY, 2)
    counts = np.zeros(8)
    for _ in range(2):
        state, metrics = step(agent, env, state)
        learned = state.agent.agent
        at = np.asarray(cell(learned.observation_t))
        np.add.at(counts, at, 1)
        # All of the rollout is counted first, so that order does not matter.
        bonus = 1 / np.sqrt(counts[at])
        plain = (at == at.max()).astype(float)
        np.testing.assert_allclose(learned.reward_t, plain + bonus, rtol=1e-6)
        np.testing.assert_allclose(metrics["bonus"], bonus.mean(), rtol=1e-6)
    assert counts.sum() == 2 * 2 * inner.unroll_length
    assert metrics["episode_return"] == 1.0  # the environment's own


def test_observations_are_numbered_by_a_hash():
    env = ra.Catch(rows=4, columns=3)
    agent = ra.WithBonus(Recorder(env, action=1), beta=0.5, bits=8)
    state, metrics = step(agent, env, ra.init_train(agent, env, KEY, 4))
    assert int(state.agent.counts.n.sum()) == 4 * 7
    assert 0 < metrics["bonus"] < 0.5


def test_mistakes_are_named():
    inner = Recorder(ra.Catch(), action=1)
    with pytest.raises(
        ArgumentError, match=r"CountBonus: beta is -1, wanted 0 or more"
    ):
        ra.WithBonus(inner, beta=-1.0)
    with pytest.raises(ArgumentError, match=r"WithBonus: bits is 0, wanted 1 or more"):
        ra.WithBonus(inner, beta=1.0, bits=0)

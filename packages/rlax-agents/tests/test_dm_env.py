import unittest

import jax
import numpy as np
import pytest
from dm_env import test_utils

from rlax_agents import ArgumentError, Catch, GridWorld, Pendulum, to_dm_env


class TestCatch(test_utils.EnvironmentTestMixin, unittest.TestCase):
    def make_object_under_test(self):
        return to_dm_env(Catch(rows=4))


class TestPendulum(test_utils.EnvironmentTestMixin, unittest.TestCase):
    def make_object_under_test(self):
        return to_dm_env(Pendulum(max_steps=6))


def test_episodes_are_those_of_the_environment():
    env, seed = GridWorld("S..\n.#G", max_steps=4, slip=0.5), 7
    python = to_dm_env(env, seed=seed)
    key, now = jax.random.split(jax.random.key(seed))
    for _ in range(2):
        state, timestep = env.reset(now)
        found = python.reset()
        assert found.reward is None
        while not found.last():
            state, timestep = env.step(state, 1)
            found = python.step(1)
            assert found.step_type == int(timestep.step_type)
            assert found.reward == float(timestep.reward)
            assert found.discount == float(timestep.discount)
            np.testing.assert_array_equal(found.observation, timestep.observation)
        key, now = jax.random.split(key)


def test_a_truncated_episode_keeps_its_discount():
    env = to_dm_env(Pendulum(max_steps=2))
    env.reset()
    env.step(np.zeros(1, np.float32))
    last = env.step(np.zeros(1, np.float32))
    assert (last.last(), last.discount) == (True, 1.0)


def test_wrong_actions_raise():
    env = to_dm_env(Catch())
    env.reset()
    with pytest.raises(
        ArgumentError, match=r"to_dm_env: step: action is 3, wanted \[0"
    ):
        env.step(3)
    with pytest.raises(ArgumentError, match=r"Catch.step: action has dtype float"):
        env.step(0.5)

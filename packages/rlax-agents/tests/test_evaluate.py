import jax
import jax.numpy as jnp
import numpy as np
import pytest
from agents import Recorder

import rlax_agents as ra
from chex_harness import assert_compiles
from rlax_agents import ArgumentError

KEY = jax.random.key(3)


def test_returns_are_those_of_whole_episodes():
    env = ra.CartPole()
    agent = Recorder(env, action=1)
    found = ra.evaluate(agent, env, (), key=KEY, episodes=6)
    for i, key in enumerate(jax.random.split(KEY, 6)):
        state, timestep = env.reset(key)
        total = 0.0
        while not timestep.last():
            state, timestep = env.step(state, 1)
            total += float(timestep.reward)
        assert found[i] == total
    assert len(set(np.asarray(found).tolist())) > 1


def test_episodes_without_end_are_left():
    env = ra.Pendulum(max_steps=200)

    class Still(Recorder):
        def act(self, state, key, observation):
            return jnp.zeros((len(observation), 1)), ()

    short = ra.evaluate(Still(env, 0), env, (), key=KEY, episodes=2, max_steps=3)
    whole = ra.evaluate(Still(env, 0), env, (), key=KEY, episodes=2)
    assert (whole < short).all()


def test_it_compiles_once():
    env = ra.Catch()
    agent = Recorder(env, action=0)
    ra.evaluate(agent, env, (), key=KEY, episodes=2)
    other = jax.random.key(5)
    with assert_compiles(0):
        ra.evaluate(agent, env, (), key=other, episodes=2)


def test_mistakes_are_named():
    env = ra.Catch()
    with pytest.raises(ArgumentError, match="evaluate: episodes is 0, wanted 1"):
        ra.evaluate(Recorder(env, 0), env, (), key=KEY, episodes=0)

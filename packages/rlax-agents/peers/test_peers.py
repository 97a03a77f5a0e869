"""Gymnasium and gymnax beside this package: `nox -s peers-rlax_agents`."""

import inspect
import textwrap
import warnings

import gymnasium
import gymnax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from rlax_agents import (
    ArgumentError,
    AutoReset,
    CartPole,
    Catch,
    DeepSea,
    GridWorld,
    Pendulum,
    from_gymnax,
    to_gymnasium,
)


def test_the_example_of_from_gymnax():
    docstring = inspect.getdoc(from_gymnax)
    example = docstring.partition("installed::\n")[2].partition("\nReferences:")[0]
    names = {}
    exec(textwrap.dedent(example), names)
    assert names["env"].action_spec.n == 3


def test_cartpole_is_gymnasiums():
    ours, theirs = CartPole(), gymnasium.make("CartPole-v1")
    step, rng, ends = jax.jit(ours.step), np.random.default_rng(0), []
    for episode in range(30):
        state, timestep = ours.reset(jax.random.key(episode))
        theirs.reset(seed=episode)
        theirs.unwrapped.state = np.array(timestep.observation, np.float64)
        over = False
        while not over:
            action = int(rng.integers(2))
            state, timestep = step(state, action)
            observation, reward, terminated, truncated, _ = theirs.step(action)
            np.testing.assert_allclose(timestep.observation, observation, atol=1e-5)
            assert float(timestep.reward) == reward
            assert bool(timestep.last()) == (terminated or truncated)
            assert bool(timestep.truncated()) == truncated
            over = terminated or truncated
        ends.append(int(state.steps))
    assert len(set(ends)) > 5


def test_cartpole_is_truncated_when_gymnasiums_is():
    ours, theirs = CartPole(), gymnasium.make("CartPole-v1")
    state, timestep = ours.reset(jax.random.key(0))
    theirs.reset(seed=0)
    step, over, steps = jax.jit(ours.step), False, 0
    while not over:
        # From the same state each time: rounding grows as the pole sways.
        theirs.unwrapped.state = np.array(timestep.observation, np.float64)
        x, x_dot, theta, theta_dot = timestep.observation
        action = int(theta + 0.5 * theta_dot + 0.05 * x + 0.1 * x_dot > 0)
        state, timestep = step(state, action)
        *_, terminated, truncated, _ = theirs.step(action)
        assert (bool(timestep.last()), bool(timestep.truncated())) == (
            terminated or truncated,
            truncated,
        )
        over, steps = terminated or truncated, steps + 1
    assert steps == 500


def test_pendulum_is_gymnasiums():
    ours, theirs = Pendulum(), gymnasium.make("Pendulum-v1")
    step, rng = jax.jit(ours.step), np.random.default_rng(0)
    for episode in range(3):
        state, timestep = ours.reset(jax.random.key(episode))
        theirs.reset(seed=episode)
        over = False
        while not over:
            # From the same state each time: the motion is chaotic.
            theirs.unwrapped.state = np.array(
                [state.theta, state.theta_dot], np.float64
            )
            action = rng.uniform(-2.5, 2.5, 1).astype(np.float32)
            state, timestep = step(state, action)
            observation, reward, terminated, truncated, _ = theirs.step(action)
            np.testing.assert_allclose(timestep.observation, observation, atol=1e-5)
            np.testing.assert_allclose(timestep.reward, reward, rtol=1e-5, atol=1e-5)
            assert not terminated
            assert bool(timestep.truncated()) == truncated
            over = truncated
        assert int(state.steps) == 200


@pytest.mark.parametrize(
    "env",
    [CartPole(), Catch(), DeepSea(5), GridWorld(slip=0.1), Pendulum()],
    ids=lambda env: type(env).__name__,
)
def test_gymnasium_accepts_ours(env):
    with warnings.catch_warnings():
        # It recommends bounds of observations, and rendering.
        warnings.filterwarnings("ignore", module="gymnasium")
        warnings.filterwarnings("ignore", message=".*WARN")
        check_env(to_gymnasium(env), skip_render_check=True)


def test_seeds_repeat_episodes_in_gymnasium():
    env = to_gymnasium(CartPole(), seed=3)
    first, _ = env.reset()
    second, _ = env.reset()
    again, _ = to_gymnasium(CartPole(), seed=3).reset()
    np.testing.assert_array_equal(first, again)
    assert (first != second).any()
    a, _ = env.reset(seed=5)
    b, _ = env.reset(seed=5)
    np.testing.assert_array_equal(a, b)
    with pytest.raises(ArgumentError, match="to_gymnasium: step: action is 2, wanted"):
        env.step(2)


def test_gymnasium_tells_the_ends_apart():
    env = to_gymnasium(CartPole(max_steps=3))
    env.reset()
    assert [env.step(t % 2)[2:4] for t in range(3)][-1] == (False, True)
    env = to_gymnasium(Catch(rows=2))
    env.reset()
    assert env.step(1)[2:4] == (True, False)


gymnax_scatters = pytest.mark.filterwarnings(
    "ignore:scatter inputs have incompatible types:FutureWarning"
)


@gymnax_scatters
@pytest.mark.parametrize(
    "name", ["CartPole-v1", "Pendulum-v1", "Catch-bsuite", "Breakout-MinAtar"]
)
def test_gymnax_runs(name):
    env, params = gymnax.make(name)
    ours = AutoReset(from_gymnax(env, params))
    state, first = ours.reset(jax.random.key(0))
    keys = jax.random.split(jax.random.key(1), 300)
    actions = jax.vmap(ours.action_spec.sample)(keys)
    _, out = jax.jit(lambda s, a: jax.lax.scan(ours.step, s, a))(state, actions)
    assert bool(first.first())
    assert out.timestep.last().any()
    assert jax.tree.map(jnp.shape, first.observation) == ours.observation_spec.shape


def test_gymnax_steps_are_its_own():
    env, params = gymnax.make("CartPole-v1")
    ours = from_gymnax(env, params)
    state, timestep = ours.reset(jax.random.key(0))
    theirs, step = state.env, jax.jit(ours.step)
    for t in range(60):
        observation, theirs, _, done, _ = env.step_env(
            jax.random.key(t), theirs, t % 2, params
        )
        state, timestep = step(state, t % 2)
        np.testing.assert_allclose(timestep.observation, observation, atol=1e-6)
        assert bool(timestep.last()) == bool(done)
        if done:
            break
    assert float(timestep.discount) == 0


@gymnax_scatters
@pytest.mark.parametrize("name", ["CartPole-v1", "Pendulum-v1", "Breakout-MinAtar"])
def test_the_step_limit_of_gymnax_is_a_truncation(name):
    env, params = gymnax.make(name)
    ours = from_gymnax(env, params.replace(max_steps_in_episode=4))
    state, _ = ours.reset(jax.random.key(0))
    actions = jnp.zeros((4, *ours.action_spec.shape), ours.action_spec.dtype)
    _, ts = jax.lax.scan(ours.step, state, actions)
    assert ts.truncated().tolist() == [False, False, False, True]

import math

import jax
import numpy as np
import pytest

from rlax_agents import ArgumentError, Pendulum


def swing(theta, speed, torque):
    """One step, in float64: (theta, speed, reward)."""
    torque = min(max(torque, -2.0), 2.0)
    wrapped = math.atan2(math.sin(theta), math.cos(theta))
    reward = -(wrapped**2 + 0.1 * speed**2 + 0.001 * torque**2)
    speed += (3 * 10.0 / 2 * math.sin(theta) + 3.0 * torque) * 0.05
    speed = min(max(speed, -8.0), 8.0)
    return theta + 0.05 * speed, speed, reward


def test_equals_a_loop_from_any_state():
    env, games = Pendulum(), 256
    rng = np.random.default_rng(0)
    state, _ = jax.jit(jax.vmap(env.reset))(jax.random.split(jax.random.key(0), games))
    theta = rng.uniform(-20, 20, games).astype(np.float32)
    speed = rng.uniform(-8, 8, games).astype(np.float32)
    torque = rng.uniform(-3, 3, (games, 1)).astype(np.float32)
    state = state._replace(theta=theta, theta_dot=speed)
    after, ts = jax.jit(jax.vmap(env.step))(state, torque)
    loop = [
        swing(*map(float, row)) for row in zip(theta, speed, torque[:, 0], strict=True)
    ]
    theta, speed, reward = np.array(loop).T
    np.testing.assert_allclose(after.theta, theta, atol=1e-5)
    np.testing.assert_allclose(after.theta_dot, speed, atol=1e-5)
    np.testing.assert_allclose(ts.reward, reward, rtol=2e-5, atol=2e-5)
    found = np.stack([np.cos(theta), np.sin(theta), speed], 1)
    np.testing.assert_allclose(ts.observation, found, atol=2e-5)
    assert (np.abs(speed) == 8).any()


def test_an_episode_is_truncated_after_200_steps_and_bootstraps():
    env = Pendulum()
    state, _ = jax.jit(env.reset)(jax.random.key(0))
    torques = np.random.default_rng(1).uniform(-2, 2, (203, 1)).astype(np.float32)
    _, ts = jax.lax.scan(env.step, state, torques)
    assert ts.last().nonzero()[0].tolist() == [199, 200, 201, 202]
    assert ts.truncated()[199:].all()
    assert (ts.discount == 1).all()
    assert (ts.reward[:200] < 0).all()
    assert (ts.reward[200:] == 0).all()


def test_it_starts_at_any_angle():
    state, _ = jax.jit(jax.vmap(Pendulum().reset))(
        jax.random.split(jax.random.key(0), 400)
    )
    counts, _ = np.histogram(state.theta, 8, (-np.pi, np.pi))
    assert (counts > 25).all()
    assert (np.abs(state.theta_dot) <= 1).all()


def test_a_limit_below_one_raises():
    with pytest.raises(ArgumentError, match="Pendulum: max_steps is 0, wanted 1"):
        Pendulum(max_steps=0)

import math

import jax
import numpy as np
import pytest

from rlax_agents import ArgumentError, CartPole


def push(state, action):
    """One Euler step of the equations of Barto, Sutton and Anderson, in float64."""
    x, v, angle, w = state
    g, mc, mp, half, dt = 9.8, 1.0, 0.1, 0.5, 0.02
    force = 10.0 if action else -10.0
    c, s = math.cos(angle), math.sin(angle)
    inner = (-force - mp * half * w * w * s) / (mc + mp)
    w_dot = (g * s + c * inner) / (half * (4 / 3 - mp * c * c / (mc + mp)))
    v_dot = (force + mp * half * (w * w * s - w_dot * c)) / (mc + mp)
    return x + dt * v, v + dt * v_dot, angle + dt * w, w + dt * w_dot


def falls(state):
    return abs(state[0]) > 2.4 or abs(state[2]) > math.radians(12)


def test_equals_a_loop_until_the_pole_falls():
    env, games, steps = CartPole(), 64, 120
    state, first = jax.jit(jax.vmap(env.reset))(
        jax.random.split(jax.random.key(0), games)
    )
    actions = np.random.default_rng(0).integers(0, 2, (steps, games))
    _, ts = jax.lax.scan(jax.vmap(env.step), state, actions)
    first, ts = jax.device_get((first, ts))
    assert (np.abs(first.observation) <= 0.05).all()
    lengths = []
    for game in range(games):
        now, t = [float(x) for x in first.observation[game]], 0
        while not falls(now) and t < steps:
            now = push(now, actions[t, game])
            np.testing.assert_allclose(ts.observation[t, game], now, atol=1e-5)
            assert ts.reward[t, game] == 1
            assert ts.discount[t, game] == (0 if falls(now) else 1)
            assert (ts.step_type[t, game] == 2) == falls(now)
            t += 1
        lengths.append(t)
        assert (ts.reward[t:, game] == 0).all()
    assert min(lengths) >= 8
    assert 15 < np.mean(lengths) < 30


def test_a_balanced_pole_is_truncated_after_500_steps_and_bootstraps():
    env = CartPole()
    state, ts = env.reset(jax.random.key(1))

    def act(carry, _):
        state, obs = carry
        action = obs[2] + 0.5 * obs[3] + 0.05 * obs[0] + 0.1 * obs[1] > 0
        state, ts = env.step(state, action.astype(int))
        return (state, ts.observation), ts

    _, ts = jax.lax.scan(act, (state, ts.observation), None, 510)
    assert ts.last().nonzero()[0].tolist() == list(range(499, 510))
    assert ts.truncated()[499:].all()
    assert float(ts.reward.sum()) == 500


def test_falling_at_the_limit_is_a_termination():
    env = CartPole(max_steps=1)
    state, _ = jax.jit(env.reset)(jax.random.key(0))
    state = state._replace(theta=state.theta + 0.25)
    _, ts = env.step(state._replace(theta=state.theta - 0.1, theta_dot=state.x + 9), 1)
    assert bool(ts.last())
    assert not bool(ts.truncated())


def test_a_limit_below_one_raises():
    with pytest.raises(ArgumentError, match="CartPole: max_steps is 0, wanted 1"):
        CartPole(max_steps=0)

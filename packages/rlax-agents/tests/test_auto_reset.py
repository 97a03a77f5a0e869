import jax
import jax.numpy as jnp
import numpy as np
import pytest

from chex_harness import assert_trees_close
from rlax_agents import ArgumentError, AutoReset, CartPole, Catch, GridWorld


def at(tree, t):
    return jax.tree.map(lambda x: x[t], tree)


@pytest.mark.parametrize(
    "env", [CartPole(max_steps=18), GridWorld("S..\n.#G", max_steps=9, slip=0.5)]
)
def test_it_is_a_loop_that_resets_by_hand(env):
    auto = AutoReset(env)
    actions = jax.random.randint(jax.random.key(5), (150,), 0, env.action_spec.n)
    state, first = auto.reset(jax.random.key(4))
    _, (timesteps, nows) = jax.jit(lambda s, a: jax.lax.scan(auto.step, s, a))(
        state, actions
    )

    step, reset = jax.jit(env.step), jax.jit(env.reset)
    key, start = jax.random.split(jax.random.key(4))
    by_hand, timestep = reset(start)
    assert_trees_close(timestep, first)
    ends = []
    timesteps, nows = jax.device_get((timesteps, nows))
    for t, action in enumerate(np.asarray(actions)):
        by_hand, timestep = step(by_hand, action)
        assert_trees_close(timestep, at(timesteps, t), atol=1e-6)
        if timestep.last():
            key, start = jax.random.split(key)
            by_hand, timestep = reset(start)
            ends.append(bool(timesteps.truncated()[t]))
        assert_trees_close(timestep, at(nows, t), atol=1e-6)
    assert set(ends) == {True, False}, "both kinds of end should occur"


def test_outcome_and_now_differ_at_ends_only():
    auto = AutoReset(Catch(rows=4))
    keys = jax.random.split(jax.random.key(0), 3)
    state, _ = jax.jit(jax.vmap(auto.reset))(keys)
    actions = jnp.ones((10, 3), jnp.int32)
    out = jax.device_get(jax.lax.scan(jax.vmap(auto.step), state, actions)[1])
    last = np.asarray(out.timestep.last())
    assert last.nonzero()[0].tolist() == [2, 2, 2, 5, 5, 5, 8, 8, 8]
    assert (out.now.first() == last).all()
    assert (out.now.reward[last] == 0).all()
    assert (np.abs(out.timestep.reward[last]) == 1).all()
    same = jax.tree.map(lambda a, b: (a == b)[~last].all(), *out)
    assert all(jax.tree.leaves(same))


def test_episodes_start_in_many_ways():
    auto = AutoReset(Catch(rows=2, columns=7))
    state, _ = auto.reset(jax.random.key(0))
    _, out = jax.lax.scan(auto.step, state, jnp.ones(60, jnp.int32))
    balls = out.now.observation[:, 0].argmax(-1)
    assert set(balls.tolist()) == set(range(7))


def test_specs_and_errors_are_those_of_the_environment():
    auto = AutoReset(Catch())
    assert auto.observation_spec == Catch().observation_spec
    assert auto.action_spec == Catch().action_spec
    state, _ = auto.reset(jax.random.key(0))
    with pytest.raises(
        ArgumentError, match=r"Catch.step: action is 7, wanted \[0, 2\]"
    ):
        auto.step(state, 7)

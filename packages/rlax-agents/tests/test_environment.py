"""What holds for every environment, over a table of them all."""

import functools
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from chex_harness import assert_compiles, assert_trees_close
from rlax_agents import (
    ArgumentError,
    CartPole,
    Catch,
    Continuous,
    DeepSea,
    Discrete,
    GridWorld,
    Pendulum,
    StepType,
    TimeStep,
    advance,
    restart,
)

STEPS = 12
# Each ends within 12 steps, whatever the actions.
TABLE = {
    "cartpole": (CartPole(max_steps=7), True),
    "catch": (Catch(rows=5), False),
    "deep_sea": (DeepSea(6), False),
    "grid_world": (GridWorld("S..\n.#G", max_steps=9, slip=0.5), None),
    "pendulum": (Pendulum(max_steps=8), True),
}
law = pytest.mark.parametrize("env", [env for env, _ in TABLE.values()], ids=TABLE)


def at(tree, *index):
    return jax.tree.map(lambda x: x[index], tree)


def draw(env, n):
    keys = jax.random.split(jax.random.key(1), n)
    return jax.vmap(env.action_spec.sample)(keys)


@functools.cache
def rollouts(env):
    """Five rollouts past the end: (keys, actions, timesteps with the first)."""

    def roll(key, actions):
        state, first = env.reset(key)
        _, rest = jax.lax.scan(env.step, state, actions)
        return jax.tree.map(lambda a, b: jnp.concatenate([a[None], b]), first, rest)

    keys = jax.random.split(jax.random.key(3), 5)
    actions = draw(env, 5 * STEPS).reshape(5, STEPS, *env.action_spec.shape)
    return keys, actions, jax.device_get(jax.jit(jax.vmap(roll))(keys, actions))


@law
def test_reset_and_step_have_the_types_of_the_spec(env):
    key = jax.random.key(0)
    state, first = jax.eval_shape(env.reset, key)
    after, timestep = jax.eval_shape(env.step, state, env.action_spec.sample(key))
    assert jax.tree.structure((state, first)) == jax.tree.structure((after, timestep))
    leaves = zip(
        *map(jax.tree.leaves, ((state, first), (after, timestep))), strict=True
    )
    for a, b in leaves:
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        assert not a.weak_type
        assert not b.weak_type
    dtypes = (timestep.step_type.dtype, timestep.reward.dtype, timestep.discount.dtype)
    assert dtypes == (jnp.int32, jnp.float32, jnp.float32)
    spec = env.observation_spec
    assert (timestep.observation.shape, timestep.observation.dtype) == (
        spec.shape,
        spec.dtype,
    )


@law
def test_types_are_the_same_with_64_bits(env):
    key = jax.random.key(0)
    narrow = jax.eval_shape(env.reset, key)
    with jax.enable_x64(True):  # noqa: FBT003 (jax has it so)
        state, first = jax.eval_shape(env.reset, key)
        action = env.action_spec.sample(key)
        after = jax.eval_shape(env.step, state, action)
    assert str((state, first)) == str(narrow)
    assert str(after) == str(narrow)
    assert action.dtype == env.action_spec.dtype


@law
def test_eager_jit_and_vmap_agree(env):
    keys, actions, batch = rollouts(env)
    state, timestep = env.reset(keys[1])
    for t in range(2):
        assert_trees_close(timestep, at(batch, 1, t), atol=1e-6)
        state, timestep = env.step(state, actions[1, t])


@law
def test_an_episode_is_first_then_mid_then_last_and_stays_there(env):
    _, _, ts = rollouts(env)
    kinds = ts.step_type
    assert (kinds[:, 0] == StepType.FIRST).all()
    assert (kinds[:, 1:] != StepType.FIRST).all()
    assert (np.diff(kinds) >= 0).all()
    assert (kinds[:, -1] == StepType.LAST).all()
    assert (ts.first() == (kinds == 0)).all()
    assert (ts.mid() == (kinds == 1)).all()
    assert (ts.last() == (kinds == 2)).all()
    assert (ts.discount[kinds < 2] == 1).all()
    for row in range(5):
        end = int(np.argmax(kinds[row] == 2))
        after = at(ts, row, slice(end + 1, None))
        assert after.last().all()
        assert (after.reward == 0).all()
        assert (after.discount == ts.discount[row, end]).all()
        assert (after.observation == ts.observation[row, end]).all()


def test_truncation_and_termination_are_told_apart():
    for env, truncates in TABLE.values():
        if truncates is None:
            continue
        _, _, ts = rollouts(env)
        assert (ts.truncated()[:, -1] == truncates).all()
        assert (ts.discount[:, -1] == truncates).all()


@law
def test_equal_environments_hash_alike_and_pickle(env):
    again = pickle.loads(pickle.dumps(env))
    assert again == env
    assert hash(again) == hash(env)
    reset = jax.jit(lambda env, key: env.reset(key), static_argnums=0)
    key = jax.random.key(0)
    with assert_compiles(1):
        reset(env, key)
        reset(again, key)


@law
def test_a_second_step_does_not_compile(env):
    step = jax.jit(functools.partial(type(env).step, env))  # a cache of its own
    state, _ = jax.jit(env.reset)(jax.random.key(0))
    actions = draw(env, 2)
    a, b = actions[0], actions[1]
    with assert_compiles(1):
        state, _ = step(state, a)
        step(state, b)


@law
def test_actions_of_a_wrong_shape_or_dtype_raise_while_traced(env):
    state, _ = jax.jit(env.reset)(jax.random.key(0))
    good = np.asarray(draw(env, 1)[0])
    name = type(env).__name__
    with pytest.raises(ArgumentError, match=rf"{name}.step: action has shape \(3,"):
        jax.eval_shape(env.step, state, np.stack([good] * 3))
    with pytest.raises(ArgumentError, match=r"type jax.vmap\(env.step\)\(state, act"):
        jax.eval_shape(env.step, state, np.stack([good] * 3))
    other = good.astype(np.int32 if good.dtype.kind == "f" else np.float32)
    with pytest.raises(ArgumentError, match=f"action has dtype {other.dtype}, wanted"):
        jax.eval_shape(env.step, state, other)


def test_last_is_a_termination_where_both_hold():
    _, ts = advance(0, 1, 2.0, ends=lambda at: (at == 1, at == 1), observe=jnp.asarray)
    assert bool(ts.last())
    assert not bool(ts.truncated())
    assert float(ts.reward) == 2


def test_restart_takes_any_tree():
    first = restart({"a": jnp.ones(2), "b": jnp.zeros(())})
    assert isinstance(first, TimeStep)
    assert (float(first.reward), float(first.discount)) == (0, 1)
    assert bool(first.first())


def test_step_types_are_those_of_dm_env():
    import dm_env

    for kind in StepType:
        assert dm_env.StepType[kind.name].value == kind.value


def test_specs_stand_for_the_table():
    kinds = {type(env.action_spec) for env, _ in TABLE.values()}
    assert kinds == {Discrete, Continuous}

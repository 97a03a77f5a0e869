"""The training loop: what it feeds an agent, and that it can stop and go on."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from agents import AGENTS, ENV, Recorder
from jax.sharding import PartitionSpec as P

import rlax_agents as ra
from chex_harness import assert_compiles, assert_trees_close
from rlax_agents import ArgumentError

each_agent = pytest.mark.parametrize("agent", AGENTS.values(), ids=AGENTS)
KEY = jax.random.key(0)


@pytest.fixture(autouse=True)
def _strict():
    """Haiku and optax promote, so nothing is strict here."""


def data_of(tree):
    """Keys as numbers, so that trees of them compare."""

    def data(leaf):
        typed = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        return np.asarray(jax.random.key_data(leaf) if typed else leaf)

    return jax.tree.map(data, tree)


def test_rollouts_are_what_stepping_one_environment_gives():
    env = ra.Catch(rows=4, columns=3)
    agent = Recorder(env, action=2)
    state = ra.init_train(agent, env, KEY, 3)
    after = ra.train(agent, env, updates=1, num_envs=3, state=state).state
    rollout = after.agent
    auto = ra.AutoReset(env)
    for i in range(3):
        one = jax.tree.map(lambda x, i=i: x[i], state.env)
        seen = state.now.observation[i]
        for t in range(agent.unroll_length):
            np.testing.assert_array_equal(rollout.observation_tm1[t, i], seen)
            one, outcome = auto.step(one, 2)
            true, seen = outcome.timestep, outcome.now.observation
            np.testing.assert_array_equal(rollout.observation_t[t, i], true.observation)
            assert rollout.reward_t[t, i] == true.reward
            assert rollout.discount_t[t, i] == true.discount
            assert rollout.last_t[t, i] == true.last()
            assert rollout.truncated_t[t, i] == true.truncated()
    assert rollout.last_t.any()


def test_returns_are_those_of_the_last_finished_episodes():
    env = ra.CartPole()
    agent = Recorder(env, action=1)
    metrics = ra.train(agent, env, updates=5, num_envs=4, key=KEY).metrics
    rewards = np.zeros(4)
    finished, count = np.zeros(4), 0
    state = ra.init_train(agent, env, KEY, 4)
    for update in range(5):
        state, _ = ra.train_step(agent, env, state)
        for t in range(agent.unroll_length):
            rewards += state.agent.reward_t[t]
            last = np.asarray(state.agent.last_t[t])
            finished, rewards = np.where(last, rewards, finished), rewards * ~last
            count += last.sum()
        ended = finished > 0
        want = finished[ended].mean() if ended.any() else 0
        assert metrics["episode_return"][update] == pytest.approx(want)
        assert metrics["episodes"][update] == count
        assert metrics["steps"][update] == (update + 1) * 4 * agent.unroll_length
    assert count > 4


@each_agent
def test_going_on_is_the_same_as_never_stopping(agent):
    whole = ra.train(agent, ENV, updates=4, num_envs=8, key=KEY)
    half = ra.train(agent, ENV, updates=2, num_envs=8, key=KEY)
    rest = ra.train(agent, ENV, updates=2, num_envs=8, state=half.state)
    assert_trees_close(data_of(rest.state), data_of(whole.state), atol=1e-6)
    for name, values in whole.metrics.items():
        joined = np.concatenate([half.metrics[name], rest.metrics[name]])
        np.testing.assert_allclose(joined, values, atol=1e-5, err_msg=name)
    again = ra.train(agent, ENV, updates=2, num_envs=8, state=half.state)
    assert_trees_close(data_of(again.state), data_of(rest.state), atol=0)


@each_agent
@pytest.mark.devices(8)
def test_eight_devices_learn_what_one_does(agent, mesh):
    one = ra.train(agent, ENV, updates=3, num_envs=16, key=KEY)
    eight = ra.train(agent, ENV, updates=3, num_envs=16, key=KEY, mesh=mesh)
    for name, values in one.metrics.items():
        if name == "clip_fraction":  # counts ratios of 1, which rounding decides
            continue
        np.testing.assert_allclose(
            eight.metrics[name], values, rtol=1e-5, atol=1e-5, err_msg=name
        )
    axis = mesh.axis_names[0]
    for leaf in jax.tree.leaves((eight.state.env, eight.state.now)):
        assert leaf.sharding.spec[0] == axis
        assert leaf.addressable_shards[0].data.shape[0] == 2
    if hasattr(eight.state.agent, "replay"):
        rewards = eight.state.agent.replay.items.r_t
        assert rewards.sharding.spec == P(None, axis)
    for leaf in jax.tree.leaves(
        eight.state.agent.opt
        if hasattr(eight.state.agent, "opt")
        else eight.state.agent.counts
    ):
        assert leaf.sharding.is_fully_replicated


def test_seeds_are_runs_of_their_own():
    agent = AGENTS["ppo"]
    keys = jax.random.split(KEY, 2)
    both = ra.train(agent, ENV, updates=2, num_envs=8, seeds=keys)
    for i, key in enumerate(keys):
        one = ra.train(agent, ENV, updates=2, num_envs=8, key=key)
        for name, values in one.metrics.items():
            np.testing.assert_allclose(
                both.metrics[name][i], values, rtol=1e-4, atol=1e-5, err_msg=name
            )


def test_one_program_for_all_calls_and_for_equal_agents():
    def agent():
        return ra.PPO(ENV, unroll_length=4, minibatches=2, epochs=1)

    start = ra.train(agent(), ENV, updates=1, num_envs=4, key=KEY)
    ra.train(agent(), ENV, updates=2, num_envs=4, state=start.state, updates_per_call=1)
    seen = []
    with assert_compiles(0):
        ra.train(
            agent(),
            ENV,
            updates=3,
            num_envs=4,
            state=start.state,
            updates_per_call=1,
            on_call=seen.append,
        )
    assert [len(metrics["loss"]) for metrics in seen] == [1, 1, 1]
    assert [int(metrics["steps"][0]) for metrics in seen] == [32, 48, 64]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, "train: wanted one of key, seeds and state; type key=jax.random.key(0)"),
        ({"key": KEY, "updates": 0}, "train: updates is 0, wanted 1 or more"),
        ({"key": KEY, "num_envs": 2.0}, "train: num_envs is 2.0, wanted an int"),
        (
            {"key": jax.random.PRNGKey(0)},
            "train: key is of dtype uint32, wanted typed keys; type key=jax",
        ),
        (
            {"key": 0},
            "train: key is a int, wanted typed keys; type key=jax.random.key(0)",
        ),
        (
            {"key": jax.random.split(KEY)},
            "train: key has shape (2,), wanted rank 0; type key=jax.random.key(0)",
        ),
        (
            {"seeds": KEY},
            "train: seeds has shape (), wanted rank 1; type seeds=jax.random.split(jax",
        ),
        (
            {"state": 1},
            "train: state is a int, wanted a TrainState; type state=trained.",
        ),
        (
            {"key": KEY, "updates_per_call": 0},
            "train: updates_per_call is 0, wanted 1 or more",
        ),
    ],
)
def test_mistakes_are_named(options, says):
    with pytest.raises(ArgumentError) as error:
        ra.train(AGENTS["ppo"], ENV, **{"updates": 1, "num_envs": 4, **options})
    assert str(error.value).startswith(says)


@pytest.mark.devices(8)
def test_devices_that_do_not_divide_and_seeds_on_a_mesh(mesh):
    with pytest.raises(ArgumentError) as error:
        ra.train(AGENTS["ppo"], ENV, updates=1, num_envs=12, key=KEY, mesh=mesh)
    assert str(error.value) == (
        "train: num_envs is 12, wanted a multiple of the 8 devices along 'data'; "
        "type num_envs=16"
    )
    keys = jax.random.split(KEY, 2)
    with pytest.raises(ArgumentError, match="train: seeds are trained on one device"):
        ra.train(AGENTS["ppo"], ENV, updates=1, num_envs=8, seeds=keys, mesh=mesh)
    two = ra.train(AGENTS["ppo"], ENV, updates=1, num_envs=8, seeds=keys).state
    with pytest.raises(ArgumentError, match="train: seeds are trained on one device"):
        ra.train(AGENTS["ppo"], ENV, updates=1, state=two, mesh=mesh)


@pytest.mark.devices(8)
def test_a_state_keeps_its_environments_on_any_devices(mesh):
    agent = AGENTS["ppo"]
    state = ra.train(agent, ENV, updates=1, num_envs=16, key=KEY).state
    with pytest.raises(ArgumentError) as error:
        ra.train(agent, ENV, updates=1, num_envs=8, state=state)
    assert str(error.value) == (
        "train: num_envs is 8, wanted 16, which the state has; leave it out"
    )
    one = ra.train(agent, ENV, updates=1, state=state)
    eight = ra.train(agent, ENV, updates=1, state=state, mesh=mesh)
    np.testing.assert_allclose(
        eight.metrics["loss"], one.metrics["loss"], rtol=1e-4, atol=1e-5
    )
    assert eight.metrics["steps"].tolist() == [2 * 16 * agent.unroll_length]


def test_steps_are_counted_beyond_32_bits():
    agent = AGENTS["impala"]
    state = ra.train(agent, ENV, updates=1, num_envs=4, key=KEY).state
    late = state._replace(updates=jnp.int32(2**31 - 10))
    metrics = ra.train(agent, ENV, updates=2, state=late).metrics
    steps = agent.unroll_length * 4
    assert metrics["steps"].tolist() == [(2**31 - 9) * steps, (2**31 - 8) * steps]

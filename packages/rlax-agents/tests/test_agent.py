"""Laws that every agent obeys, over a table of them all."""

import pickle

import jax
import jax.numpy as jnp
import pytest
from agents import AGENTS, ENV

import rlax_agents as ra
from chex_harness import assert_trees_close

law = pytest.mark.parametrize("agent", AGENTS.values(), ids=AGENTS)
KEY = jax.random.key(0)


@pytest.fixture(autouse=True)
def _strict():
    """Haiku and optax promote, so nothing is strict here."""


@law
def test_init_works_without_numbers(agent):
    shapes = jax.eval_shape(lambda key: agent.init(key, 4), KEY)
    made = agent.init(KEY, 4)
    same = jax.tree.map(
        lambda a, b: (a.shape, a.dtype) == (b.shape, b.dtype), shapes, made
    )
    assert jax.tree.all(same)


@law
def test_actions_are_those_of_the_spec(agent):
    state = agent.init(KEY, 4)
    _, now = jax.vmap(ENV.reset)(jax.random.split(KEY, 4))
    for action in (
        agent.act(state, KEY, now.observation)[0],
        agent.exploit(state, now.observation),
    ):
        assert (action.shape, action.dtype) == ((4,), jnp.int32)
        jax.vmap(ENV.step)(jax.vmap(ENV.reset)(jax.random.split(KEY, 4))[0], action)


@law
def test_exploring_depends_on_the_key_and_exploiting_has_none(agent):
    state = agent.init(KEY, 64)
    _, now = jax.vmap(ENV.reset)(jax.random.split(KEY, 64))
    seen = jnp.zeros_like(now.observation)
    # epsilon-greedy agents seldom explore: many keys.
    drawn = jax.vmap(lambda key: agent.act(state, key, seen)[0])(
        jax.random.split(KEY, 64)
    )
    assert len(set(drawn.ravel().tolist())) > 1
    assert len(set(agent.exploit(state, seen).tolist())) == 1


@law
def test_equal_agents_are_one_to_jit(agent):
    again = type(agent)(**{n: getattr(agent, n) for n in agent.__dataclass_fields__})
    assert again == agent
    assert hash(again) == hash(agent)


@pytest.mark.parametrize("kind", [ra.PPO, ra.IMPALA, ra.DQN, ra.MPO])
def test_agents_of_defaults_pickle(kind):
    agent = kind(ENV)
    assert pickle.loads(pickle.dumps(agent)) == agent


@law
def test_the_specs_are_a_prefix_of_the_state(agent):
    state = jax.eval_shape(lambda key: agent.init(key, 8), KEY)
    specs = agent.specs("data")
    is_spec = {"is_leaf": lambda x: isinstance(x, jax.sharding.PartitionSpec)}
    assert jax.tree.broadcast(specs, state, **is_spec) is not None


@law
def test_learning_what_pays(agent):
    updates = 250 if isinstance(agent, ra.DQN | ra.MPO) else 60
    trained = ra.train(agent, ENV, updates=updates, num_envs=16, key=KEY)
    returns = ra.evaluate(agent, ENV, trained.state.agent, key=jax.random.key(1))
    # Random play gets -1/3, staying in the middle 0 or so.
    assert returns.mean() > 0.9
    assert_trees_close(
        jax.tree.map(jnp.isfinite, trained.state.agent),
        jax.tree.map(lambda x: jnp.ones(x.shape, bool), trained.state.agent),
    )

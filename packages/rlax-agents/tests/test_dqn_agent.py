import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from agents import ENV, VALUES

import rlax_agents as ra
from chex_harness import assert_trees_close
from rlax_agents import ArgumentError

KEY = jax.random.key(0)


@pytest.fixture(autouse=True)
def _strict():
    """Haiku and optax promote, so nothing is strict here."""


def agent_of(**options):
    options = {"network": VALUES, "batch_size": 16, "min_steps": 8, **options}
    return ra.DQN(ENV, optimizer=optax.sgd(0.1), capacity=50, **options)


def step(agent, state):
    return jax.jit(ra.train_step, static_argnums=(0, 1))(agent, ENV, state)


def test_it_waits_for_experience_and_then_copies_to_the_target():
    agent = agent_of(target_period=6)  # 4 steps of the optimiser an update
    state = ra.init_train(agent, ENV, KEY, 4)
    first = state.agent.params
    state, metrics = step(agent, state)
    assert_trees_close(state.agent.params, first, atol=0)
    assert metrics["loss"] == 0
    assert int(state.agent.replay.size) == 4
    state, metrics = step(agent, state)
    assert metrics["loss"] > 0
    assert_trees_close(state.agent.target, first, atol=0)
    state, _ = step(agent, state)
    assert int(state.agent.steps) == 8
    moved = jax.tree.map(lambda a, b: bool((a != b).any()), state.agent.target, first)
    assert jax.tree.all(moved)


def test_epsilon_follows_its_schedule():
    agent = agent_of(epsilon=optax.linear_schedule(1.0, 0.0, 10))
    state = agent.init(KEY, 1)
    seen = jax.random.uniform(KEY, (1000, 4, 3))
    for updates, rate in ((0, 1.0), (5, 0.5), (10, 0.0)):
        late = state._replace(updates=jnp.int32(updates))
        a, _ = agent.act(late, KEY, seen)
        best = agent.exploit(late, seen)
        np.testing.assert_allclose((a != best).mean(), rate * 2 / 3, atol=0.05)


def test_a_categorical_agent_takes_means():
    atoms = ra.Atoms(-1.0, 3.0, 5)
    assert atoms.values().tolist() == [-1, 0, 1, 2, 3]
    net = ra.action_values(3, hidden=(4,), atoms=5)
    agent = ra.DQN(ENV, network=net, atoms=atoms)
    state = agent.init(KEY, 1)
    _, now = jax.vmap(ENV.reset)(jax.random.split(KEY, 6))
    p = jax.nn.softmax(net.apply(state.params, now.observation))
    want = (p * np.asarray([-1.0, 0, 1, 2, 3])).sum(-1).argmax(-1)
    assert agent.exploit(state, now.observation).tolist() == want.tolist()


@pytest.mark.parametrize(
    ("env", "options", "says"),
    [
        (
            ra.Pendulum(),
            {},
            (
                "DQN: env has actions Continuous(shape=(1,), low=-2.0, high=2.0), "
                "wanted Discrete ones; type MPO(env) or PPO(env) for continuous actions"
            ),
        ),
        (
            ENV,
            {"capacity": 10},
            "DQN: capacity is 10, wanted 20 or more; type capacity=20",
        ),
        (ENV, {"n_step": 0}, "DQN: n_step is 0, wanted 1 or more; type n_step=1"),
        (ENV, {"epsilon": 2.0}, "DQN: epsilon is 2, wanted [0, 1]; correct it"),
        (
            ENV,
            {"atoms": ra.Atoms(1.0, -1.0, 2)},
            (
                "DQN: atoms of shape (2,) is [1.0, -1.0], wanted a vector of two or "
                "more that increases; type np.unique(atoms)"
            ),
        ),
        (ENV, {"discount": 2.0}, "DQN: discount is 2, wanted [0, 1]; correct it"),
    ],
)
def test_mistakes_are_named(env, options, says):
    with pytest.raises(ArgumentError) as error:
        ra.DQN(env, **options)
    assert str(error.value) == says

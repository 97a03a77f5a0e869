import jax
import numpy as np
import pytest
from agents import AGENTS, ENV

import rlax_agents as ra
from chex_harness import assert_trees_close
from rlax_agents import ArgumentError

KEY = jax.random.key(0)


@pytest.fixture(autouse=True)
def _strict():
    """Haiku and optax promote, so nothing is strict here."""


def test_actors_lag_and_catch_up():
    agent = AGENTS["impala"]  # whose actors have two updates old parameters at most
    step = jax.jit(ra.train_step, static_argnums=(0, 1))
    state = ra.init_train(agent, ENV, KEY, 8)
    first = state.agent
    state, metrics = step(agent, ENV, state)
    assert_trees_close(state.agent.acting, first.params, atol=0)
    np.testing.assert_allclose(metrics["approx_kl"], 0, atol=1e-6)
    state, metrics = step(agent, ENV, state)
    assert metrics["approx_kl"] > 1e-6  # the actors were a step behind
    assert_trees_close(state.agent.acting, state.agent.params, atol=0)
    assert int(state.agent.updates) == 2


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"actor_period": 0}, "IMPALA: actor_period is 0, wanted 1 or more"),
        ({"discount": -0.1}, "IMPALA: discount is -0.1, wanted [0, 1]"),
        ({"unroll_length": 2.5}, "IMPALA: unroll_length is 2.5, wanted an int"),
    ],
)
def test_mistakes_are_named(options, says):
    with pytest.raises(ArgumentError) as error:
        ra.IMPALA(ENV, **options)
    assert str(error.value).startswith(says)

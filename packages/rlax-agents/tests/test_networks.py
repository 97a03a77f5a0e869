import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rlax_agents as ra
from rlax_agents._networks import flatten_actions, over_steps, unflatten_actions

KEY = jax.random.key(0)
BOX = ra.Continuous((2, 3), low=-1.0, high=3.0)


@pytest.fixture(autouse=True)
def _strict():
    """Haiku promotes, so nothing is strict here."""


def applied(net, *inputs):
    return net.apply(net.init(KEY, *inputs), *inputs)


def test_observations_may_be_trees():
    seen = {"board": jnp.ones((5, 2, 2), jnp.int32), "speed": jnp.ones(5)}
    policy, v = applied(ra.actor_critic(ra.Discrete(4), hidden=(8,)), seen)
    assert (policy.logits.shape, v.shape) == ((5, 4), (5,))


def test_policies_start_near_the_middle():
    seen = jax.random.normal(KEY, (50, 4))
    policy, _ = applied(ra.actor_critic(ra.Discrete(4)), seen)
    np.testing.assert_allclose(policy.entropy(), np.log(4), atol=1e-3)
    policy, _ = applied(ra.actor_critic(BOX), seen)
    assert policy.mean.shape == (50, 6)
    np.testing.assert_allclose(policy.mean, 1.0, atol=0.1)
    np.testing.assert_allclose(policy.scale, 2 / 3, rtol=1e-6)
    policy = applied(ra.stochastic_policy(BOX), seen)
    np.testing.assert_allclose(policy.mean, 1.0, atol=0.1)
    np.testing.assert_allclose(policy.scale, 1.0, atol=0.05)


def test_values_of_actions():
    seen = jnp.ones((5, 4))
    assert applied(ra.action_values(3), seen).shape == (5, 3)
    assert applied(ra.action_values(3, atoms=7), seen).shape == (5, 3, 7)
    assert applied(ra.action_critic(), seen, jnp.ones((5, 6))).shape == (5,)


def test_actions_are_flat_within_and_shaped_outside():
    flat = jnp.arange(24.0).reshape(4, 6)
    shaped = unflatten_actions(flat, BOX)
    assert shaped.shape == (4, 2, 3)
    np.testing.assert_array_equal(flatten_actions(shaped, BOX), flat)
    steps = flatten_actions(jnp.zeros((7, 4, 2, 3)), BOX)
    assert steps.shape == (7, 4, 6)
    one = jnp.zeros((7, 4), jnp.int32)
    assert flatten_actions(one, ra.Discrete(2)) is one


def test_steps_are_an_axis_of_their_own():
    net = ra.action_values(3, hidden=(4,))
    seen = jax.random.normal(KEY, (6, 5, 4))
    params = net.init(KEY, seen[0])
    want = jnp.stack([net.apply(params, x) for x in seen])
    np.testing.assert_allclose(over_steps(net.apply, params, seen), want, rtol=1e-5)

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rlax_agents import ArgumentError, adapt_noise_scale, parameter_noise


def test_every_leaf_has_noise_of_its_own_and_keeps_its_type():
    params = {
        "a": jnp.ones((100, 100)),
        "b": jnp.ones((100, 100)),
        "half": jnp.ones(9, jnp.bfloat16),
        "steps": jnp.int32(3),
    }
    noisy = jax.jit(parameter_noise)(jax.random.key(0), params, 0.2)
    assert all(noisy[name].dtype == params[name].dtype for name in params)
    a, b = (np.asarray(noisy[name] - params[name]).ravel() for name in "ab")
    np.testing.assert_allclose([a.std(), b.std()], 0.2, rtol=0.03)
    np.testing.assert_allclose([a.mean(), b.mean()], 0, atol=0.01)
    assert abs(np.corrcoef(a, b)[0, 1]) < 0.05
    assert int(noisy["steps"]) == 3
    same = parameter_noise(jax.random.key(0), params, 0.0)
    assert all(jax.tree.leaves(jax.tree.map(lambda x, y: (x == y).all(), same, params)))
    assert parameter_noise(jax.random.key(0), {}, 0.1) == {}


def test_the_scale_finds_the_distance_that_is_wanted():
    # Of a linear policy the distance is the scale times the norm of the states.
    states = np.random.default_rng(0).normal(size=(64, 10)).astype(np.float32)
    w = jnp.ones((10, 4))

    @jax.jit
    def update(scale, key):
        noisy = parameter_noise(key, w, scale)
        distance = jnp.sqrt(jnp.mean(jnp.square(states @ (noisy - w))))
        return adapt_noise_scale(scale, distance, 0.5, factor=1.05), distance

    scale, distances = jnp.float32(0.01), []
    for key in jax.random.split(jax.random.key(1), 300):
        scale, distance = update(scale, key)
        distances.append(float(distance))
    np.testing.assert_allclose(np.mean(distances[-100:]), 0.5, rtol=0.1)
    assert distances[0] < 0.1


def test_the_rule_is_that_of_the_paper():
    assert float(adapt_noise_scale(2.0, 0.2, 0.2, factor=2.0)) == 4
    assert float(adapt_noise_scale(2.0, 0.3, 0.2, factor=2.0)) == 1


def test_bad_arguments_raise():
    with pytest.raises(ArgumentError, match="parameter_noise: scale is -1, wanted 0"):
        parameter_noise(jax.random.key(0), {"w": jnp.ones(2)}, -1.0)
    with pytest.raises(ArgumentError, match="adapt_noise_scale: distance is nan"):
        adapt_noise_scale(1.0, float("nan"), 1.0)
    with pytest.raises(ArgumentError, match=r"factor is 0.5, wanted 1 or more"):
        adapt_noise_scale(1.0, 1.0, 1.0, factor=0.5)

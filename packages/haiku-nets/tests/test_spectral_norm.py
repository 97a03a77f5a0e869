"""The largest singular value against NumPy's, its gradient, and the getter."""

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haiku_nets import largest_singular_value, spectral_norm


@pytest.mark.parametrize("shape", [(3, 3), (20, 5), (5, 20), (5, 5, 8, 16), (1, 1)])
def test_it_is_the_first_singular_value(shape):
    w = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    wanted = np.linalg.svd(w.reshape(-1, shape[-1]), compute_uv=False)[0]
    found = jax.jit(largest_singular_value)(w)
    np.testing.assert_allclose(found, wanted, rtol=2e-3)
    assert found <= wanted * (1 + 1e-6)


def test_more_iterations_bring_it_closer():
    w = np.random.default_rng(1).normal(size=(30, 30)).astype(np.float32)
    wanted = np.linalg.svd(w, compute_uv=False)[0]
    errors = [
        float(wanted - largest_singular_value(w, iterations=n)) for n in (1, 5, 200)
    ]
    assert errors[0] > errors[1] > errors[2]
    assert abs(errors[2]) < 1e-4


def test_the_gradient_is_that_of_the_singular_value():
    w = jnp.asarray(np.random.default_rng(2).normal(size=(6, 4)), jnp.float32)
    u, _, v = np.linalg.svd(w)
    wanted = np.outer(u[:, 0], v[0])
    found = jax.grad(lambda w: largest_singular_value(w, iterations=200))(w)
    np.testing.assert_allclose(found, wanted, atol=1e-4)


def test_zero_weights_have_norm_zero_and_stay_zero():
    w = jnp.zeros((3, 4))
    assert float(largest_singular_value(w)) == 0
    normal = spectral_norm(lambda value: value, w, None)
    assert jnp.isfinite(normal).all()


def test_vectors_are_refused_and_biases_left_alone():
    with pytest.raises(ValueError, match=r"found shape \(3,\), wanted two axes"):
        largest_singular_value(jnp.ones(3))
    bias = jnp.full(3, 7.0)
    assert spectral_norm(lambda value: value, bias, None) is bias


def test_a_network_of_matrices_becomes_one_that_lengthens_nothing():
    def f(x):
        with hk.custom_getter(spectral_norm):
            return hk.nets.MLP((5, 4), with_bias=False, activation=jnp.abs)(x)

    net = hk.without_apply_rng(hk.transform(f))
    x = jax.random.normal(jax.random.key(0), (50, 3))
    params = jax.tree.map(lambda w: 10 * w, net.init(jax.random.key(1), x))
    lengths = jnp.linalg.norm(net.apply(params, x), axis=1)
    assert (lengths <= jnp.linalg.norm(x, axis=1) * 1.01).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_zero_weights_of_every_precision_stay_zero(dtype):
    w = spectral_norm(lambda value: value, jnp.zeros((3, 3), dtype), None)
    assert (w.dtype, w.any().item()) == (jnp.dtype(dtype), False)


@pytest.mark.parametrize("scale", [1e-20, 1e19])
def test_very_large_and_small_weights_have_norm_one(scale):
    w = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32) * scale
    found = spectral_norm(lambda value: value, jnp.asarray(w, jnp.float32), None)
    np.testing.assert_allclose(np.linalg.norm(found, 2), 1, rtol=1e-3)


def test_empty_weights_have_no_norm():
    assert float(largest_singular_value(jnp.zeros((0, 3)))) == 0

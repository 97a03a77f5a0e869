import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haiku_nets import BatchNormGenerator, BatchStatisticsNorm, count_parameters


def transformed(make):
    def forward(x):
        return make()(x)

    return hk.without_apply_rng(hk.transform(forward))


def test_it_is_haikus_batch_norm_in_training():
    def haiku_norm(x):
        norm = hk.BatchNorm(create_scale=True, create_offset=True, decay_rate=0.9)
        return norm(x, is_training=True)

    x = 3 + 2 * jax.random.normal(jax.random.key(0), (8, 5, 5, 4))
    theirs = hk.transform_with_state(haiku_norm)
    params, state = theirs.init(None, x)
    wanted, _ = theirs.apply(params, state, None, x)
    ours = transformed(BatchStatisticsNorm)
    np.testing.assert_allclose(ours.apply(ours.init(None, x), x), wanted, atol=1e-5)


def test_each_channel_gets_its_scale_and_offset():
    x = jax.random.normal(jax.random.key(0), (64, 3))
    net = transformed(BatchStatisticsNorm)
    scale, offset = jnp.array([1.0, 2.0, 0.5]), jnp.array([0.0, -1.0, 7.0])
    params = {"batch_statistics_norm": {"scale": scale, "offset": offset}}
    y = net.apply(params, x)
    np.testing.assert_allclose(y.mean(0), offset, atol=1e-5)
    np.testing.assert_allclose(y.std(0), scale, rtol=1e-4)


def test_statistics_of_half_precision_are_taken_in_float32():
    x = (100 + jax.random.normal(jax.random.key(0), (4096, 1))).astype("bfloat16")
    net = transformed(BatchStatisticsNorm)
    y = net.apply(net.init(None, x), x)
    wide = np.asarray(x, np.float64)
    wanted = (wide - wide.mean()) / np.sqrt(wide.var() + 1e-5)
    assert y.dtype == x.dtype
    np.testing.assert_allclose(np.asarray(y, float), wanted, rtol=1e-2, atol=1e-2)


def test_the_generator_has_as_many_parameters_as_it_says():
    z = jnp.zeros((2, 20))
    params = jax.eval_shape(transformed(BatchNormGenerator).init, jax.random.key(0), z)
    assert count_parameters(params) == 114_913
    assert "114,913" in BatchNormGenerator.__doc__


def test_images_lie_between_minus_one_and_one():
    z = jax.random.normal(jax.random.key(0), (16, 20))
    net = transformed(BatchNormGenerator)
    images = net.apply(net.init(jax.random.key(1), z), z)
    assert images.shape == (16, 28, 28, 1)
    assert float(jnp.abs(images).max()) <= 1


def test_latents_of_another_shape_are_refused_by_name():
    net = transformed(BatchNormGenerator)
    with pytest.raises(
        ValueError, match=r"BatchNormGenerator found latents .*\(2, 3\)"
    ):
        net.init(jax.random.key(0), jnp.zeros((2, 3)))

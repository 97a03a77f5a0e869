"""DCGAN's pair: shapes, parameters, the bound of spectral norm, and what is refused."""

import haiku as hk
import jax
import jax.numpy as jnp
import pytest

from haiku_nets import DCGANDiscriminator, DCGANGenerator, parameter_table


def _net(module, *args, **options):
    def run(x):
        return module(*args, **options)(x)

    return hk.without_apply_rng(hk.transform(run))


@pytest.mark.parametrize(
    ("channels", "side"), [((4,), 14), ((4, 3), 28), ((4, 3, 2), 56)]
)
def test_each_layer_makes_the_image_twice_as_large(channels, side):
    net = _net(DCGANGenerator, channels, image_channels=3)
    z = jnp.ones((2, 5))
    params = jax.eval_shape(net.init, jax.random.key(0), z)
    assert jax.eval_shape(net.apply, params, z).shape == (2, side, side, 3)


def test_only_the_last_layer_of_the_generator_has_a_bias():
    net = _net(DCGANGenerator, (4, 3))
    params = jax.eval_shape(net.init, jax.random.key(0), jnp.ones((2, 5)))
    assert [f"{r.module}/{r.name}" for r in parameter_table(params)] == [
        "dcgan_generator/batch_statistics_norm/offset",
        "dcgan_generator/batch_statistics_norm/scale",
        "dcgan_generator/batch_statistics_norm_1/offset",
        "dcgan_generator/batch_statistics_norm_1/scale",
        "dcgan_generator/conv2_d_transpose/w",
        "dcgan_generator/conv2_d_transpose_1/b",
        "dcgan_generator/conv2_d_transpose_1/w",
        "dcgan_generator/linear/w",
    ]


def test_images_lie_between_minus_one_and_one():
    net = _net(DCGANGenerator, (4, 3))
    z = 10 * jax.random.normal(jax.random.key(0), (4, 5))
    images = net.apply(net.init(jax.random.key(1), z), z)
    assert float(jnp.abs(images).max()) <= 1.0


def test_spectral_norm_makes_the_judgement_independent_of_the_weights_scale():
    images = jax.random.normal(jax.random.key(0), (2, 12, 12, 1))
    plain, bounded = (
        _net(DCGANDiscriminator, (3, 4), spectral_norm=on) for on in (False, True)
    )
    params = plain.init(jax.random.key(1), images)
    larger = jax.tree.map(lambda x: 3 * x if x.ndim > 1 else x, params)
    a, b = (bounded.apply(p, images) for p in (params, larger))
    assert jnp.allclose(a, b, rtol=1e-4)
    a, b = (plain.apply(p, images) for p in (params, larger))
    assert not jnp.allclose(a, b, rtol=0.1)
    assert jax.tree.structure(bounded.init(jax.random.key(1), images)) == (
        jax.tree.structure(params)
    )


def test_wrong_ranks_are_refused():
    with pytest.raises(ValueError, match=r"latents of shape \(5,\), wanted \(batch, n"):
        _net(DCGANGenerator).init(jax.random.key(0), jnp.ones(5))
    with pytest.raises(ValueError, match=r"images of shape \(2, 28, 28\), wanted"):
        _net(DCGANDiscriminator).init(jax.random.key(0), jnp.ones((2, 28, 28)))

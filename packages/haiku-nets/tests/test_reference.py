import haiku as hk
import jax
import jax.numpy as jnp
import pytest

from chex_harness import assert_trees_close
from haiku_nets import (
    ReferenceDiscriminator,
    ReferenceGenerator,
    count_parameters,
    parameter_table,
)


def _plain_generator(z):
    x = hk.Linear(7 * 7 * 64)(z).reshape(-1, 7, 7, 64)
    x = hk.Conv2DTranspose(32, kernel_shape=5, stride=2)(jax.nn.relu(x))
    x = hk.Conv2DTranspose(1, kernel_shape=5, stride=2)(jax.nn.relu(x))
    return jnp.tanh(x)


def _plain_discriminator(x):
    for channels, stride in [(8, 2), (16, 1), (32, 2), (64, 1), (128, 2)]:
        x = hk.Conv2D(channels, kernel_shape=5, stride=stride)(x)
        x = jnp.where(x > 0, x, 0.2 * x)
    return hk.Linear(2)(x.reshape(x.shape[0], -1))


def _module(cls):
    """The network that a module class makes, as a pair of pure functions."""

    def forward(x):
        return cls()(x)

    return hk.without_apply_rng(hk.transform(forward))


def _plain(name, f):
    """The same for a function, whose parameters are named as those of a module."""

    def forward(x):
        return hk.to_module(f)(name)(x)

    return hk.without_apply_rng(hk.transform(forward))


_PAIR = {
    "generator": (
        _module(ReferenceGenerator),
        _plain("reference_generator", _plain_generator),
        (3, 20),
        117_889,
    ),
    "discriminator": (
        _module(ReferenceDiscriminator),
        _plain("reference_discriminator", _plain_discriminator),
        (3, 28, 28, 1),
        276_546,
    ),
}


@pytest.mark.parametrize("player", _PAIR)
def test_parameters_are_those_of_plain_haiku(player):
    ours, plain, shape, count = _PAIR[player]
    key, x = jax.random.key(1), jnp.ones(shape)
    params, wanted = jax.jit(lambda: (ours.init(key, x), plain.init(key, x)))()
    assert parameter_table(params) == parameter_table(wanted)
    assert count_parameters(params) == count
    assert_trees_close(params, wanted, rtol=0)


@pytest.mark.parametrize("player", _PAIR)
def test_values_and_gradients_are_those_of_plain_haiku(player):
    ours, plain, shape, _ = _PAIR[player]
    x = jax.random.normal(jax.random.key(2), shape)
    params = jax.jit(ours.init)(jax.random.key(1), x)
    out = jax.eval_shape(ours.apply, params, x)
    cotangent = jax.random.normal(jax.random.key(3), out.shape)

    def values_and_gradients(net):
        out, pull = jax.vjp(net.apply, params, x)
        return out, pull(cotangent)

    found = jax.jit(lambda: values_and_gradients(ours))()
    wanted = jax.jit(lambda: values_and_gradients(plain))()
    assert_trees_close(found, wanted, rtol=1e-4, atol=1e-5)


def test_module_names_are_what_haiku_calls_them():
    ours, _, shape, _ = _PAIR["generator"]
    params = jax.eval_shape(ours.init, jax.random.key(0), jnp.ones(shape))
    assert list(params) == [
        "reference_generator/conv2_d_transpose",
        "reference_generator/conv2_d_transpose_1",
        "reference_generator/linear",
    ]


def test_images_lie_between_minus_one_and_one():
    ours, _, shape, _ = _PAIR["generator"]
    z = 100 * jax.random.normal(jax.random.key(0), shape)
    images = ours.apply(ours.init(jax.random.key(1), z), z)
    assert images.shape == (3, 28, 28, 1)
    assert float(jnp.abs(images).max()) == 1.0


@pytest.mark.parametrize(
    ("player", "shape", "wanted"),
    [
        ("generator", (3, 10), r"\(3, 10\), wanted \(batch, 20\)"),
        ("generator", (20,), r"\(20,\), wanted \(batch, 20\)"),
        ("discriminator", (28, 28, 1), r"\(28, 28, 1\), wanted \(batch, 28, 28, 1\)"),
        ("discriminator", (3, 784), r"\(3, 784\), wanted \(batch, 28, 28, 1\)"),
        ("discriminator", (3, 1, 28, 28), r"wanted \(batch, 28, 28, 1\)"),
    ],
)
def test_a_wrong_shape_is_named_with_the_wanted_one(player, shape, wanted):
    with pytest.raises(ValueError, match=wanted):
        _PAIR[player][0].init(jax.random.key(0), jnp.ones(shape))

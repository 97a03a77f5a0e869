import haiku as hk
import jax
import jax.numpy as jnp
import pytest

import haiku_nets
from haiku_nets import Conv2D, Conv2DTranspose


@pytest.mark.parametrize("cls", [Conv2D, Conv2DTranspose])
def test_a_mask_of_another_shape_is_named_with_the_wanted_one(cls):
    def forward(x):
        return cls(4, 3, mask=jnp.ones((3, 3)))(x)

    with pytest.raises(ValueError, match=r"shape \(3, 3\), wanted .*\(3, 3, 4, 4\)"):
        hk.transform(forward).init(jax.random.key(0), jnp.ones((1, 5, 5, 4)))


@pytest.mark.parametrize("cls", [Conv2D, Conv2DTranspose])
def test_the_mask_takes_weights_away(cls):
    def forward(x):
        return cls(4, 3, mask=jnp.zeros((3, 3, 4, 4)))(x)

    net = hk.without_apply_rng(hk.transform(forward))
    x = jnp.ones((1, 5, 5, 4))
    params = net.init(jax.random.key(0), x)
    assert jnp.abs(params[next(iter(params))]["w"]).min() > 0
    assert jnp.abs(net.apply(params, x)).max() == 0


@pytest.mark.parametrize("name", ["Conv2D", "Conv2DTranspose"])
@pytest.mark.parametrize(("channels", "features"), [(0, 3), (2, 0), (0, 0)])
def test_without_channels_a_layer_is_its_bias_as_in_haiku(
    name, channels, features, assert_close
):
    x = jax.random.normal(jax.random.key(0), (2, 4, 4, channels))

    def net_of(library, w_init=jnp.zeros):
        def f(x):
            layer = getattr(library, name)
            return layer(features, 3, stride=2, w_init=w_init)(x)

        return hk.without_apply_rng(hk.transform(f))

    def values(net, params):
        def loss(params, x):
            return jnp.sum(jnp.tanh(net.apply(params, x)))

        return net.apply(params, x), jax.grad(loss, argnums=(0, 1))(params, x)

    ours, plain = net_of(haiku_nets), net_of(hk)
    params = jax.tree.map(lambda p: p + 2.0, ours.init(jax.random.key(1), x))
    assert_close(values(ours, params), values(plain, params), to=1e-6)
    # Haiku's own initialiser divides by the number of channels.
    default = net_of(haiku_nets, None).init(jax.random.key(1), x)
    assert jax.tree.map(jnp.shape, default) == jax.tree.map(jnp.shape, params)

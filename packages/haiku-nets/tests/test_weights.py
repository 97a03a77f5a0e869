import haiku as hk
import jax
import jax.numpy as jnp
import pytest

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

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haiku_nets._canonical import correlate, spread
from haiku_nets._forms import Window

_IMAGE = (6, 5)
_WINDOWS = [
    Window(
        image=_IMAGE,
        kernel=(k, k + 1),
        stride=(s, 2),
        low=(low, low + 1),
        positions=(positions, 3),
        everywhere=everywhere,
    )
    for (k, s, low, positions), everywhere in itertools.product(
        [
            (3, 1, 1, 6),
            (1, 2, 0, 3),
            (4, 3, 5, 4),
            (2, 1, -1, 4),
            (3, 2, 0, 1),
            (1, 4, 2, 2),
        ],
        [True, False],
    )
]


def _operands(window):
    keys = jax.random.split(jax.random.key(0), 3)
    x = jax.random.normal(keys[0], (2, *window.image, 2))
    w = jax.random.normal(keys[1], (*window.kernel, 2, 3))
    return x, w, jax.random.normal(keys[2], (2, *window.positions, 3))


@pytest.mark.parametrize("window", _WINDOWS)
def test_gradients_are_transposes_of_each_other(window):
    x, w, y = _operands(window)

    @jax.jit
    def products():
        by_x, by_w = jax.vjp(lambda x, w: correlate(x, w, window), x, w)[1](y)
        by_y, spread_by_w = jax.vjp(lambda y, w: spread(y, w, window), y, w)[1](x)
        return (
            jnp.vdot(correlate(x, w, window), y),
            jnp.vdot(spread(y, w, window), x),
            jnp.vdot(by_x, x),
            jnp.vdot(by_w, w),
            jnp.vdot(by_y, y),
            jnp.vdot(spread_by_w, w),
        )

    products = products()
    np.testing.assert_allclose(products, [products[0]] * 6, rtol=1e-4, atol=1e-4)


def test_a_layer_on_data_does_not_compute_the_gradient_for_the_data():
    window = _WINDOWS[0]
    x, w, _ = _operands(window)

    def loss(w):
        return jnp.sum(correlate(x, w, window))

    text = jax.jit(jax.grad(loss)).lower(w).as_text()
    assert text.count("stablehlo.convolution") <= 2

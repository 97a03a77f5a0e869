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


def test_second_derivatives_are_canonical_too():
    window = Window((6, 6), (3, 3), (2, 2), (1, 1), (3, 3))
    x, w, _ = _operands(window)

    def penalty(w, x):
        def score(x):
            return jnp.sum(jnp.tanh(correlate(x, w, window)))

        return jnp.sum(jnp.square(jax.grad(score)(x)))

    text = jax.jit(jax.grad(penalty, argnums=(0, 1))).lower(w, x).as_text()
    convolutions = [line for line in text.splitlines() if "stablehlo.conv" in line]
    convolutions = [line for line in convolutions if "dim_numbers" in line]
    assert convolutions
    for line in convolutions:
        assert "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]" in line
        assert "lhs_dilate = [1, 1]" in line


def test_it_exports_for_several_platforms():
    window = Window((6, 6), (3, 3), (2, 2), (1, 1), (3, 3))
    x, w, y = _operands(window)

    @jax.jit
    def gradient(y, w):
        return jax.grad(lambda w: jnp.vdot(spread(y, w, window), x))(w)

    exported = jax.export.export(gradient, platforms=("cpu", "tpu"))(y, w)
    np.testing.assert_allclose(exported.call(y, w), gradient(y, w), rtol=1e-6)


def test_it_is_one_operation_where_jit_is_disabled():
    x, w, y = _operands(_WINDOWS[0])
    wanted = correlate(x, w, _WINDOWS[0])
    with jax.disable_jit():
        found = correlate(x, w, _WINDOWS[0])
        gradient = jax.grad(lambda w: jnp.vdot(correlate(x, w, _WINDOWS[0]), y))(w)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    assert gradient.shape == w.shape

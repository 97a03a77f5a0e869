"""LeNet: its arithmetic against a NumPy loop, and what it refuses."""

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haiku_nets import LeNet, count_parameters


def _net(**options):
    def judge(images):
        return LeNet(**options)(images)

    return hk.without_apply_rng(hk.transform(judge))


def _conv(x, w, b, *, pad):
    """A convolution as loops over the kernel's places; float64."""
    x = np.pad(x, ((pad, pad), (pad, pad), (0, 0)))
    k = w.shape[0]
    rows, columns = x.shape[0] - k + 1, x.shape[1] - k + 1
    out = np.zeros((rows, columns, w.shape[3]))
    for i in range(k):
        for j in range(k):
            out += x[i : i + rows, j : j + columns] @ w[i, j]
    return out + b


def _pool(x):
    rows, columns = x.shape[0] // 2, x.shape[1] // 2
    x = x[: 2 * rows, : 2 * columns].reshape(rows, 2, columns, 2, -1)
    return x.max((1, 3))


def test_it_computes_what_the_loops_compute():
    net = _net(channels=(3, 4), hidden=(7, 5))
    images = jax.random.normal(jax.random.key(0), (2, 14, 13, 2))
    params = net.init(jax.random.key(1), images)
    found = net.apply(params, images)
    p = jax.tree.map(lambda a: np.asarray(a, np.float64), params)
    for row, image in enumerate(np.asarray(images, np.float64)):
        x = image
        for name, pad in (("conv2_d", 2), ("conv2_d_1", 0)):
            layer = p[f"le_net/{name}"]
            x = _pool(np.maximum(_conv(x, layer["w"], layer["b"], pad=pad), 0))
        x = x.ravel()
        for name in ("linear", "linear_1"):
            layer = p[f"le_net/{name}"]
            x = np.maximum(x @ layer["w"] + layer["b"], 0)
        np.testing.assert_allclose(found.features[row], x, rtol=1e-4, atol=1e-5)
        layer = p["le_net/linear_2"]
        wanted = x @ layer["w"] + layer["b"]
        np.testing.assert_allclose(found.logits[row], wanted, rtol=1e-4, atol=1e-5)


def test_the_default_has_the_stated_number_of_parameters():
    images = jnp.zeros((1, 28, 28, 1))
    params = jax.eval_shape(_net().init, jax.random.key(0), images)
    assert count_parameters(params) == 120_382


@pytest.mark.parametrize("shape", [(28, 28, 1), (1, 11, 28, 1), (1, 28, 11, 1)])
def test_images_that_it_cannot_pool_are_refused(shape):
    with pytest.raises(ValueError, match=r"LeNet found images of shape .* 12 rows"):
        _net().init(jax.random.key(0), jnp.zeros(shape))

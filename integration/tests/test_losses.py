import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mnist_gan import _losses


def entropy(logits, label):
    """Cross entropy in float64, one row at a time."""
    wide = np.asarray(logits, np.float64)
    return [np.log(np.exp(row - row[label]).sum()) for row in wide]


def test_the_losses_are_mean_cross_entropies():
    real, fake = np.random.default_rng(0).normal(size=(2, 5, 2)).astype(np.float32)
    np.testing.assert_allclose(
        _losses.softmax_gen(real, fake), np.mean(entropy(fake, 1)), rtol=1e-6
    )
    np.testing.assert_allclose(
        _losses.softmax_disc(real, fake),
        np.mean(np.add(entropy(real, 1), entropy(fake, 0))),
        rtol=1e-6,
    )


def test_the_equilibrium_is_where_the_discriminator_cannot_tell():
    same = jnp.full((3, 2), 0.7)
    found = _losses.softmax_gen(same, same), _losses.softmax_disc(same, same)
    np.testing.assert_allclose(found, _losses.SOFTMAX_EQUILIBRIUM, rtol=1e-6)


@pytest.mark.parametrize("gap", [90.0, 1e4])
def test_gradients_stay_finite_when_the_discriminator_is_certain(gap):
    logits = jnp.array([[gap, 0.0]])
    np.testing.assert_allclose(
        jax.grad(_losses.softmax_gen, 1)(logits, logits), [[1.0, -1.0]]
    )


def test_the_relativistic_losses_are_entropies_of_the_difference():
    real, fake = np.random.default_rng(2).normal(size=(2, 5, 1)).astype(np.float32)
    gap = np.concatenate([fake - real, np.zeros_like(real)], 1)
    found = _losses.relativistic_gen(real, fake), _losses.relativistic_disc(real, fake)
    wanted = np.mean(entropy(gap, 0)), np.mean(entropy(gap, 1))
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    same = jnp.full((3, 1), 0.7)
    found = _losses.relativistic_gen(same, same), _losses.relativistic_disc(same, same)
    np.testing.assert_allclose(found, _losses.RELATIVISTIC_EQUILIBRIUM, rtol=1e-6)


def test_the_penalty_of_a_quadratic_form_is_its_slope():
    weights = np.random.default_rng(3).normal(size=(6, 6)).astype(np.float32)
    images = np.random.default_rng(4).normal(size=(5, 3, 2, 1)).astype(np.float32)

    def logits(x):
        flat = x.reshape(len(x), -1)
        return jnp.sum(flat @ weights * flat, 1, keepdims=True)

    slopes = images.reshape(5, 6) @ (weights + weights.T)
    wanted = np.mean((slopes.astype(np.float64) ** 2).sum(1)) / 2
    found = _losses.gradient_penalty(logits, jnp.asarray(images))
    np.testing.assert_allclose(found, wanted, rtol=1e-5)

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
        _losses.softmax_gen(fake), np.mean(entropy(fake, 1)), rtol=1e-6
    )
    np.testing.assert_allclose(
        _losses.softmax_disc(real, fake),
        np.mean(np.add(entropy(real, 1), entropy(fake, 0))),
        rtol=1e-6,
    )


def test_the_equilibrium_is_where_the_discriminator_cannot_tell():
    same = jnp.full((3, 2), 0.7)
    found = _losses.softmax_gen(same), _losses.softmax_disc(same, same)
    np.testing.assert_allclose(found, _losses.SOFTMAX_EQUILIBRIUM, rtol=1e-6)


@pytest.mark.parametrize("gap", [90.0, 1e4])
def test_gradients_stay_finite_when_the_discriminator_is_certain(gap):
    logits = jnp.array([[gap, 0.0]])
    np.testing.assert_allclose(jax.grad(_losses.softmax_gen)(logits), [[1.0, -1.0]])

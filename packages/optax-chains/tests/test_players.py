import jax.numpy as jnp
import numpy as np

from optax_chains import Players, own_gradients


def test_each_loss_is_differentiated_by_its_own_parameters_only():
    """Against central differences in float64."""

    def gen_loss(params, x):
        return jnp.sum(jnp.sin(params.gen["a"]) * params.disc) * x

    def disc_loss(params, x):
        return jnp.sum(params.gen["a"] ** 2 * params.disc**3) + x

    a, d, x = np.array([0.3, -1.2]), np.array([0.7, 0.4]), 2.0
    gradients = own_gradients(Players(gen_loss, disc_loss))
    params = Players({"a": jnp.asarray(a, jnp.float32)}, jnp.asarray(d, jnp.float32))
    gen_value, gen_grads = gradients.gen(params, x)
    disc_value, disc_grads = gradients.disc(params, x)

    h = 1e-6
    for i in range(2):
        e = h * np.eye(2)[i]
        by_a = (np.sin(a + e) * d - np.sin(a - e) * d).sum() * x / (2 * h)
        by_d = (a**2 * (d + e) ** 3 - a**2 * (d - e) ** 3).sum() / (2 * h)
        np.testing.assert_allclose(gen_grads["a"][i], by_a, rtol=1e-5)
        np.testing.assert_allclose(disc_grads[i], by_d, rtol=1e-5)
    np.testing.assert_allclose(gen_value, (np.sin(a) * d).sum() * x, rtol=1e-6)
    np.testing.assert_allclose(disc_value, (a**2 * d**3).sum() + x, rtol=1e-6)


def test_aux_is_handed_on():
    def loss(params):
        return params.gen * params.disc, {"seen": params.gen}

    params = Players(jnp.float32(2), jnp.float32(3))
    (value, aux), grads = own_gradients(Players(loss, loss), has_aux=True).disc(params)
    assert (float(value), float(aux["seen"]), float(grads)) == (6.0, 2.0, 2.0)

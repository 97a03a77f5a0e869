import jax
import jax.numpy as jnp
import numpy as np
import optax

from optax_chains import Players, gan_adam, own_gradients, two_player


def bilinear(params):
    return params.gen * params.disc


ZERO_SUM = Players(gen=bilinear, disc=lambda params: -bilinear(params))


def test_simultaneous_descent_spirals_out_of_the_bilinear_game():
    """x' = x - a y, y' = y + a x: a rotation that grows by sqrt(1 + a^2) a step."""
    a, steps = 0.1, 50
    chains = Players(optax.sgd(a), optax.sgd(a))
    game = two_player(chains, own_gradients(ZERO_SUM))
    params = Players(jnp.float32(1), jnp.float32(0))
    state = game.init(params)
    for _ in range(steps):
        params, state, _ = game.update(params, state)
    z = (1 + 1j * a) ** steps
    np.testing.assert_allclose([params.gen, params.disc], [z.real, z.imag], rtol=1e-5)


def test_it_is_two_optax_chains_written_out():
    def gen_loss(params, x):
        return jnp.sum((params.gen * x - params.disc) ** 2)

    def disc_loss(params, x):
        return jnp.sum(jnp.cos(params.disc * params.gen) + x)

    def of_gen(gen, disc, x):
        return gen_loss(Players(gen, disc), x)

    def of_disc(disc, gen, x):
        return disc_loss(Players(gen, disc), x)

    chains = Players(gan_adam(1e-2), optax.sgd(1e-1, momentum=0.9))
    game = two_player(chains, own_gradients(Players(gen_loss, disc_loss)))
    gen, disc = jnp.array([0.5, -0.3]), jnp.array([0.2, 0.9])
    params, state = Players(gen, disc), game.init(Players(gen, disc))
    gen_state, disc_state = chains.gen.init(gen), chains.disc.init(disc)
    for i in range(10):
        x = jnp.float32(i)
        params, state, values = game.update(params, state, x)
        gen_value, g = jax.value_and_grad(of_gen)(gen, disc, x)
        disc_value, d = jax.value_and_grad(of_disc)(disc, gen, x)
        g, gen_state = chains.gen.update(g, gen_state)
        d, disc_state = chains.disc.update(d, disc_state)
        gen, disc = gen + g, disc + d
        np.testing.assert_allclose(params.gen, gen, rtol=1e-6)
        np.testing.assert_allclose(params.disc, disc, rtol=1e-6)
        np.testing.assert_allclose(values, [gen_value, disc_value], rtol=1e-6)

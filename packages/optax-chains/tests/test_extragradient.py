import bilinear
import jax.numpy as jnp
import numpy as np
import optax

from optax_chains import (
    Players,
    extragradient,
    gan_adam,
    optimistic,
    own_gradients,
    two_player,
)


def test_extragradient_converges_on_the_bilinear_game_at_the_known_rate():
    """z' = (1 + ia (1 + ia)) z: smaller by sqrt(1 - a^2 + a^4) a step."""
    a, steps = 0.3, 100
    seen = bilinear.play(extragradient(bilinear.chains(a), bilinear.GRADIENTS), steps)
    rate = 1 + 1j * a - a**2
    np.testing.assert_allclose(abs(rate), np.sqrt(1 - a**2 + a**4))
    np.testing.assert_allclose(seen, rate ** np.arange(1, steps + 1), atol=1e-5)
    assert abs(seen[-1]) < 0.02


def test_optimism_converges_on_the_bilinear_game_at_the_known_rate():
    """z' = (1 + 2ia) z - ia z_before: roots ((1 + 2ia) +- sqrt(1 - 4 a^2)) / 2."""
    a, steps = 0.3, 150
    seen = bilinear.play(optimistic(bilinear.chains(a), bilinear.GRADIENTS), steps)
    root = np.sqrt(1 - 4 * a**2)
    plus, minus = (1 + 2j * a + root) / 2, (1 + 2j * a - root) / 2
    # z_0 = 1 and z_1 = 1 + ia fix the two coefficients.
    c = (1 + 1j * a - minus) / (plus - minus)
    t = np.arange(1, steps + 1)
    np.testing.assert_allclose(seen, c * plus**t + (1 - c) * minus**t, atol=1e-5)
    assert abs(seen[-1]) < 0.02


def test_simultaneous_steps_diverge_on_the_same_game():
    seen = bilinear.play(two_player(bilinear.chains(0.3), bilinear.GRADIENTS), 50)
    np.testing.assert_allclose(abs(seen[-1]), (1 + 0.3**2) ** 25, rtol=1e-4)


def test_the_step_ahead_leaves_no_trace_in_the_state():
    """With momentum, against the loop written out."""
    losses = Players(
        gen=lambda p: jnp.sum(p.gen**2 * p.disc), disc=lambda p: jnp.sum(p.disc * p.gen)
    )
    chains = Players(optax.sgd(0.1, momentum=0.9), optax.sgd(lambda t: 0.1 / (t + 1)))
    game = extragradient(chains, own_gradients(losses))
    params = Players(jnp.array([1.0, -2.0]), jnp.array([0.5, 0.3]))
    state = game.init(params)
    x, y, v = np.array([1.0, -2.0]), np.array([0.5, 0.3]), np.zeros(2)
    for t in range(4):
        params, state, _ = game.update(params, state)
        rate = 0.1 / (t + 1)
        ahead_x = x - 0.1 * (2 * x * y + 0.9 * v)
        ahead_y = y - rate * x
        v = 2 * ahead_x * ahead_y + 0.9 * v
        x, y = x - 0.1 * v, y - rate * ahead_x
        np.testing.assert_allclose(params.gen, x, rtol=1e-4)
        np.testing.assert_allclose(params.disc, y, rtol=1e-4)


def test_optimistic_adam_is_optax():
    game = optimistic(Players(gan_adam(0.1), gan_adam(0.1)), bilinear.GRADIENTS)
    alone = optax.chain(gan_adam(0.1), optax.scale_by_optimistic_gradient())
    params = Players(jnp.float32(1), jnp.float32(0.5))
    state, alone_state, x = game.init(params), alone.init(params.gen), params.gen
    for _ in range(5):
        u, alone_state = alone.update(params.disc, alone_state)
        params, state, _ = game.update(params, state)
        x = x + u
        np.testing.assert_allclose(params.gen, x, rtol=1e-6)

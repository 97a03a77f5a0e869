import bilinear
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from optax_chains import Players, alternating, own_gradients, several_disc_steps


def test_it_goes_round_the_bilinear_game_for_ever():
    """y' = y + a x, x' = x - a y': determinant 1, trace 2 - a^2; a rotation."""
    a, steps = 0.2, 300
    seen = bilinear.play(alternating(bilinear.chains(a), bilinear.GRADIENTS), steps)
    one = np.array([[1 - a**2, -a], [a, 1.0]])
    np.testing.assert_allclose(np.abs(np.linalg.eigvals(one)), [1, 1])
    wanted = [np.linalg.matrix_power(one, t + 1)[:, 0] for t in range(steps)]
    wanted = np.array(wanted) @ [1, 1j]
    np.testing.assert_allclose(seen, wanted, atol=2e-4)
    assert 0.9 < np.abs(seen[-60:]).max() < 1.2


def test_the_critic_takes_n_steps_on_n_batches():
    """Against the loop written out, with momentum."""
    losses = Players(
        gen=lambda p, x: jnp.sum((p.gen - p.disc) ** 2 * x),
        disc=lambda p, x: jnp.sum((p.disc - x) ** 2 * p.gen),
    )
    gradients = own_gradients(losses)
    chains = Players(optax.sgd(0.1), optax.sgd(0.1, momentum=0.9))
    game = several_disc_steps(chains, gradients, n=3)
    params = Players(jnp.array([1.0, 2.0]), jnp.array([0.5, 0.1]))
    x = jnp.array([0.3, 0.2, 0.9])
    found, _, values = game.update(params, game.init(params), x)
    gen, disc, velocity = np.array([1.0, 2.0]), np.array([0.5, 0.1]), 0
    for x_i in (0.3, 0.2, 0.9):
        value = np.sum((disc - x_i) ** 2 * gen)
        velocity = 2 * (disc - x_i) * gen + 0.9 * velocity
        disc = disc - 0.1 * velocity
    np.testing.assert_allclose(found.disc, disc, rtol=1e-5)
    np.testing.assert_allclose(found.gen, gen - 0.1 * 2 * (gen - disc) * 0.9, rtol=1e-5)
    np.testing.assert_allclose(values.disc, value, rtol=1e-5)
    np.testing.assert_allclose(values.gen, np.sum((gen - disc) ** 2 * 0.9), rtol=1e-5)


def test_one_critic_step_is_alternating():
    one = several_disc_steps(bilinear.chains(0.1), bilinear.GRADIENTS, n=1)
    other = alternating(bilinear.chains(0.1), bilinear.GRADIENTS)
    np.testing.assert_array_equal(bilinear.play(one, 5), bilinear.play(other, 5))


def test_batches_that_are_not_n_are_refused():
    game = several_disc_steps(bilinear.chains(0.1), bilinear.GRADIENTS, n=3)
    params = Players(jnp.float32(1), jnp.float32(0))
    with pytest.raises(
        ValueError, match=r"shape \(2, 4\), wanted .* \(3, ...\); stack"
    ):
        game.update(params, game.init(params), jnp.ones((2, 4)))
    with pytest.raises(ValueError, match="n is 0; type 1 or more"):
        several_disc_steps(bilinear.chains(0.1), bilinear.GRADIENTS, n=0)

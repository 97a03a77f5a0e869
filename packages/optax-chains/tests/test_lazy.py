import bilinear
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from optax_chains import Players, alternating, lazy, own_gradients, two_player

EVERY = 4
PENALTIES = own_gradients(Players(None, lambda p, *args: 0.5 * jnp.sum(p.disc**2)))


@pytest.mark.parametrize("make", [two_player, alternating])
def test_penalties_come_every_k_moves_and_k_times_as_strong(make):
    game = lazy(
        make,
        bilinear.chains(0.1),
        bilinear.GRADIENTS,
        penalties=PENALTIES,
        every=EVERY,
    )
    seen = bilinear.play(game, 10)
    x, y = 1.0, 0.0
    for t, z in enumerate(seen):
        y_before = y
        y = y + 0.1 * (x - (EVERY * y if t % EVERY == 0 else 0))
        x = x - 0.1 * (y if make is alternating else y_before)
        np.testing.assert_allclose([z.real, z.imag], [x, y], rtol=1e-4, atol=1e-6)


def test_moves_without_penalties_do_not_compute_them():
    ran = []

    def watched(params, *args):
        jax.debug.callback(lambda: ran.append(1))
        return PENALTIES.disc(params, *args)

    game = lazy(
        two_player,
        bilinear.chains(0.1),
        bilinear.GRADIENTS,
        penalties=Players(None, watched),
        every=EVERY,
    )
    step = jax.jit(game.update)
    params = Players(jnp.float32(1), jnp.float32(1))
    state = game.init(params)
    for _ in range(3 * EVERY):
        params, state, _ = step(params, state)
    jax.effects_barrier()
    assert len(ran) == 3


def test_every_move_is_the_plain_sum():
    both = own_gradients(
        Players(bilinear.price, lambda p: -bilinear.price(p) + 0.5 * p.disc**2)
    )
    game = lazy(
        two_player,
        bilinear.chains(0.1),
        bilinear.GRADIENTS,
        penalties=PENALTIES,
        every=1,
    )
    plain = two_player(bilinear.chains(0.1), both)
    np.testing.assert_allclose(bilinear.play(game, 9), bilinear.play(plain, 9))


def test_what_cannot_be_is_refused():
    chains = Players(optax.sgd(0.1), optax.sgd(0.1))
    with pytest.raises(ValueError, match="every is 0; type 1 or more"):
        lazy(two_player, chains, bilinear.GRADIENTS, penalties=PENALTIES, every=0)
    with pytest.raises(TypeError, match="lazy: penalties is tuple, wanted Players"):
        lazy(two_player, chains, bilinear.GRADIENTS, penalties=(None, None))

import bilinear
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from optax_chains import Players, extragradient, lookahead, two_player


@pytest.mark.parametrize("every", [1, 5, 20])
def test_it_pulls_simultaneous_steps_into_the_middle(every):
    """Each `every` steps z becomes (1 - s + s (1 + ia)^every) z."""
    a, s, rounds = 0.1, 0.5, 40
    game = two_player(bilinear.chains(a), bilinear.GRADIENTS)
    seen = bilinear.play(lookahead(game, every=every, step=s), every * rounds)
    rate = 1 - s + s * (1 + 1j * a) ** every
    wanted = rate ** np.arange(1, rounds + 1)
    np.testing.assert_allclose(seen[every - 1 :: every], wanted, atol=1e-4)
    assert (abs(rate) < 1) == (every > 1)


def test_between_two_pulls_the_game_runs_as_it_does():
    game = extragradient(bilinear.chains(0.1), bilinear.GRADIENTS)
    seen = bilinear.play(lookahead(game, every=9), 8)
    np.testing.assert_array_equal(seen, bilinear.play(game, 8))


def test_parameters_and_state_may_both_be_donated():
    game = lookahead(two_player(bilinear.chains(0.1), bilinear.GRADIENTS))
    params = Players(jnp.ones(3), jnp.ones(3))
    state = jax.jit(game.init)(params)
    pointers = {
        leaf.unsafe_buffer_pointer() for leaf in jax.tree.leaves((params, state.slow))
    }
    assert len(pointers) == 4


def test_no_moves_between_pulls_are_refused():
    with pytest.raises(ValueError, match="every is 0; type 1 or more"):
        lookahead(two_player(bilinear.chains(0.1), bilinear.GRADIENTS), every=0)

"""What recipes may ask of a step beside the reference: averages and lazy penalties."""

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from chex_harness import assert_trees_close
from mnist_gan import _game, _recipes
from mnist_gan._devices import place
from mnist_gan._losses import Penalty
from mnist_gan._recipes import RECIPES


def make(latents):
    return jnp.tanh(hk.Linear(28 * 28)(latents)).reshape(-1, 28, 28, 1)


def judge(images):
    return hk.Linear(1)(jnp.tanh(hk.Linear(4)(hk.Flatten()(images))))


SMALL = RECIPES["best"]._replace(generator=lambda: make, discriminator=lambda: judge)
IMAGES = np.random.default_rng(0).integers(0, 256, (4, 8, 28, 28), np.uint8)


def states(recipe):
    """The states before and after each of four steps."""
    update = jax.jit(_game.update(recipe, place(1).mesh))
    found = [_game.init(recipe, 0)]
    for images in IMAGES:
        found.append(update(found[-1], [images])[0])
    return found


@pytest.mark.parametrize("decay", [0.0, 0.15, 0.999])
def test_the_average_is_that_of_a_loop_that_forgets_the_start(decay):
    found = states(SMALL._replace(average=decay, penalty=None))
    average = found[0].params.gen
    for step, state in enumerate(found[1:]):
        share = min(decay, (1 + step) / (10 + step))
        average = jax.tree.map(
            lambda old, new, s=share: s * old + (1 - s) * new, average, state.params.gen
        )
        assert_trees_close(state.average, average, rtol=1e-5, atol=1e-7)


def test_a_penalty_moves_the_discriminator_at_its_steps_alone():
    plain = states(SMALL._replace(penalty=None))
    ruled = states(SMALL._replace(penalty=Penalty(gamma=3.0, every=3, fake=True)))
    update = jax.jit(_game.update(SMALL._replace(penalty=None), place(1).mesh))
    same = []
    for before, after, images in zip(ruled, ruled[1:], IMAGES, strict=False):
        chains = before._replace(opt_state=before.opt_state.game_state)
        without = update(chains, [images])[0].params.disc
        gaps = jax.tree.map(
            lambda a, b: jnp.abs(a - b).max(), without, after.params.disc
        )
        same.append(max(map(float, jax.tree.leaves(gaps))) < 1e-6)
    assert same == [False, True, True, False]
    assert_trees_close(plain[1].params.gen, ruled[1].params.gen, rtol=1e-5, atol=1e-7)


def test_the_rate_of_best_falls_after_five_thousand_steps():
    rate = _recipes._falling(1e-3, after=5_000)
    found = [float(rate(jnp.int32(step))) for step in (0, 1, 5_000, 10_000, 20_000)]
    np.testing.assert_allclose(found, [1e-3, 1e-3, 1e-3, 5e-4, 2.5e-4], rtol=1e-6)

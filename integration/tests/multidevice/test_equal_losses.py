"""The same run on one device and on eight."""

import jax
import numpy as np
import pytest

from mnist_gan import _game
from mnist_gan._devices import place
from mnist_gan._recipes import RECIPES

BATCH = 16
# Steps for which rounding stays below 1e-5. Adam divides by the size of a gradient, so
# it makes as much of rounding as of anything else, times the learning rate.
STEPS = {"reference": 10, "fast": 2, "best": 2, "private": 2}
IMAGES = np.random.default_rng(0).integers(
    0, 256, (max(STEPS.values()), BATCH, 28, 28), np.uint8
)


def losses_on(n, recipe, steps):
    on = place(n)
    update = jax.jit(
        _game.update(recipe, on.mesh),
        donate_argnums=0,
        in_shardings=(on.replicated, on.spread),
        out_shardings=(on.replicated, on.replicated),
    )
    state = jax.jit(lambda: _game.init(recipe, 0), out_shardings=on.replicated)()
    losses = []
    for images in IMAGES[:steps]:
        state, loss = update(state, [jax.device_put(images, on.spread)])
        losses.append([float(loss.gen[0]), float(loss.disc[0])])
    assert len(state.step.sharding.device_set) == n
    return np.asarray(losses)


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.devices(8)
def test_steps_on_eight_devices_have_the_losses_of_one(devices, name):
    eight, one = (losses_on(n, RECIPES[name], STEPS[name]) for n in (8, 1))
    np.testing.assert_allclose(eight, one, rtol=1e-5)


@pytest.mark.devices(8)
def test_only_gradients_and_losses_cross_devices(devices):
    """Data parallel: all-reduces, and nothing that moves the batch."""
    on, recipe = place(8), RECIPES["reference"]
    update = jax.jit(
        _game.update(recipe, on.mesh),
        in_shardings=(on.replicated, on.spread),
        out_shardings=(on.replicated, on.replicated),
    )
    state = jax.eval_shape(lambda: _game.init(recipe, 0))
    image = jax.ShapeDtypeStruct((BATCH, 28, 28), np.uint8)
    program = update.lower(state, [image]).compile().as_text()
    kinds = ("all-reduce", "all-gather", "all-to-all", "collective-permute")
    found = {kind: program.count(f" {kind}(") for kind in kinds}
    assert found.pop("all-reduce") > 0
    assert found == dict.fromkeys(kinds[1:], 0)

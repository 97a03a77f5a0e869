"""Weights split along `model` on eight devices of one process."""

import jax
import numpy as np
import pytest
from jax.sharding import PartitionSpec as P

from chex_harness import assert_collectives, assert_sharding
from mnist_gan import _game
from mnist_gan._devices import parse_mesh, place
from mnist_gan._errors import UserError
from mnist_gan._layout import layout
from mnist_gan._recipes import RECIPES

BATCH = 16
RECIPE = RECIPES["reference"]
SCALARS = 2  # losses


def compiled(placement):
    abstract = jax.eval_shape(lambda: _game.init(RECIPE, 0))
    lies = layout(abstract, placement)
    update = jax.jit(
        _game.update(RECIPE, placement.mesh),
        in_shardings=(lies, placement.spread),
        out_shardings=(lies, placement.replicated),
    )
    state = jax.jit(lambda: _game.init(RECIPE, 0), out_shardings=lies)()
    images = np.random.default_rng(0).integers(0, 256, (BATCH, 28, 28), np.uint8)
    return update, state, [jax.device_put(images, placement.spread)]


@pytest.mark.devices(8)
def test_weights_and_moments_are_split_and_the_rest_is_copied(devices):
    abstract = jax.eval_shape(lambda: _game.init(RECIPE, 0))
    lies = layout(abstract, place(8, {"data": 4, "model": 2}))
    large = [leaf.size >= 1024 for leaf in jax.tree.leaves(abstract.params)]
    split = ["model" in own.spec for own in jax.tree.leaves(lies.params)]
    assert split == large
    assert 5 < sum(split) < len(split)
    # Adam's two moments follow, and the average of the generator's.
    moments = sum("model" in own.spec for own in jax.tree.leaves(lies.opt_state))
    assert moments == 2 * sum(split)
    assert lies.average == lies.params.gen
    assert lies.key.spec == lies.step.spec == P()
    state = jax.jit(lambda: _game.init(RECIPE, 0), out_shardings=lies)()
    weights = state.params.disc["reference_discriminator/linear"]["w"]
    assert_sharding(weights, P("model"))
    assert weights.addressable_shards[0].data.shape == (1024, 2)


@pytest.mark.devices(8)
def test_data_parallel_only_gradients_and_losses_cross_devices(devices):
    """All-reduces alone, and their bytes those of the parameters and the losses."""
    update, state, images = compiled(place(8))
    parameters = sum(leaf.size for leaf in jax.tree.leaves(state.params))
    assert parameters == 117_889 + 276_546
    assert_collectives(
        update,
        (state, images),
        all_reduce=1,
        at_most_bytes=4 * (parameters + SCALARS),
    )


@pytest.mark.parametrize("text", ["data", "data=0", "model=2", "data=2,rows=2", "8"])
def test_a_mesh_that_is_none(text):
    with pytest.raises(ValueError, match="wanted data=N"):
        parse_mesh(text)


def test_a_mesh_of_more_devices_than_there_are(devices):
    with pytest.raises(UserError, match=r"--mesh data=64: is for 64 devices, found 8"):
        place(None, {"data": 64})

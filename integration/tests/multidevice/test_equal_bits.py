"""With `--blocks`, the bits of a run do not depend on how many devices compute it."""

import jax
import numpy as np
import pytest

from chex_harness import assert_trees_close
from mnist_gan._devices import place
from mnist_gan._recipes import RECIPES

# ruff: noqa: TID252  (the steps are those of the rung above)
from ..multiprocess.test_equal_results import run

RECIPE = RECIPES["reference"]._replace(blocks=8)


def run_in_blocks(placement):
    losses, samples, state, _ = run(placement, RECIPE)
    return losses, samples, jax.device_get(state._replace(key=None))


@pytest.fixture(scope="module")
def alone():
    return run_in_blocks(place(1))


@pytest.mark.parametrize("axes", [{"data": 2}, {"data": 8}], ids=str)
@pytest.mark.devices(8)
def test_bits_are_those_of_one_device(devices, alone, axes):
    here = run_in_blocks(place(axes["data"], axes))
    assert_trees_close(here, alone, rtol=0)


@pytest.mark.devices(8)
def test_with_split_weights_losses_and_samples_are_those_of_one_device(devices, alone):
    here = run_in_blocks(place(8, {"data": 4, "model": 2}))
    for mine, theirs in zip(here[:2], alone[:2], strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-5)

"""Ten steps in float64 are the same on every mesh, so what float32 leaves is rounding.

In float32 the losses agree to 1e-5, and the samples less closely, since Adam moves a
weight by its learning rate even where the gradient is rounding alone.
"""

import numpy as np
import pytest

from mnist_gan._devices import place

# ruff: noqa: TID252  (the steps are those of the rung above)
from ..multiprocess.test_equal_results import run_wide


@pytest.fixture(scope="module")
def alone():
    return run_wide(place(1))


@pytest.mark.parametrize("axes", [{"data": 8}, {"data": 4, "model": 2}], ids=str)
@pytest.mark.devices(8)
def test_losses_and_samples_are_those_of_one_device(devices, alone, axes):
    for here, there in zip(run_wide(place(8, axes)), alone, strict=True):
        assert here.dtype == np.float64
        np.testing.assert_allclose(here, there, rtol=0, atol=1e-12)

"""A v5e slice of 16 chips on 4 hosts, as CPU processes in its order of devices.

On a slice the devices along the mesh follow the torus, so that a host's rows are not
neighbours. Nothing here has been run on a slice.
"""

import jax
import numpy as np
import pytest
from jax.sharding import AxisType, Mesh

from chex_harness import assert_trees_close, run_processes
from mnist_gan import _game
from mnist_gan._checkpoints import Checkpoint, Checkpoints
from mnist_gan._devices import on_mesh, place

# ruff: noqa: TID252  (the steps are those of the rung below)
from ..multiprocess.test_equal_results import BATCH, CLOSE, STEPS, rows, run
from ..multiprocess.tiny import TINY

# Which host has the device at each place of the mesh, of v5e:4x4 laid out by
# jax.experimental.mesh_utils.
HOSTS = (0, 0, 1, 1, 1, 1, 0, 2, 3, 3, 3, 3, 2, 2, 2, 0)


def slice_of_16():
    left = {host: [] for host in range(4)}
    for device in jax.devices():
        left[device.process_index].append(device)
    devices = np.array([left[host].pop(0) for host in HOSTS])
    return on_mesh(Mesh(devices, ("data",), axis_types=(AxisType.Auto,)))


def work(folder):
    placement = slice_of_16()
    losses, _, state, position = run(placement, TINY)
    checkpoints = Checkpoints(folder)
    checkpoints.save(Checkpoint(state, position))
    checkpoints.finish()
    checkpoints.close()
    return {"losses": losses, "rows": rows(placement)}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pod") / "checkpoints"
    results = run_processes(
        work, processes=4, devices=4, timeout=300, args=(str(folder),)
    )
    return results, folder


@pytest.mark.nightly
def test_losses_are_those_of_one_device(found):
    losses, *_ = run(place(1), TINY)
    for result in found[0]:
        np.testing.assert_allclose(result["losses"], losses, **CLOSE)


@pytest.mark.nightly
def test_every_row_is_read_once_by_the_host_that_has_its_place(found):
    wanted = rows(place(1))
    for step in range(2):
        union = {}
        for host, result in enumerate(found[0]):
            here = result["rows"][step]
            assert sorted(here) == [i for i, own in enumerate(HOSTS) if own == host]
            union |= here
        assert union == wanted[step]
        assert len(union) == BATCH


@pytest.mark.nightly
def test_the_checkpoint_of_16_is_restored_on_8_and_on_1(found):
    abstract = jax.eval_shape(lambda: _game.init(TINY, 0))
    checkpoints = Checkpoints(found[1])
    eight, one = (
        checkpoints.restore(abstract, place(n).replicated).state for n in (8, 1)
    )
    checkpoints.close()
    assert int(one.step) == STEPS
    assert_trees_close(eight, one, rtol=0)

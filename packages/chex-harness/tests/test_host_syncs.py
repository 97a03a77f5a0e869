import copy
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from chex_harness import assert_no_host_sync, assert_no_transfers

X = jnp.ones(())
READS = {
    "float": float,
    "int": int,
    "bool": bool,
    "item": lambda x: x.item(),
    "tolist": lambda x: x.tolist(),
    "str": str,
    "format": lambda x: f"{x:.2f}",
    # Looked up when they are called: what was imported before is not seen.
    "asarray": lambda x: np.asarray(x),  # noqa: PLW0108
    "array": lambda x: np.array(x),  # noqa: PLW0108
    "from_dlpack": lambda x: np.from_dlpack(x),  # noqa: PLW0108
    "dlpack": lambda x: jax.dlpack.from_dlpack(x),  # noqa: PLW0108
    "pickle": pickle.dumps,
    "device_get": lambda x: jax.device_get({"a": x}),
    "block_until_ready": lambda x: x.block_until_ready(),
    "block tree": lambda x: jax.block_until_ready({"a": x}),
    "barrier": lambda x: jax.effects_barrier(),
    "if": lambda x: 1 if x > 0 else 2,
}


@pytest.mark.parametrize("name", READS)
def test_each_door_is_counted_once_with_its_line(name):
    read = READS[name]
    wanted = pytest.raises(AssertionError, match="waits for the device 1 times")
    with wanted as caught, assert_no_host_sync():
        read(X)
    assert "test_host_syncs.py:" in str(caught.value)


def test_dispatch_is_no_read():
    step = jax.jit(lambda x: x + 1)
    with assert_no_host_sync() as reads:
        x = step(X)
        x = jax.tree.map(lambda x: x * 2, {"x": x})["x"]
        assert x.shape == ()
        assert x.dtype == jnp.float32
        jax.jit(lambda x: x - 7)(x)  # compiles: its constants are read by jax itself
    assert reads == []


def test_a_copy_on_the_device_is_no_read():
    with assert_no_host_sync() as reads:
        copied = copy.deepcopy({"x": X})["x"]
    assert reads == []
    assert copied.devices() == X.devices()


def test_reads_in_c_and_by_older_names_are_the_blind_spots_that_are_told():
    older = np.asarray
    with assert_no_host_sync() as reads:
        np.mean(jnp.ones(2))
        older(np.ones(2))
    assert reads == []
    for told in ("np.mean(x)", "memoryview(x)", "from numpy import asarray"):
        assert told in assert_no_host_sync.__doc__


def test_numpy_arrays_are_no_reads():
    with assert_no_host_sync():
        np.asarray(np.ones(3)), float(np.float32(1))


def test_some_may_be_allowed():
    with assert_no_host_sync(at_most=2) as reads:
        float(X), float(X)
    assert len(reads) == 2


def test_it_moves_nothing_itself():
    step = jax.jit(lambda x: x + 2)
    step(X)
    with assert_no_transfers(), assert_no_host_sync():
        step(X)


def test_the_doors_are_closed_again():
    before = (np.asarray, type(X).__float__, jax.device_get)
    with pytest.raises(KeyError), assert_no_host_sync():
        raise KeyError
    assert before == (np.asarray, type(X).__float__, jax.device_get)

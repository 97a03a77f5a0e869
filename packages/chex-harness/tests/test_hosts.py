import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from chex_harness import assert_same_on_all_hosts, run_processes


def test_one_process_agrees_with_itself():
    assert_same_on_all_hosts(
        {"x": jnp.ones(3), "k": jax.random.key(0), "n": 3, "e": {}}
    )
    assert_same_on_all_hosts({})


@pytest.mark.devices(4)
def test_copies_on_devices_are_compared(devices, mesh):
    copies = NamedSharding(mesh, P())
    each = [
        jax.device_put(jnp.full(3, i == 2, float), d) for i, d in enumerate(devices)
    ]
    split = jax.make_array_from_single_device_arrays((3,), copies, each)
    assert split.is_fully_replicated
    with pytest.raises(AssertionError, match=r"1 of 2 leaves are not the same"):
        assert_same_on_all_hosts({"a": jnp.ones(2), "w": split})
    rows = jax.device_put(jnp.arange(4.0), NamedSharding(mesh, P("data")))
    assert_same_on_all_hosts(rows)


def hosts():
    """What two processes find; every message is the same on both."""
    me = jax.process_index()
    mesh = jax.make_mesh((4,), ("data",))
    rows, copies = NamedSharding(mesh, P("data")), NamedSharding(mesh, P())
    put = jax.make_array_from_callback
    good = {
        "rows": put((4,), rows, lambda i: np.arange(4.0)[i]),
        "copies": put((3,), copies, lambda i: np.ones(3)),
        "mine": np.arange(3),
    }
    assert_same_on_all_hosts(good)
    told = []
    for bad in [
        {**good, "seed": me},
        {**good, "copies": put((3,), copies, lambda i: np.ones(3) + me)},
        {**good, "mine": np.arange(3 + me)},
    ]:
        try:
            assert_same_on_all_hosts(bad)
        except AssertionError as error:
            told.append(str(error))
    return told


def test_hosts_that_differ_are_named():
    for found in run_processes(hosts):
        seed, copies, shape = found
        assert "['seed']" in seed
        assert "on process 0, " in seed
        assert "1 of 3 leaves are not the same everywhere:\n  ['copies']" in copies
        assert "differ in structure, shapes or dtypes" in shape

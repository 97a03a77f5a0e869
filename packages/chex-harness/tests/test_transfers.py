import jax
import jax.numpy as jnp
import numpy as np
import pytest

from chex_harness import assert_no_transfers


@pytest.fixture(scope="module")
def step():
    step = jax.jit(lambda x, y: x * y)
    x = jnp.ones(3)
    step(x, x)
    return step, x


def test_arrays_that_are_there_pass(step):
    with assert_no_transfers():
        step[0](step[1], step[1])


@pytest.mark.parametrize("host", [np.ones(3, np.float32), 2.0])
def test_a_host_value_is_a_transfer(step, host):
    wanted = pytest.raises(
        AssertionError, match=r"host-to-device transfer.*Make the array"
    )
    with wanted, assert_no_transfers():
        step[0](step[1], host)


def test_explicit_transfers_are_allowed_unless_they_are_not():
    with assert_no_transfers():
        jax.device_put(np.ones(3))
    wanted = pytest.raises(AssertionError, match="host-to-device")
    with wanted, assert_no_transfers(explicit=False):
        jax.device_put(np.ones(3))


@pytest.mark.devices(2)
def test_what_moves_between_devices_unasked_is_a_transfer(devices):
    free = jnp.ones(3)  # on the first device, as none was named
    other = jax.device_put(free, devices[1])
    wanted = pytest.raises(AssertionError, match="device-to-device transfer")
    with wanted, assert_no_transfers():
        free + other
    with assert_no_transfers():
        jax.device_put(free, devices[1])
    with wanted, assert_no_transfers(explicit=False):
        jax.device_put(free, devices[1])


@pytest.mark.devices(8)
def test_what_a_program_is_told_to_move_is_the_blind_spot_that_is_told(mesh):
    copies = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
    rows = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))
    x = jax.device_put(np.ones(8, np.float32), rows)
    gather = jax.jit(lambda x: x * 2, out_shardings=copies)
    with assert_no_transfers():
        assert gather(x).is_fully_replicated
    for told in ("a compiled", "out_shardings=", "Array.to_device"):
        assert told in assert_no_transfers.__doc__


def test_other_errors_come_through():
    with pytest.raises(ZeroDivisionError), assert_no_transfers():
        1 / 0  # noqa: B018

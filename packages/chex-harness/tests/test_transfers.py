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


def test_other_errors_come_through():
    with pytest.raises(ZeroDivisionError), assert_no_transfers():
        1 / 0  # noqa: B018

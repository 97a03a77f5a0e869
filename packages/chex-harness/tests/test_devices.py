import subprocess
import sys

import pytest

from chex_harness import simulate_devices


def test_less_than_one_device_is_refused():
    with pytest.raises(ValueError, match=r"simulate_devices\(0\): wanted at least 1"):
        simulate_devices(0)


def test_asking_twice_for_the_same_number_is_fine(devices):
    simulate_devices(len(devices))


def test_asking_for_another_number_after_the_start_says_what_to_look_for(devices):
    with pytest.raises(RuntimeError, match="has already started, with 8 CPU device"):
        simulate_devices(len(devices) + 1)


@pytest.mark.parametrize("first", ["chex_harness", "jax"])
def test_it_holds_whichever_is_imported_first(first):
    program = f"import {first}, chex_harness, sys; chex_harness.simulate_devices(5)"
    program += "; import jax; sys.exit(len(jax.devices('cpu')))"
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, env={"JAX_PLATFORMS": "cpu"}
    )
    assert done.returncode == 5

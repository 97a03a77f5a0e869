import subprocess
import sys

import pytest

import rlax_agents

# What is no class or function, such as RECIPES, has its sentence in the source.
CALLED = [n for n in rlax_agents.__all__ if callable(getattr(rlax_agents, n))]


@pytest.mark.parametrize("name", CALLED)
def test_every_public_name_says_what_it_does(name):
    assert getattr(rlax_agents, name).__doc__


def test_the_visible_names_are_the_public_ones():
    visible = {n for n in vars(rlax_agents) if not n.startswith("_")}
    assert visible == set(rlax_agents.__all__)


def starts_a_backend(program):
    """Asks jax for another number of devices, which it refuses once it has started."""
    program += "; import jax; jax.config.update('jax_num_cpu_devices', 3)"
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True
    )
    return "before backends are initialized" in done.stderr


def test_importing_starts_no_backend():
    assert not starts_a_backend("import rlax_agents")


def test_the_check_for_a_backend_can_fail():
    assert starts_a_backend("import jax; jax.devices()")

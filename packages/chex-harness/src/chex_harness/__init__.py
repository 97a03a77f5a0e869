"""A pytest plugin, assertions and fakes for testing JAX code.

The names below load on first use: pytest imports this package to find the plugin,
and the plugin must set up the devices before jax is imported.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chex_harness._checks import CheckError, check, checked
    from chex_harness._clock import FakeClock
    from chex_harness._collectives import Collective, assert_collectives, collectives
    from chex_harness._compiles import assert_compiles
    from chex_harness._devices import simulate_devices
    from chex_harness._donation import assert_donated
    from chex_harness._fake_files import faulty_files
    from chex_harness._fake_hosts import fake_hosts
    from chex_harness._fake_mesh import fake_mesh
    from chex_harness._fake_pmap import fake_pmap
    from chex_harness._faults import CutOff, CutOffError, Delay, Kill, Stop, at_step
    from chex_harness._file_faults import Denied, DiskFull, Slow, TornWrite
    from chex_harness._gradients import assert_gradients
    from chex_harness._host_syncs import assert_no_host_sync
    from chex_harness._hosts import assert_same_on_all_hosts
    from chex_harness._laws import LAWS, Laws
    from chex_harness._nonfinite import NonFinite, find_nonfinite
    from chex_harness._outcome import Outcome, ProcessesError
    from chex_harness._processes import run_processes
    from chex_harness._shardings import assert_sharding
    from chex_harness._spec import assert_spec
    from chex_harness._specimen import Specimen
    from chex_harness._transfers import assert_no_transfers
    from chex_harness._trees import assert_trees_close
    from chex_harness._variants import Variant

__all__ = [
    "LAWS",
    "CheckError",
    "Collective",
    "CutOff",
    "CutOffError",
    "Delay",
    "Denied",
    "DiskFull",
    "FakeClock",
    "Kill",
    "Laws",
    "NonFinite",
    "Outcome",
    "ProcessesError",
    "Slow",
    "Specimen",
    "Stop",
    "TornWrite",
    "Variant",
    "assert_collectives",
    "assert_compiles",
    "assert_donated",
    "assert_gradients",
    "assert_no_host_sync",
    "assert_no_transfers",
    "assert_same_on_all_hosts",
    "assert_sharding",
    "assert_spec",
    "assert_trees_close",
    "at_step",
    "check",
    "checked",
    "collectives",
    "fake_hosts",
    "fake_mesh",
    "fake_pmap",
    "faulty_files",
    "find_nonfinite",
    "run_processes",
    "simulate_devices",
]

_HOMES = {
    "CheckError": "_checks",
    "Collective": "_collectives",
    "CutOff": "_faults",
    "CutOffError": "_faults",
    "Delay": "_faults",
    "Denied": "_file_faults",
    "DiskFull": "_file_faults",
    "FakeClock": "_clock",
    "Kill": "_faults",
    "LAWS": "_laws",
    "Laws": "_laws",
    "NonFinite": "_nonfinite",
    "Outcome": "_outcome",
    "ProcessesError": "_outcome",
    "Slow": "_file_faults",
    "Specimen": "_specimen",
    "Stop": "_faults",
    "TornWrite": "_file_faults",
    "Variant": "_variants",
    "assert_collectives": "_collectives",
    "assert_compiles": "_compiles",
    "assert_donated": "_donation",
    "assert_gradients": "_gradients",
    "assert_no_host_sync": "_host_syncs",
    "assert_no_transfers": "_transfers",
    "assert_same_on_all_hosts": "_hosts",
    "assert_sharding": "_shardings",
    "assert_spec": "_spec",
    "assert_trees_close": "_trees",
    "at_step": "_faults",
    "check": "_checks",
    "checked": "_checks",
    "collectives": "_collectives",
    "fake_hosts": "_fake_hosts",
    "fake_mesh": "_fake_mesh",
    "fake_pmap": "_fake_pmap",
    "faulty_files": "_fake_files",
    "find_nonfinite": "_nonfinite",
    "run_processes": "_processes",
    "simulate_devices": "_devices",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__

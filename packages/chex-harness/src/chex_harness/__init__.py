"""A pytest plugin, assertions and fakes for testing JAX code.

The names below load on first use: pytest imports this package to find the plugin,
and the plugin must set up the devices before jax is imported.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chex_harness._compiles import assert_compiles
    from chex_harness._devices import simulate_devices
    from chex_harness._faults import CutOff, CutOffError, Delay, Kill, Stop, at_step
    from chex_harness._outcome import Outcome, ProcessesError
    from chex_harness._processes import run_processes
    from chex_harness._trees import assert_trees_close

__all__ = [
    "CutOff",
    "CutOffError",
    "Delay",
    "Kill",
    "Outcome",
    "ProcessesError",
    "Stop",
    "assert_compiles",
    "assert_trees_close",
    "at_step",
    "run_processes",
    "simulate_devices",
]

_HOMES = {
    "CutOff": "_faults",
    "CutOffError": "_faults",
    "Delay": "_faults",
    "Kill": "_faults",
    "Outcome": "_outcome",
    "ProcessesError": "_outcome",
    "Stop": "_faults",
    "assert_compiles": "_compiles",
    "assert_trees_close": "_trees",
    "at_step": "_faults",
    "run_processes": "_processes",
    "simulate_devices": "_devices",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__

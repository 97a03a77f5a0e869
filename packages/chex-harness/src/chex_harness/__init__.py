"""A pytest plugin and assertions for testing JAX code.

The names below load on first use: pytest imports this package to find the plugin,
and the plugin must set up the devices before jax is imported.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chex_harness._compiles import assert_compiles
    from chex_harness._devices import simulate_devices
    from chex_harness._trees import assert_trees_close

__all__ = ["assert_compiles", "assert_trees_close", "simulate_devices"]

_HOMES = {
    "assert_compiles": "chex_harness._compiles",
    "assert_trees_close": "chex_harness._trees",
    "simulate_devices": "chex_harness._devices",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__

"""Tests that run in several processes: `@pytest.mark.processes(n, devices=m)`."""

import inspect
from typing import Any

import pytest

MARKER = (
    "processes(n=2, devices=2, **options): the body of the test runs in n processes "
    "joined by jax.distributed, each with that many CPU devices, and passes if it does "
    "in all of them; options are those of run_processes"
)


def run_marked(item: pytest.Function, marker: pytest.Mark) -> None:
    """Runs a marked test in its processes.

    Fixtures and parametrized values are made here, once, and pickled; what the body
    needs of jax it makes itself.

    Args:
      item: the test.
      marker: its `processes` marker.
    """
    from chex_harness._processes import (  # noqa: PLC0415  (loads when it is used)
        ProcessesError,
        run_processes,
    )

    options = _options(*marker.args, **marker.kwargs)
    names = inspect.signature(item.obj).parameters
    kwargs = {name: item.funcargs[name] for name in names}
    try:
        run_processes(item.obj, kwargs=kwargs, **options)
    except ProcessesError as error:
        skipped = [o for o in error.outcomes if o.error == "Skipped"]
        if skipped:
            pytest.skip(f"process {skipped[0].process}: {skipped[0].message}")
        pytest.fail(str(error), pytrace=False)
    except TypeError as error:
        pytest.fail(str(error), pytrace=False)


def _options(n: int = 2, devices: int = 2, **others: Any) -> dict[str, Any]:
    return {"processes": n, "devices": devices, **others}

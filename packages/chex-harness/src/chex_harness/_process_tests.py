"""Tests that run in several processes: `@pytest.mark.processes(n, devices=m)`."""

import inspect
from typing import Any

import pytest

from chex_harness._outcome import SKIPPED, Outcome

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

    names = inspect.signature(item.obj).parameters
    kwargs = {name: item.funcargs[name] for name in names}
    outcomes: tuple[Outcome, ...] = ()
    try:
        options = processes(*marker.args, **marker.kwargs)
        run_processes(item.obj, kwargs=kwargs, **options)
    except ProcessesError as error:
        told, outcomes = str(error), error.outcomes
    except (TypeError, ValueError) as error:
        told = str(error)
    else:
        return
    # Not in a handler, since pytest would show the error twice.
    skips = {o.process: o.message for o in outcomes if o.error == SKIPPED}
    skipped = sorted(skips)
    if skipped and len(skipped) == len(outcomes):
        pytest.skip(f"process {skipped[0]}: {skips[skipped[0]]}")
    if skipped:
        others = sorted({o.process for o in outcomes} - set(skipped))
        told = (
            f"a test is skipped if all its processes skip: {_named(skipped)} did "
            f"({skips[skipped[0]]}), {_named(others)} did not\n\n{told}"
        )
    pytest.fail(told, pytrace=False)


def _named(indices: list[int]) -> str:
    return f"process {', '.join(map(str, indices))}"


def processes(n: int = 2, devices: int = 2, **others: Any) -> dict[str, Any]:
    """The options of `run_processes` that a marker stands for.

    Args:
      n: how many processes.
      devices: CPU devices of each.
      **others: options of `run_processes` but those that make the test pass or fail.

    Returns:
      The options.

    Raises:
      TypeError: if one is for the plugin to set.
    """
    for name in ("args", "kwargs", "check"):
        if name in others:
            raise TypeError(
                f"@pytest.mark.processes({name}={others[name]!r}): a test takes its "
                f"arguments from fixtures and fails if a process does; leave {name} out"
            )
    return {"processes": n, "devices": devices, **others}

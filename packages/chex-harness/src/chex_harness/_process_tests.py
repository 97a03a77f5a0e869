"""Tests that run in several processes: `@pytest.mark.processes(n, devices=m)`."""

import inspect
from collections.abc import Sequence
from typing import Any

import pytest

from chex_harness._outcome import SKIPPED, XFAILED, Outcome
from chex_harness._worker import RUN_XFAIL

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
        if item.config.getoption("runxfail", default=False):
            options["env"] = {**(options.get("env") or {}), RUN_XFAIL: "1"}
        run_processes(item.obj, kwargs=kwargs, **options)
    except ProcessesError as error:
        told, outcomes = str(error), error.outcomes
    except (TypeError, ValueError) as error:
        told = str(error)
    else:
        return
    # Not in a handler, since pytest would show the error twice.
    how, told = verdict(outcomes, told)
    if how == "skip":
        pytest.skip(told)
    if how == "xfail":
        pytest.xfail(told)
    for mark in item.iter_markers("xfail"):
        if (raises := mark.kwargs.get("raises")) is not None:
            names = getattr(raises, "__name__", repr(raises))
            told = (
                f"xfail(raises={names}) cannot tell what a process raises, since it "
                f"stays there; leave raises= out\n\n{told}"
            )
    pytest.fail(told, pytrace=False)


def verdict(outcomes: Sequence[Outcome], told: str) -> tuple[str, str]:
    """What a test comes to whose processes did not all return.

    It is skipped if all of them skip. It has xfailed if one has, and none has failed:
    the others returned, skipped, or were waiting for it when they were ended.

    Args:
      outcomes: one a process; none where they did not start.
      told: the text of a failure.

    Returns:
      "skip", "xfail" or "fail", and the text.
    """
    by = {o.process: o for o in outcomes}
    skipped = [i for i in sorted(by) if by[i].error == SKIPPED]
    xfailed = [i for i in sorted(by) if by[i].error == XFAILED]
    ended = [i for i in sorted(by) if by[i].status == "killed"]
    returned = [i for i in by if by[i].status == "returned"]
    if by and len(skipped) == len(by):
        return "skip", f"process {skipped[0]}: {by[skipped[0]].message}"
    if xfailed and len(skipped + xfailed + ended + returned) == len(by):
        reason = f"process {xfailed[0]}: {by[xfailed[0]].message}"
        if ended:
            after = by[ended[0]].message
            reason += f"; {_named(ended)} was ended, still running {after}"
        return "xfail", reason
    if skipped:
        others = sorted(set(by) - set(skipped))
        told = (
            f"a test is skipped if all its processes skip: {_named(skipped)} did "
            f"({by[skipped[0]].message}), {_named(others)} did not\n\n{told}"
        )
    return "fail", told


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

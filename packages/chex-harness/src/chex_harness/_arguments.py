"""What `run_processes` is given, looked at before anything starts."""

import numbers
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from chex_harness._faults import Fault


def check_arguments(
    *,
    fn: Any,
    processes: Any,
    devices: Any,
    timeout: Any,
    start_timeout: Any,
    args: Any,
    kwargs: Any,
    faults: Any,
    env: Any,
    heartbeat: Any,
) -> None:
    """Refuses what `run_processes` cannot use.

    Args:
      fn: a function.
      processes: a count.
      devices: a count.
      timeout: seconds, `math.inf` for as long as it takes.
      start_timeout: seconds, as well.
      args: a tuple or a list.
      kwargs: a mapping from names, or None.
      faults: a tuple or a list of faults, each of one of the processes.
      env: a mapping from str to str, or None.
      heartbeat: whole seconds.

    Raises:
      TypeError: if one has another type; says which was wanted.
      ValueError: if a number is too small or not one, or a fault names a process
        there is none of.
    """
    if not callable(fn):
        _wrong("fn", fn, "a function")
    counts = {"processes": processes, "devices": devices, "heartbeat": heartbeat}
    for name, value in counts.items():
        _number(name, value, numbers.Integral, lambda n: n >= 1, "an int, 1 or more")
    times = {"timeout": timeout, "start_timeout": start_timeout}
    for name, value in times.items():
        _number(name, value, numbers.Real, lambda s: s > 0, "seconds, above 0")
    if not isinstance(args, tuple | list):
        _wrong("args", args, f"a tuple. Type args=({args!r},)")
    if kwargs is not None and not _keys_are_str(kwargs):
        _wrong("kwargs", kwargs, "a dict from the names of arguments to their values")
    if env is not None and not (
        _keys_are_str(env) and all(isinstance(value, str) for value in env.values())
    ):
        _wrong("env", env, "a dict of str to str")
    _check_faults(faults, processes)


def _check_faults(faults: Any, processes: int) -> None:
    if isinstance(faults, Fault):
        _wrong("faults", faults, f"a list of them. Type faults=[{faults!r}]")
    if not isinstance(faults, tuple | list) or not all(
        isinstance(fault, Fault) for fault in faults
    ):
        _wrong("faults", faults, "a list of Kill, Stop, Delay or CutOff")
    for fault in faults:
        if not 0 <= fault.process < processes:
            raise ValueError(
                f"run_processes: {fault} names process {fault.process}; there are "
                f"processes 0 to {processes - 1}"
            )


def _number(
    name: str, value: Any, kind: Any, right: Callable[[Any], Any], wanted: str
) -> None:
    if isinstance(value, bool) or not isinstance(value, kind):
        _wrong(name, value, wanted)
    if not right(value):  # nan is above nothing
        raise ValueError(f"run_processes: {name}={value!r}: wanted {wanted}")


def _keys_are_str(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(key, str) for key in value)


def _wrong(name: str, value: Any, wanted: str) -> NoReturn:
    raise TypeError(
        f"run_processes: {name}={value!r}, a {type(value).__name__}: wanted {wanted}"
    )

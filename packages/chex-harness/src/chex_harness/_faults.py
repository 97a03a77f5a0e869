"""Things that go wrong in one process of several, at a step that the test chooses.

The function under test says where it is with `at_step`, and `run_processes` is told
what happens there. Outside `run_processes` the call does nothing, so it may stay in a
training loop. What happens travels in environment variables: programs that the
function starts obey it too.
"""

import dataclasses
import json
import os
import signal
import time
from collections.abc import Sequence

_FAULTS, _PROCESS, _STEPS = (
    f"CHEX_HARNESS_{name}" for name in ("FAULTS", "PROCESS", "STEPS")
)


class CutOffError(RuntimeError):
    """What `CutOff` raises."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Kill:
    """Sends a signal, by default the one that nothing survives.

    Args:
      process: the index of the process.
      step: the step at which it happens, before `at_step` returns.
      signum: the signal. `signal.SIGTERM` is what a preemption sends.

    Example:
      >>> Kill(process=1, step=3)
      Kill(process=1, step=3, signum=9)
    """

    process: int
    step: int
    signum: int = int(signal.SIGKILL)

    def happen(self) -> None:
        """Sends the signal to this process."""
        os.kill(os.getpid(), self.signum)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Stop:
    """Stops the process as SIGSTOP does: alive, and silent for ever.

    Args:
      process: the index of the process.
      step: the step at which it happens.

    Example:
      >>> Stop(process=0, step=2)
      Stop(process=0, step=2)
    """

    process: int
    step: int

    def happen(self) -> None:
        """Stops this process."""
        os.kill(os.getpid(), signal.SIGSTOP)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Delay:
    """Sleeps, as a host with a slow disk does; its heartbeats go on.

    Args:
      process: the index of the process.
      step: the step at which it happens.
      seconds: for how long.

    Example:
      >>> Delay(process=1, step=0, seconds=0.5)
      Delay(process=1, step=0, seconds=0.5)
    """

    process: int
    step: int
    seconds: float

    def happen(self) -> None:
        """Sleeps."""
        time.sleep(self.seconds)


@dataclasses.dataclass(frozen=True, kw_only=True)
class CutOff:
    """Raises `CutOffError` out of `at_step`, as any bug in one process does.

    Args:
      process: the index of the process.
      step: the step at which it happens.

    Example:
      >>> CutOff(process=1, step=3)
      CutOff(process=1, step=3)
    """

    process: int
    step: int

    def happen(self) -> None:
        """Raises.

        Raises:
          CutOffError: always.
        """
        raise CutOffError(f"process {self.process} is cut off at step {self.step}")


Fault = Kill | Stop | Delay | CutOff
_KINDS = {kind.__name__: kind for kind in (Kill, Stop, Delay, CutOff)}


def at_step(step: int) -> None:
    """Marks the start of a step, where the faults of `run_processes` happen.

    Args:
      step: the number of the step that begins.

    Raises:
      CutOffError: where `CutOff` was asked for.

    Example:
      >>> for step in range(3):
      ...     at_step(step)  # nothing happens outside run_processes
    """
    if _PROCESS not in os.environ:
        return
    with open(os.environ[_STEPS], "a", encoding="ascii") as file:  # noqa: PTH123
        file.write(f"{step}\n")
    for fault in decode(os.environ[_FAULTS]):
        if fault.process == int(os.environ[_PROCESS]) and fault.step == step:
            fault.happen()


def environment(process: int, faults: Sequence[Fault], steps: str) -> dict[str, str]:
    """The variables that `at_step` reads in one process."""
    return {_PROCESS: str(process), _FAULTS: encode(faults), _STEPS: steps}


def mark(start: str) -> str:
    """How the line of the environment starts that names the folder of a job."""
    return f"{_STEPS}={start}"


def encode(faults: Sequence[Fault]) -> str:
    """Faults as one line of JSON."""
    return json.dumps([(type(f).__name__, dataclasses.asdict(f)) for f in faults])


def decode(text: str) -> list[Fault]:
    """The faults of a line of JSON."""
    return [_KINDS[name](**options) for name, options in json.loads(text)]

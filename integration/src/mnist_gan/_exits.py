"""Exit codes: what a supervisor, or a person, can tell from how a process ended."""

import signal
import traceback
from typing import NamedTuple

from mnist_gan._errors import DivergedError, HostsError, UserError

DONE = 0
USER = 2
DIVERGED = 3
PREEMPTED = 42
CRASHED = 70
HANGS = 75
STOPPED = 130

MEANINGS = {
    DONE: "done",
    USER: "cannot be done as asked; nothing was lost",
    DIVERGED: "the losses stopped being finite",
    PREEMPTED: "told to end (SIGTERM), and saved; start it again to go on",
    CRASHED: "crashed, or the processes of the run do not agree",
    HANGS: "a process of the run hangs, or is gone",
    STOPPED: "stopped by hand (Ctrl-C)",
    -signal.SIGABRT: "ended by jax, which lost another process of the run",
}
# Starting again would end the same way.
FINAL = (DONE, USER, DIVERGED, STOPPED)


class Ending(NamedTuple):
    """How a process ends.

    Attributes:
      code: one of the above.
      text: one line for people.
    """

    code: int
    text: str


def describe(code: int) -> str:
    """Says in words what an exit code, as `subprocess` gives it, means.

    Example:
      >>> describe(42)
      'told to end (SIGTERM), and saved; start it again to go on'
      >>> describe(-9)
      'killed by SIGKILL'
    """
    if code in MEANINGS:
        return MEANINGS[code]
    if code < 0:
        return f"killed by {signal.Signals(-code).name}"
    return f"exit code {code}"


def ending_of(error: BaseException) -> Ending:
    """What an exception that reaches the command line comes to.

    Args:
      error: the exception.

    Returns:
      The exit code, and a line; a fault of ours keeps its traceback.
    """
    if isinstance(error, DivergedError):
        return Ending(DIVERGED, _line(error))
    if isinstance(error, (UserError, OSError)):
        return Ending(USER, _line(error))
    if isinstance(error, HostsError):
        return Ending(CRASHED, _line(error))
    if isinstance(error, KeyboardInterrupt):
        return Ending(STOPPED, "stopped at once")
    trace = "".join(traceback.format_exception(error))
    return Ending(CRASHED, f"{type(error).__name__}: {_line(error)}\n{trace.rstrip()}")


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())

"""What became of each process of a job, and how it is told."""

import dataclasses
import re
import signal
from collections.abc import Sequence
from typing import Any

_LINES = 20
SKIPPED, XFAILED = "Skipped", "XFailed"  # the names of what pytest raises


@dataclasses.dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of one process.

    Attributes:
      process: its index.
      status: "returned", "raised" (by `SystemExit` too, and where the result could not
        be brought back), "died" (it ended without an answer), "stuck" (it
        still ran at the timeout) or "killed" (after another one had failed, skipped or
        xfailed).
      value: what the function returned, with NumPy arrays in place of jax's.
      error: the name of the exception's type, where it raised.
      message: the exception's text, where it raised; after what, where it was killed.
      traceback: the exception with its traceback, where it raised.
      exit_code: as `subprocess` has it: negative for a signal, n for `sys.exit(n)`;
        None where it was killed by us.
      seconds: from the start of the job to the end of the process, or to its answer.
      steps: the steps it reached, as told to `at_step`.
      output: what it printed, both streams.
      stack: where it was, for one that was stuck, was killed or has crashed.
    """

    process: int
    status: str
    value: Any = None
    error: str | None = None
    message: str = ""
    traceback: str = ""
    exit_code: int | None = None
    seconds: float = 0.0
    steps: tuple[int, ...] = ()
    output: str = ""
    stack: str = ""

    def __str__(self) -> str:
        head = f"process {self.process} {fate(self)}, after {self.seconds:.1f} s"
        if self.steps:
            head += f", at step {self.steps[-1]}"
        parts = [head]
        for name, text in [
            ("", self.traceback),
            ("where it was (most recent call first)", self.stack),
            ("its last output", _tail(self.output)),
        ]:
            if text and (name != "its last output" or self.status != "returned"):
                parts += [f"  {name}:"] if name else []
                parts += [f"    {line}" for line in text.rstrip().splitlines()]
        return "\n".join(parts)


class ProcessesError(AssertionError):
    """One process or more has failed; the message tells what became of each.

    Attributes:
      outcomes: one a process.
    """

    def __init__(self, message: str, outcomes: Sequence[Outcome]) -> None:
        super().__init__("\n\n".join([message, *map(str, outcomes)]))
        self.outcomes = tuple(outcomes)


def fate(outcome: Outcome) -> str:
    """What became of it, in words that follow its name."""
    match outcome.status:
        case "raised":
            left = {SKIPPED: "skipped", XFAILED: "xfailed"}.get(outcome.error or "")
            return f"{left} ({outcome.message})" if left else f"raised {outcome.error}"
        case "died":
            code = outcome.exit_code
            if code is not None and code < 0:
                return f"died of {signal.Signals(-code).name}"
            return f"exited with code {code} and gave no answer"
        case "stuck":
            return "was stuck and has been killed"
        case "killed":
            return f"was still running {outcome.message}, and has been killed"
    return "returned"


def rank(outcome: Outcome) -> tuple[int, float]:
    """Sorts causes before what they caused, and the early before the late."""
    # A lost connection, and jax's own abort, tell that another process has gone.
    lost = "Gloo" in outcome.message or outcome.exit_code == -signal.SIGABRT
    left = outcome.error in {SKIPPED, XFAILED}  # which others may be waiting for
    order = ("raised", "died", "stuck", "killed", "returned")
    return (2 if lost or left else order.index(outcome.status)), outcome.seconds


def main_stack(dump: str, worker: str) -> str:
    """The part of faulthandler's dump that the function under test is in.

    Args:
      dump: what faulthandler wrote.
      worker: the file of the module that called the function.

    Returns:
      Its lines, the innermost call first, without those that led to the function.
    """
    kept: list[str] = []
    for section in re.split(r"\n(?=(?:Current thread|Thread) 0x)", dump.strip()):
        lines = section.splitlines()
        ends = [i for i, line in enumerate(lines) if f'"{worker}"' in line]
        if ends and " in _call" in lines[ends[0]]:
            kept = [line for line in lines[: ends[0]] if line.startswith("  File")]
    return "\n".join(line.strip() for line in kept)


def _tail(text: str) -> str:
    lines = text.rstrip().splitlines()
    if len(lines) <= _LINES:
        return "\n".join(lines)
    return "\n".join([f"({len(lines) - _LINES} lines left out)", *lines[-_LINES:]])

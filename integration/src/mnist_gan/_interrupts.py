"""Ctrl-C stops a run between two steps, not inside one."""

import contextlib
import ctypes
import os
import signal
import sys
from collections.abc import Generator
from types import FrameType

PARENT = "MNIST_GAN_PARENT"  # its number, where it starts processes that it looks after
_PR_SET_PDEATHSIG = 1


def follow_parent() -> None:
    """Has Linux send SIGTERM when the launcher is killed, so that this one saves."""
    parent = os.environ.get(PARENT)
    if parent is None or sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if str(os.getppid()) != parent:  # it was killed before that call
        signal.raise_signal(signal.SIGTERM)


class Interrupts:
    """Whether somebody asked the run to stop.

    Attributes:
      received: the signal, or None.
    """

    received: signal.Signals | None = None

    def __bool__(self) -> bool:
        return self.received is not None


@contextlib.contextmanager
def interrupts() -> Generator[Interrupts]:
    """Notes SIGINT and SIGTERM while the block runs; a second one acts at once.

    Yields:
      Something that is true once a signal has come.
    """
    noted = Interrupts()
    before = {}

    def note(number: int, frame: FrameType | None) -> None:
        del frame
        noted.received = signal.Signals(number)
        for known, handler in before.items():
            signal.signal(known, handler)

    for number in (signal.SIGINT, signal.SIGTERM):
        before[number] = signal.signal(number, note)
    try:
        yield noted
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

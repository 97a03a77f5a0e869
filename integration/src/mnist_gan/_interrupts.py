"""Ctrl-C stops a run between two steps, not inside one."""

import contextlib
import signal
from collections.abc import Generator
from types import FrameType


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

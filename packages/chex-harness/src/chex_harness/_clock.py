"""Time that passes when a test says so."""

import contextlib
import time
from collections.abc import Generator
from unittest import mock


class FakeClock:
    """A clock that stands still until it is moved.

    Give it to code that takes a clock, or `install` it for code that calls the `time`
    module. What `install` cannot reach: `from time import sleep` done before,
    `datetime`, and waits in C (locks, queues, sockets), which take real time.

    Args:
      now: seconds since the epoch at the start.

    Example:
      >>> clock = FakeClock(now=100.0)
      >>> clock.sleep(2.5)
      >>> clock.time(), clock.monotonic()
      (102.5, 2.5)
      >>> with clock.install():
      ...     before = time.monotonic()
      ...     time.sleep(3600)
      ...     time.monotonic() - before
      3600.0
    """

    def __init__(self, *, now: float = 1_700_000_000.0) -> None:
        self._start = now
        self._passed = 0.0
        self.slept: list[float] = []

    def time(self) -> float:
        """Seconds since the epoch."""
        return self._start + self._passed

    def monotonic(self) -> float:
        """Seconds since the clock was made."""
        return self._passed

    perf_counter = monotonic

    def time_ns(self) -> int:
        """Nanoseconds since the epoch."""
        return round(self.time() * 1e9)

    def monotonic_ns(self) -> int:
        """Nanoseconds since the clock was made."""
        return round(self._passed * 1e9)

    perf_counter_ns = monotonic_ns

    def sleep(self, seconds: float) -> None:
        """Moves the clock, at once; `slept` lists the sleeps."""
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        self.slept.append(seconds)
        self._passed += seconds

    def advance(self, seconds: float) -> None:
        """Moves the clock.

        Args:
          seconds: by how much; not negative.

        Raises:
          ValueError: if it would go back.
        """
        if seconds < 0:
            raise ValueError(f"advance({seconds}): a monotonic clock cannot go back")
        self._passed += seconds

    @contextlib.contextmanager
    def install(self) -> Generator["FakeClock"]:
        """Puts the clock in place of the functions of the `time` module.

        Yields:
          The clock.
        """
        names = ("monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns")
        with contextlib.ExitStack() as stack:
            for name in (*names, "time", "time_ns", "sleep"):
                own = getattr(self, name)
                stack.enter_context(mock.patch.object(time, name, own))
            yield self

"""How far a run is: a bar on a terminal, plain lines elsewhere."""

import os
import shutil
import time
from collections.abc import Callable
from typing import NamedTuple, Protocol, TextIO

_SECONDS_BETWEEN_DRAWINGS = 0.1
_SECONDS_BETWEEN_LINES = 10.0
_BAR = 30
_FILLED, _EMPTY, _PLAIN = "\x1b[36m", "\x1b[2m", "\x1b[0m"


class Now(NamedTuple):
    """Where a run stands.

    Attributes:
      update: how many updates were made.
      step: how many steps the environments have taken.
      episode_return: of the episodes that ended last; NaN before the first.
      steps_per_second: NaN before it is known.
      seconds_left: NaN before it is known.
    """

    update: int
    step: int
    episode_return: float
    steps_per_second: float
    seconds_left: float


class Progress(Protocol):
    """Shows updates as they are made."""

    def show(self, now: Now) -> None:
        """Shows where the run stands, unless it just did."""
        ...

    def end(self) -> None:
        """Leaves the last of it, and the cursor on a line of its own."""
        ...


def progress(
    stream: TextIO, *, total: int, clock: Callable[[], float] = time.monotonic
) -> Progress:
    """Chooses a bar or lines.

    Args:
      stream: where to, such as `sys.stderr`.
      total: how many updates there will be.
      clock: seconds, of any start.

    Returns:
      What shows it.
    """
    return (_Bar if stream.isatty() else _Lines)(stream, total, clock)


def spell(seconds: float) -> str:
    """Minutes and seconds, such as 1:05; `-:--` of NaN."""
    if seconds != seconds:  # noqa: PLR0124 (NaN)
        return "-:--"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _say(now: Now) -> str:
    known = now.episode_return == now.episode_return
    returns = f"{now.episode_return:8.2f}" if known else "       -"
    fast = now.steps_per_second == now.steps_per_second
    speed = f"{now.steps_per_second:9,.0f}" if fast else "        -"
    return f"return {returns}  {speed} steps/s  {spell(now.seconds_left)} left"


class _Bar:
    def __init__(self, stream: TextIO, total: int, clock: Callable[[], float]) -> None:
        self._stream, self._total, self._clock = stream, total, clock
        self._drawn = -float("inf")
        self._now: Now | None = None
        try:
            "━".encode(stream.encoding or "ascii")
            self._marks = "━━"
        except UnicodeEncodeError:
            self._marks = "=-"
        self._stream.write("compiling ...")
        self._stream.flush()

    def show(self, now: Now) -> None:
        self._now = now
        if self._clock() - self._drawn >= _SECONDS_BETWEEN_DRAWINGS:
            self._draw()

    def end(self) -> None:
        if self._now is not None:
            self._draw()
        self._stream.write("\n")
        self._stream.flush()

    def _draw(self) -> None:
        assert self._now is not None  # noqa: S101 (for the type checker)
        self._drawn = self._clock()
        share = self._now.update / self._total
        said = f" {share:4.0%}  {_say(self._now)}"
        width = min(_BAR, shutil.get_terminal_size().columns - len(said) - 1)
        done = round(share * max(width, 0))
        full, empty = self._marks[0] * done, self._marks[1] * (width - done)
        if "NO_COLOR" not in os.environ:
            full, empty = f"{_FILLED}{full}{_PLAIN}", f"{_EMPTY}{empty}{_PLAIN}"
        elif self._marks[0] == self._marks[1]:
            empty = "─" * (width - done)
        self._stream.write(f"\r{full}{empty}{said}\x1b[K")
        self._stream.flush()


class _Lines:
    """A line for the first and the last update, each tenth, and every ten seconds."""

    def __init__(self, stream: TextIO, total: int, clock: Callable[[], float]) -> None:
        self._stream, self._total, self._clock = stream, total, clock
        self._said: float | None = None
        self._tenth = max(1, total // 10)

    def show(self, now: Now) -> None:
        due = self._said is None or now.update in {1, self._total}
        due = due or now.update % self._tenth == 0
        due = due or self._clock() - (self._said or 0) > _SECONDS_BETWEEN_LINES
        if due:
            self._said = self._clock()
            width = len(f"{self._total:,}")
            self._stream.write(
                f"update {now.update:{width},} of {self._total:,}  {_say(now)}\n"
            )
            self._stream.flush()

    def end(self) -> None:
        pass

"""What a run says: a bar on a terminal, plain lines elsewhere."""

import os
import sys
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from haiku_nets import ParameterRow
from mnist_gan._estimate import spell
from mnist_gan._metrics import Row

_SECONDS_BETWEEN_LINES = 10.0


class ProgressView(Protocol):
    """Shows steps as they are done."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def show(self, row: Row) -> None:
        """Shows the last step done."""
        ...


class _Output(Console):
    """A console whose reader may leave, as `head` does; the run goes on unseen."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def console(*, quiet: bool = False) -> Console:
    """The terminal, or a wide page where the output is none, so that no line breaks.

    Args:
      quiet: for a process that says nothing.

    Returns:
      A console.
    """
    found = _Output(highlight=False, quiet=quiet)
    if found.is_terminal and not quiet:
        return found
    return _Output(highlight=False, quiet=quiet, width=120, soft_wrap=True)


def model_table(rows: Sequence[ParameterRow]) -> Table:
    """Tabulates modules, shapes and parameters, with the total below.

    Args:
      rows: of one model.

    Returns:
      Something rich prints.
    """
    table = Table("module", "shape", box=None, header_style="bold", pad_edge=False)
    table.add_column("parameters", justify="right")
    for row in rows:
        shape = " x ".join(map(str, row.shape))
        table.add_row(f"{row.module}/{row.name}", shape, f"{row.count:,}")
    total = sum(row.count for row in rows)
    table.add_row("[bold]total", "", f"[bold]{total:,}")
    return table


def progress(out: Console, *, done: int, steps: int) -> ProgressView:
    """Chooses a bar or lines.

    Args:
      out: where to.
      done: steps taken before this process.
      steps: steps in all.

    Returns:
      A view to enter and to show rows in.
    """
    if out.is_terminal and not out.quiet:
        return _Bar(out, done=done, steps=steps)
    return _Lines(out, done=done, steps=steps)


class _Bar:
    def __init__(self, out: Console, *, done: int, steps: int) -> None:
        self._progress = Progress(
            TextColumn("step {task.completed:,.0f} of {task.total:,.0f}"),
            BarColumn(bar_width=None),
            TaskProgressColumn(),
            TextColumn("{task.fields[said]}"),
            TimeRemainingColumn(compact=True),
            TextColumn("left"),
            console=out,
            expand=True,
        )
        self._task = self._progress.add_task(
            "", completed=done, total=steps, said="starting"
        )

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        del kind, error, trace
        self._progress.stop()

    def show(self, row: Row) -> None:
        self._progress.update(
            self._task,
            completed=row.step,
            said=f"disc {row.disc_loss:.3f}  gen {row.gen_loss:.3f}  "
            f"{row.images_per_second:,.0f} images/s",
        )


class _Lines:
    """A line for the first and the last step, each tenth, and every ten seconds."""

    def __init__(self, out: Console, *, done: int, steps: int) -> None:
        self._out, self._first, self._steps = out, done, steps
        self._start = self._last = time.monotonic()
        self._tenth = max(1, steps // 10)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        del kind, error, trace

    def show(self, row: Row) -> None:
        now = time.monotonic()
        due = row.step % self._tenth == 0 or now - self._last > _SECONDS_BETWEEN_LINES
        ends = row.step in (self._first + 1, self._steps)
        if not (due or ends):
            return
        self._last = now
        each = (now - self._start) / max(1, row.step - self._first)
        self._out.print(
            f"step {row.step:,} of {self._steps:,}  disc {row.disc_loss:.3f}  "
            f"gen {row.gen_loss:.3f}  {row.images_per_second:,.0f} images/s  "
            f"{spell(each * (self._steps - row.step))} left",
            soft_wrap=True,
        )

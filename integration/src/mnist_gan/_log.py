"""Reading losses without stalling the devices.

Asking for the loss of the step that was just dispatched would wait for it, and leave
the device idle until the next dispatch. So the host reads the losses of an older one.
"""

import math
import time
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

import jax

from mnist_gan._errors import DivergedError
from mnist_gan._metrics import Metrics, Row
from mnist_gan._terminal import ProgressView
from optax_chains import Players

_IN_FLIGHT = 2  # dispatches that run while the host logs an older one


class _Dispatch(NamedTuple):
    """Steps whose losses the host has not read yet."""

    first: int
    losses: Players
    waited: float


class Log:
    """Turns dispatches into rows, a little behind the devices.

    Args:
      metrics: where the rows are kept; None in a process that keeps no record, and
        reads the losses to notice with the others when they stop being finite.
      view: where they are shown.
      batch_size: real digits a step.
    """

    def __init__(
        self, metrics: Metrics | None, view: ProgressView, batch_size: int
    ) -> None:
        self._metrics, self._view, self._batch_size = metrics, view, batch_size
        self._pending: deque[_Dispatch] = deque()
        self._clock = time.perf_counter()

    def dispatched(self, first: int, losses: Players, waited: float) -> None:
        """Notes a dispatch, and logs those that are long done."""
        self._pending.append(_Dispatch(first, losses, waited))
        self._read(keep=_IN_FLIGHT)

    def catch_up(self) -> None:
        """Waits for all dispatches, and logs them."""
        self._read(keep=0)

    def write(self) -> None:
        """Waits for all dispatches, and puts them on disk."""
        self.catch_up()
        if self._metrics is not None:
            self._metrics.write()

    def _read(self, *, keep: int) -> None:
        while len(self._pending) > keep:
            for row in self._rows(self._pending.popleft()):
                if not math.isfinite(row.disc_loss + row.gen_loss):
                    raise DivergedError(
                        f"the losses stopped being finite at step {row.step:,}; the "
                        "last checkpoint is from before. Try another --seed or "
                        "--recipe, with another --out."
                    )
                if self._metrics is not None:
                    self._metrics.add(row)
                self._view.show(row)

    def _rows(self, dispatch: _Dispatch) -> Iterator[Row]:
        losses = jax.device_get(dispatch.losses)
        now = time.perf_counter()
        n = len(losses.gen)
        speed = n * self._batch_size / (now - self._clock)
        self._clock = now
        for i in range(n):
            disc_loss, gen_loss = float(losses.disc[i]), float(losses.gen[i])
            yield Row(dispatch.first + i, disc_loss, gen_loss, speed, dispatch.waited)

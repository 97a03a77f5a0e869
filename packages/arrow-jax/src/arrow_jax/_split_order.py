"""Packed rows that are cut out of all rows joined end to end."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from arrow_jax._step import Draft, Layout, Position, Step, in_epochs
from arrow_jax._stream import Stream, take_rows_at


@dataclass(frozen=True, eq=False)
class SplitOrder:
    """Concat-then-split: every packed row is full, but at the end of an epoch.

    A position is a row and an element of it, so nothing has to be kept.

    Attributes:
      stream: of the rows.
      epochs: how often it is gone through, or None for ever.
      last: "mask", "drop" or "keep".
      lengths: int64[n], of every row of the dataset.
      capacity: of a packed row.
    """

    stream: Stream
    epochs: int | None
    last: str
    lengths: np.ndarray
    capacity: int

    def count(self, batch_size: int) -> int | None:
        """Counts the batches of the run; None if it never ends."""
        if self.epochs is None:
            return None
        size = self.capacity * batch_size
        totals = [self._elements(epoch) for epoch in range(self.epochs)]
        if self.last == "drop":
            return sum(totals) // size
        return sum(-(-total // size) for total in totals)

    def _elements(self, epoch: int) -> int:
        if self.stream.covers:
            return int(self.lengths.sum())
        rows = np.asarray(self.stream.rows(epoch, 0, self.stream.n))
        return int(self.lengths[rows].sum())

    def step(self, at: Position, batch_size: int) -> Step | None:
        """Finds the batch at a position; None at the end of the run."""
        wanted = batch_size * self.capacity
        rows, starts, lengths, after = self._pieces(at, wanted)
        n = int(lengths.sum())
        if n < wanted and self.last == "drop":
            return None
        if not n:
            if after == at or after.epoch == self.epochs:
                return None
            return self.step(after, batch_size)
        ends = np.cumsum(lengths)
        # Pieces are cut again wherever a packed row ends.
        begins = ends - lengths
        cuts = np.union1d(begins, np.arange(0, n, self.capacity))
        piece = np.searchsorted(ends, cuts, side="right")
        layout = Layout(
            bins=cuts // self.capacity,
            at=cuts % self.capacity,
            starts=starts[piece] + cuts - begins[piece],
            lengths=np.diff(cuts, append=n),
        )
        n_real = -(-n // self.capacity)
        size = batch_size if self.last == "mask" else n_real
        return Step(
            Draft(rows[piece], n_real, size, layout=layout, epoch=at.epoch), after
        )

    def _pieces(
        self, at: Position, wanted: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, Position]:
        across = self.last == "drop"
        mean = max(float(self.lengths.mean()), 1.0)
        found, n = [], 0
        epoch, row, offset = at[:3]
        ended = False
        while n < wanted and not ended:
            k = max(int((wanted - n) / mean * 1.1) + 1, 1)
            taken = take_rows_at(
                self.stream, epoch, row, k, epochs=self.epochs, across=across
            )
            found.append(np.asarray(taken.rows, np.int64))
            _, epoch, row, ended = taken
            n += int(self.lengths[found[-1]].sum()) - offset * (len(found) == 1)
        rows = np.concatenate(found)
        lengths = self.lengths[rows]
        starts = np.zeros(len(rows), np.int64)
        if len(rows):
            starts[0] = offset
            lengths[0] -= offset
        ends = np.cumsum(lengths)
        if n <= wanted:
            keep = lengths > 0
            return rows[keep], starts[keep], lengths[keep], Position(epoch, row)
        # The row in which the batch ends is where the next one begins.
        last = int(np.searchsorted(ends, wanted, side="left"))
        over = int(ends[last]) - wanted
        given = int(lengths[last]) - over
        behind = self._at(at, last if over else last + 1)
        after = behind._replace(offset=int(starts[last]) + given if over else 0)
        rows, starts, lengths = (
            rows[: last + 1],
            starts[: last + 1],
            lengths[: last + 1],
        )
        lengths[last] = given
        keep = lengths > 0
        return rows[keep], starts[keep], lengths[keep], after

    def _at(self, at: Position, n_rows: int) -> Position:
        places = at.row + n_rows
        return Position(at.epoch + places // self.stream.n, places % self.stream.n)

    def moved(self, at: Position, old: int, new: int) -> Position:
        """Finds the same position for another batch size."""
        del old, new
        return at

    def describe(self) -> dict[str, Any]:
        """Says in JSON what the order depends on, batch size apart."""
        pack = {"pack": self.capacity, "split": True}
        return {**self.stream.describe(), "last": self.last, **pack}

    def holds(self, at: Position) -> bool:
        """Whether there is such a position."""
        if not (0 <= at.row < self.stream.n and in_epochs(at, self.epochs)):
            return False
        row = np.asarray(self.stream.rows(at.epoch, at.row, at.row + 1))[0]
        return not at.pending and 0 <= at.offset <= max(int(self.lengths[row]) - 1, 0)

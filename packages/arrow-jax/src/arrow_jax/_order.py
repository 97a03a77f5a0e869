"""Batches that are the next rows of a stream."""

from dataclasses import dataclass
from typing import Any

from arrow_jax._step import Draft, Position, Step, filled, in_epochs
from arrow_jax._stream import Stream, take_rows_at


@dataclass(frozen=True)
class RowOrder:
    """Every batch holds the rows that come next.

    Attributes:
      stream: of the rows.
      epochs: how often it is gone through, or None for ever.
      last: "mask", "drop" or "keep".
    """

    stream: Stream
    epochs: int | None
    last: str

    def count(self, batch_size: int) -> int | None:
        """Counts the batches of the run; None if it never ends."""
        if self.epochs is None:
            return None
        if self.last == "drop":
            return self.epochs * self.stream.n // batch_size
        return self.epochs * -(-self.stream.n // batch_size)

    def step(self, at: Position, batch_size: int) -> Step | None:
        """Finds the batch at a position; None at the end of the run."""
        across = self.last == "drop"
        taken = take_rows_at(
            self.stream, at.epoch, at.row, batch_size, epochs=self.epochs, across=across
        )
        n = len(taken.rows)
        if not n or (across and n < batch_size):
            return None
        rest = self.stream.n - at.row
        turn = rest if across and n > rest else None
        draft = Draft(taken.rows, n, n, epoch=at.epoch, turn=turn)
        if self.last == "mask":
            draft = filled(draft, batch_size)
        return Step(draft, Position(taken.epoch, taken.row))

    def moved(self, at: Position, old: int, new: int) -> Position:
        """Finds the same position for another batch size."""
        del old, new
        return at

    def describe(self) -> dict[str, Any]:
        """Says in JSON what the order depends on, batch size apart."""
        return {**self.stream.describe(), "last": self.last}

    def holds(self, at: Position) -> bool:
        """Whether there is such a position."""
        whole = not at.offset and not at.pending
        return 0 <= at.row < self.stream.n and in_epochs(at, self.epochs) and whole

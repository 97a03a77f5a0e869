"""The contract of an order: which rows are in which batch.

An order says everything about a batch from the position where it starts, so resuming
costs nothing, the same on every host. Files named `*_order` are the kinds there are.
"""

from typing import Any, NamedTuple, Protocol

import numpy as np

from arrow_jax._chunks import Index


class Position(NamedTuple):
    """A place between two batches.

    Attributes:
      epoch: whose rows come next.
      row: how many rows of it have been taken.
      offset: how many batches of the block that starts there have been given, or
        elements of the row that starts there.
      pending: rows taken earlier that no batch has held yet.
    """

    epoch: int = 0
    row: int = 0
    offset: int = 0
    pending: tuple[int, ...] = ()


class Layout(NamedTuple):
    """Where pieces of rows lie in packed ones.

    Attributes:
      bins: int64[k], the packed row of each piece, in ascending order.
      at: int64[k], where it begins there.
      starts: int64[k], the element of its own row with which it begins.
      lengths: int64[k], how many elements it has, at least one.
    """

    bins: np.ndarray
    at: np.ndarray
    starts: np.ndarray
    lengths: np.ndarray


class Draft(NamedTuple):
    """What a batch holds.

    Attributes:
      rows: positions in the dataset, padding included; with a layout, one a piece.
      n_real: how many rows of the batch are no padding; they come first.
      size: rows of the batch.
      length: that ragged columns are padded to, where batches differ in it.
      layout: of packed rows.
      epoch: in which it begins.
      turn: how many of its rows are of that epoch, if not all.
    """

    rows: Index
    n_real: int
    size: int
    length: int | None = None
    layout: Layout | None = None
    epoch: int = 0
    turn: int | None = None

    def local(self, wanted: np.ndarray) -> "Draft":
        """Picks a part of the batch.

        Args:
          wanted: int64[k], positions on the batch axis, ascending.

        Returns:
          The batch of these alone.
        """
        rows = np.asarray(self.rows, np.int64)
        if self.layout is None:
            turn = None if self.turn is None else int((wanted < self.turn).sum())
            return self._replace(rows=rows[wanted], size=len(wanted), turn=turn)
        new = np.full(self.size, -1)
        new[wanted] = np.arange(len(wanted))
        kept = np.flatnonzero(new[self.layout.bins] >= 0)
        layout = Layout(*(part[kept] for part in self.layout))
        layout = layout._replace(bins=new[layout.bins])
        return self._replace(rows=rows[kept], size=len(wanted), layout=layout)

    def of(self, pieces: np.ndarray, rows: np.ndarray) -> "Draft":
        """Picks some of the rows, under other numbers.

        Args:
          pieces: int64[k], positions in `rows` of this batch.
          rows: int64[k], what these are called where they are read.

        Returns:
          A batch of these alone; with a layout, of the same size.
        """
        if self.layout is None:
            return self._replace(rows=rows, n_real=len(rows), size=len(rows))
        layout = Layout(*(part[pieces] for part in self.layout))
        return self._replace(rows=rows, layout=layout)


class Step(NamedTuple):
    """One batch and what follows it.

    Attributes:
      draft: what the batch holds.
      after: the position behind it.
    """

    draft: Draft
    after: Position


class Order(Protocol):
    """How a loader goes through a dataset."""

    def count(self, batch_size: int) -> int | None:
        """Counts the batches of the run; None if it never ends."""
        ...

    def step(self, at: Position, batch_size: int) -> Step | None:
        """Finds the batch at a position; None at the end of the run."""
        ...

    def moved(self, at: Position, old: int, new: int) -> Position:
        """Finds the same position for another batch size."""
        ...

    def describe(self) -> dict[str, Any]:
        """Says in JSON what the order depends on, batch size apart."""
        ...

    def holds(self, at: Position) -> bool:
        """Whether there is such a position."""
        ...


def filled(draft: Draft, batch_size: int) -> Draft:
    """Pads a batch by repeating its last row.

    Args:
      draft: of a batch with at least one row, without a layout.
      batch_size: rows wanted.

    Returns:
      The padded batch.
    """
    if draft.size == batch_size:
        return draft
    if draft.layout is None:
        real = np.asarray(draft.rows, np.int64)
        more = np.full(batch_size - draft.size, real[-1])
        draft = draft._replace(rows=np.concatenate([real, more]))
    return draft._replace(size=batch_size)


def in_epochs(at: Position, epochs: int | None) -> bool:
    """Whether a position is in the epochs of a run, or at their end.

    Args:
      at: the position.
      epochs: how many there are, or None.

    Returns:
      Whether it is.
    """
    return at.epoch >= 0 and (epochs is None or at.epoch <= epochs)

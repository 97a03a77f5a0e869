"""Which rows are in which batch: index arithmetic, the same on every host.

A run is a stream of epochs; a position in it is an epoch and the rows taken from it.
Everything about a batch follows from the position where it starts, so resuming costs
nothing, and nothing depends on how the batches before it were cut.
"""

import functools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from arrow_jax._chunks import Index
from arrow_jax._permutation import permute

_BLOCK = 1 << 14  # positions permuted at once; one at a time would be all overhead


class Position(NamedTuple):
    """A place between two batches.

    Attributes:
      epoch: whose rows come next.
      row: how many rows of it have been given.
    """

    epoch: int = 0
    row: int = 0


class Step(NamedTuple):
    """One batch.

    Attributes:
      rows: positions in the dataset, padding included.
      n_real: how many of them are no padding; they come first.
      after: the position behind the batch.
    """

    rows: Index
    n_real: int
    after: Position


@dataclass(frozen=True)
class Order:
    """How a loader goes through a dataset.

    Attributes:
      n: rows of the dataset, at least one.
      epochs: how often it is gone through, or None for ever.
      last: "mask", "drop" or "keep".
      seed: of the shuffle, or None for the dataset's own order.
    """

    n: int
    epochs: int | None
    last: str
    seed: int | None

    def count(self, batch_size: int) -> int | None:
        """Counts the batches of the run.

        Args:
          batch_size: rows in a batch.

        Returns:
          The number, or None for an endless run.
        """
        if self.epochs is None:
            return None
        if self.last == "drop":
            return self.epochs * self.n // batch_size
        return self.epochs * -(-self.n // batch_size)

    def step(self, at: Position, batch_size: int) -> Step | None:
        """Finds the batch at a position.

        Args:
          at: where it starts.
          batch_size: rows in it.

        Returns:
          The batch, or None at the end of the run.
        """
        if self.last == "drop":
            return self._step_across(at, batch_size)
        if at.epoch == self.epochs:
            return None
        stop = min(at.row + batch_size, self.n)
        rows = self._rows(at.epoch, at.row, stop)
        n_real = stop - at.row
        after = Position(at.epoch, stop) if stop < self.n else Position(at.epoch + 1)
        if self.last == "mask" and n_real < batch_size:
            real = np.asarray(rows)
            rows = np.concatenate([real, np.full(batch_size - n_real, real[-1])])
        return Step(rows, n_real, after)

    def _step_across(self, at: Position, batch_size: int) -> Step | None:
        left = batch_size
        parts: list[Index] = []
        epoch, row = at
        while left:
            if epoch == self.epochs:
                return None
            stop = min(row + left, self.n)
            parts.append(self._rows(epoch, row, stop))
            left -= stop - row
            epoch, row = (epoch, stop) if stop < self.n else (epoch + 1, 0)
        rows = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return Step(rows, batch_size, Position(epoch, row))

    def _rows(self, epoch: int, start: int, stop: int) -> Index:
        if self.seed is None:
            return range(start, stop)
        blocks = range(start // _BLOCK, -(-stop // _BLOCK))
        found = [_block(self.n, self.seed, epoch, b) for b in blocks]
        rows = found[0] if len(found) == 1 else np.concatenate(found)
        first = blocks.start * _BLOCK
        return rows[start - first : stop - first]


@functools.lru_cache(maxsize=16)
def _block(n: int, seed: int, epoch: int, number: int) -> np.ndarray:
    first = number * _BLOCK
    positions = np.arange(first, min(first + _BLOCK, n))
    rows = permute(positions, n=n, seed=seed, epoch=epoch)
    rows.setflags(write=False)
    return rows

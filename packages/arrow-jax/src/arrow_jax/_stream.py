"""The rows of a run one after the other: epoch after epoch, each in its own order.

A stream knows the rows at any place of any epoch by arithmetic. How they are cut into
batches is another matter: see `_step.Order`.
"""

import functools
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from arrow_jax._chunks import Index
from arrow_jax._permutation import permute

_BLOCK = 1 << 14  # positions permuted at once; one at a time would be all overhead


class Stream(Protocol):
    """The order of the rows.

    Attributes:
      n: rows of an epoch, at least one.
      seed: of the shuffle, None for none.
      covers: whether every epoch has every row of the dataset once.
    """

    @property
    def n(self) -> int:
        """Rows of an epoch."""
        ...

    @property
    def seed(self) -> int | None:
        """Of the shuffle."""
        ...

    @property
    def covers(self) -> bool:
        """Whether every epoch has every row of the dataset once."""
        ...

    def rows(self, epoch: int, start: int, stop: int) -> Index:
        """Finds the rows at some places of an epoch."""
        ...

    def describe(self) -> dict[str, Any]:
        """Says in JSON what the order depends on."""
        ...


@dataclass(frozen=True)
class Sequential:
    """The dataset's own order.

    Attributes:
      n: rows of an epoch.
    """

    n: int
    seed: None = None
    covers: bool = True

    def rows(self, epoch: int, start: int, stop: int) -> Index:
        """Finds the rows at some places of an epoch."""
        del epoch
        return range(start, stop)

    def describe(self) -> dict[str, Any]:
        """Says in JSON what the order depends on."""
        return {"shuffle": False}


@dataclass(frozen=True)
class Shuffled:
    """Another order each epoch, by a keyed permutation.

    Attributes:
      n: rows of an epoch.
      seed: of the shuffle.
    """

    n: int
    seed: int
    covers: bool = True

    def rows(self, epoch: int, start: int, stop: int) -> Index:
        """Finds the rows at some places of an epoch."""
        blocks = range(start // _BLOCK, -(-stop // _BLOCK))
        found = [_block(self.n, self.seed, epoch, b) for b in blocks]
        if not found:
            return np.zeros(0, np.int64)
        rows = found[0] if len(found) == 1 else np.concatenate(found)
        first = blocks.start * _BLOCK
        return rows[start - first : stop - first]

    def describe(self) -> dict[str, Any]:
        """Says in JSON what the order depends on."""
        return {"shuffle": True, "seed": self.seed}


@functools.lru_cache(maxsize=16)
def _block(n: int, seed: int, epoch: int, number: int) -> np.ndarray:
    first = number * _BLOCK
    positions = np.arange(first, min(first + _BLOCK, n))
    rows = permute(positions, n=n, seed=seed, epoch=epoch)
    rows.setflags(write=False)
    return rows


class Taken(NamedTuple):
    """Rows of a stream.

    Attributes:
      rows: fewer than asked for only where the epoch or the run ends.
      epoch: behind them.
      row: behind them.
      ended: whether the epoch, or the run if epochs follow each other, ends there.
    """

    rows: Index
    epoch: int
    row: int
    ended: bool


def take_rows_at(
    stream: Stream, epoch: int, row: int, k: int, *, epochs: int | None, across: bool
) -> Taken:
    """Takes the next rows.

    Args:
      stream: of the rows.
      epoch: where they begin.
      row: where they begin.
      k: how many, at most.
      epochs: how many there are, or None.
      across: whether to go on in the next epoch where one ends.

    Returns:
      The rows.
    """
    parts: list[Index] = []
    ended = epochs is not None and epoch >= epochs
    while k and not ended:
        stop = min(row + k, stream.n)
        parts.append(stream.rows(epoch, row, stop))
        k -= stop - row
        epoch, row = (epoch, stop) if stop < stream.n else (epoch + 1, 0)
        ended = (epoch == epochs) if across else (row == 0)
    if not parts:
        return Taken(range(0), epoch, row, ended)
    rows = parts[0] if len(parts) == 1 else np.concatenate(parts)
    return Taken(rows, epoch, row, ended)

"""A shuffle for files bigger than memory: row groups, then rows in a few of them."""

import functools
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from arrow_jax._chunks import Index
from arrow_jax._errors import ArrowJaxError
from arrow_jax._permutation import permute
from arrow_jax._rows import is_whole

_BLOCK = 1 << 14  # positions permuted at once


@dataclass(frozen=True)
class Window:
    """Shuffles on two levels: `Loader(scan, ..., shuffle=Window(8))`.

    Each epoch puts the row groups in random order and takes them `row_groups` at a
    time; the rows of these are shuffled together. A row group is read once an epoch,
    and memory holds that many, twice over where a batch lies across two windows. Rows
    of one batch come from up to `row_groups` row groups: where the order of a file
    means something, take many.

    Args:
      row_groups: in a window.

    Raises:
      ArrowJaxError: if there are less than one.

    Example:
      >>> from arrow_jax import Window
      >>> Window(row_groups=8)
      Window(row_groups=8)
    """

    row_groups: int = 8

    def __post_init__(self) -> None:
        if not is_whole(self.row_groups, 1):
            raise ArrowJaxError(f"Window({self.row_groups!r}): wanted at least 1")
        object.__setattr__(self, "row_groups", int(self.row_groups))


class Plan(NamedTuple):
    """The windows of an epoch.

    Attributes:
      groups: int64[g], the row groups in their order.
      ends: int64[windows], rows up to the end of each window.
    """

    groups: np.ndarray
    ends: np.ndarray


@dataclass(frozen=True)
class WindowStream:
    """The order of rows in windows.

    Attributes:
      starts: row at which each row group begins, and the end of the last.
      row_groups: in a window.
      seed: of the shuffle.
    """

    starts: tuple[int, ...]
    row_groups: int
    seed: int
    covers: bool = True

    @property
    def n(self) -> int:
        """Rows of an epoch."""
        return self.starts[-1]

    def rows(self, epoch: int, start: int, stop: int) -> Index:
        """Finds the rows at some places of an epoch."""
        plan = _plan(self, epoch)
        first = int(np.searchsorted(plan.ends, start, side="right"))
        found = []
        while start < stop:
            begin = int(plan.ends[first - 1]) if first else 0
            end = min(int(plan.ends[first]), stop)
            found.append(self._within(epoch, first, start - begin, end - begin))
            start, first = end, first + 1
        return np.concatenate(found) if found else np.zeros(0, np.int64)

    def _within(self, epoch: int, window: int, start: int, stop: int) -> np.ndarray:
        blocks = range(start // _BLOCK, -(-stop // _BLOCK))
        rows = np.concatenate([_block(self, epoch, window, b) for b in blocks])
        first = blocks.start * _BLOCK
        return rows[start - first : stop - first]

    def together(self, epoch: int, group: int) -> list[int]:
        """Finds the row groups that are read together with one.

        Args:
          epoch: of the run.
          group: a row group.

        Returns:
          Those of its window, ascending.
        """
        return self._window(epoch, self._number(epoch, group))

    def following(self, epoch: int, group: int) -> list[int]:
        """Finds the row groups of the next window.

        Args:
          epoch: of the run.
          group: a row group of the window at hand.

        Returns:
          Those of the window behind it in that epoch, or none.
        """
        return self._window(epoch, self._number(epoch, group) + 1)

    def _number(self, epoch: int, group: int) -> int:
        groups = _plan(self, epoch).groups
        return int(np.flatnonzero(groups == group)[0]) // self.row_groups

    def _window(self, epoch: int, number: int) -> list[int]:
        first = number * self.row_groups
        groups = _plan(self, epoch).groups[first : first + self.row_groups]
        return sorted(groups.tolist())

    def describe(self) -> dict[str, Any]:
        """Says in JSON what the order depends on."""
        return {"shuffle": "window", "row_groups": self.row_groups, "seed": self.seed}


@functools.lru_cache(maxsize=4)
def _plan(stream: WindowStream, epoch: int) -> Plan:
    n_groups = len(stream.starts) - 1
    groups = permute(np.arange(n_groups), n=n_groups, seed=stream.seed, epoch=epoch)
    ends = np.cumsum(np.diff(stream.starts)[groups])
    last = np.arange(stream.row_groups - 1, n_groups + stream.row_groups - 1)
    last = np.minimum(last[:: stream.row_groups], n_groups - 1)
    return Plan(groups, ends[last])


@functools.lru_cache(maxsize=16)
def _block(stream: WindowStream, epoch: int, window: int, number: int) -> np.ndarray:
    plan = _plan(stream, epoch)
    first = window * stream.row_groups
    groups = plan.groups[first : first + stream.row_groups]
    sizes = np.diff(stream.starts)[groups]
    n = int(sizes.sum())
    places = np.arange(number * _BLOCK, min((number + 1) * _BLOCK, n))
    # Windows of one epoch must not share an order, nor epochs that of a window.
    seed = stream.seed + (window + 1) * 0x9E3779B1
    picked = permute(places, n=n, seed=seed, epoch=epoch)
    ends = np.cumsum(sizes)
    home = np.searchsorted(ends, picked, side="right")
    return np.asarray(stream.starts)[groups[home]] + picked - (ends - sizes)[home]

"""A column of the source, ready to be gathered from.

Preparing it happens once, at the first formatted use: small chunks are merged, buffers
become NumPy, and the facts that hold for the whole column are settled. After that a
batch costs what it takes to copy its rows, however many chunks there are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from arrow_jax._decode import decode
from arrow_jax._nodes import Lists, Node, Objects, Tensor, join, pick
from arrow_jax._settle import settle

Index = range | np.ndarray

_SMALL = 1 << 20  # bytes; smaller chunks are merged
_MERGED = 16 << 20  # until they are so big together


@dataclass(frozen=True)
class Column:
    """The prepared chunks of a column.

    Attributes:
      name: of the column; a field of a struct is "struct.field".
      chunks: at least one node; all of one kind, dtype and row shape.
      starts: int64[chunks + 1], the row at which each chunk begins.
    """

    name: str
    chunks: tuple[Node, ...]
    starts: np.ndarray

    def __len__(self) -> int:
        return int(self.starts[-1])

    def gather(self, rows: Index) -> Node:
        """Picks rows.

        Args:
          rows: a range of step 1, or an int64 array of valid indices.

        Returns:
          A node with those rows, in that order; views where `rows` is a range within
          one chunk.
        """
        if isinstance(rows, range):
            return self._gather_range(rows.start, rows.stop)
        if len(self.chunks) == 1:
            return pick(self.chunks[0], rows)
        homes = np.searchsorted(self.starts, rows, side="right") - 1
        order = np.argsort(homes, kind="stable")
        used, firsts = np.unique(homes[order], return_index=True)
        if not len(used):
            return pick(self.chunks[0], slice(0, 0))
        parts = [
            pick(self.chunks[home], rows[group] - self.starts[home])
            for home, group in zip(used, np.split(order, firsts[1:]), strict=True)
        ]
        if len(parts) == 1:
            return parts[0]
        back = np.empty(len(rows), np.int64)
        back[order] = np.arange(len(rows))
        return pick(join(parts), back)

    def _gather_range(self, start: int, stop: int) -> Node:
        first = int(np.searchsorted(self.starts, start, side="right")) - 1
        first = min(first, len(self.chunks) - 1)
        parts = []
        for chunk in range(first, len(self.chunks)):
            low = start - int(self.starts[chunk])
            high = min(stop, int(self.starts[chunk + 1])) - int(self.starts[chunk])
            parts.append(pick(self.chunks[chunk], slice(max(low, 0), max(high, 0))))
            if stop <= self.starts[chunk + 1]:
                break
        return join(parts)

    @cached_property
    def limits(self) -> tuple[Any, Any]:
        """The least and the greatest number that is not null, (0, 0) without any."""
        lows, highs = [], []
        for chunk in self.chunks:
            values = present_numbers(chunk)
            if values.size:
                lows.append(values.min())
                highs.append(values.max())
        return (min(lows), max(highs)) if lows else (0, 0)


def present_numbers(node: Node) -> np.ndarray:
    """Lists the numbers of a node that no mask hides and that are finite.

    Args:
      node: a tensor, or lists of one; their child is compact.

    Returns:
      The numbers; of floats, only the finite ones.
    """
    while isinstance(node, Lists):
        node = node.child
    if not isinstance(node, Tensor):
        return np.zeros(0)
    values = node.values
    if node.inner is not None:
        shown = node.inner
        if node.valid is not None:
            shown = shown & node.valid.reshape(-1, *[1] * (values.ndim - 1))
        values = values[shown]
    elif node.valid is not None:
        values = values[node.valid]
    return values[np.isfinite(values)] if values.dtype.kind == "f" else values


def prepare(
    name: str,
    arrays: Sequence[pa.Array],
    *,
    declared: tuple[int | None, ...] = (),
    words: Any = "row {}".format,
) -> Column:
    """Prepares a column of numbers, or of lists of them.

    Args:
      name: the column's.
      arrays: its Arrow chunks, at least one; no structs.
      declared: sizes of the axes where a feature declares them.
      words: row number -> how errors name that row.

    Returns:
      The column.

    Raises:
      ShapeError: if a row differs from the declared shape.
    """
    arrays = merge_small(arrays)
    starts = _starts(arrays)
    chunks = settle(
        [decode(a) for a in arrays],
        name=name,
        declared=declared,
        where=lambda chunk, row: words(int(starts[chunk]) + row),
    )
    return Column(name, tuple(chunks), starts)


def keep(name: str, arrays: Sequence[pa.Array]) -> Column:
    """Prepares a column that stays Arrow until its rows are asked for.

    Args:
      name: the column's.
      arrays: its Arrow chunks, at least one.

    Returns:
      The column, of `Objects`.
    """
    arrays = merge_small(arrays)
    return Column(name, tuple(map(Objects, arrays)), _starts(arrays))


def merge_small(arrays: Sequence[pa.Array]) -> list[pa.Array]:
    """Merges runs of small chunks, so that their number follows the bytes.

    Big chunks are never copied, so 32-bit offsets can't overflow either.

    Args:
      arrays: chunks of one type, at least one.

    Returns:
      Chunks with the same rows, empty ones dropped unless all are.
    """
    runs: list[list[pa.Array]] = [[]]
    size = 0
    for array in [a for a in arrays if len(a)] or arrays[:1]:
        if runs[-1] and (array.nbytes >= _SMALL or size + array.nbytes > _MERGED):
            runs.append([])
            size = 0
        runs[-1].append(array)
        size += max(array.nbytes, 1) if array.nbytes < _SMALL else _MERGED
    return [run[0] if len(run) == 1 else pa.concat_arrays(run) for run in runs]


def _starts(arrays: Sequence[pa.Array]) -> np.ndarray:
    return np.cumsum([0, *map(len, arrays)]).astype(np.int64)

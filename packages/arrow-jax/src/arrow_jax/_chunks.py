"""Columns come in chunks; picking rows must not mind how many.

Chunks under 1 MB are merged once, so that their number follows the bytes and not the
way the file was written: that copies such a column, in pieces of at most 16 MB, beside
the table. Rows are then found by bisection and gathered chunk by chunk,
without ever joining big ones: nothing is copied but the rows asked for, and 32-bit
offsets can't overflow.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from arrow_jax._take import take_rows

Index = range | np.ndarray

_Chunk = TypeVar("_Chunk")
_SMALL = 1 << 20  # bytes; smaller chunks are merged
_MERGED = 256 << 20  # until they are so big together


def merge_small(arrays: Sequence[pa.Array]) -> list[pa.Array]:
    """Merges runs of small chunks.

    Args:
      arrays: chunks of one type, at least one.

    Returns:
      Chunks with the same rows, empty ones dropped unless all are.
    """
    runs: list[list[pa.Array]] = [[]]
    size = 0
    for array in [a for a in arrays if len(a)] or arrays[:1]:
        n_bytes = _size(array)
        small = n_bytes < _SMALL
        if runs[-1] and (not small or size + n_bytes > _MERGED):
            runs.append([])
            size = 0
        runs[-1].append(array)
        size += n_bytes if small else _MERGED
    return [run[0] if len(run) == 1 else pa.concat_arrays(run) for run in runs]


def _size(array: pa.Array) -> int:
    try:
        return array.nbytes
    except pa.ArrowTypeError:  # older releases don't know it for views
        return array.get_total_buffer_size()


def chunk_starts(arrays: Sequence[Any]) -> np.ndarray:
    """Finds the row at which each chunk begins.

    Args:
      arrays: the chunks.

    Returns:
      int64[chunks + 1]; the last is the number of rows.
    """
    return np.cumsum([0, *map(len, arrays)]).astype(np.int64)


def gather(
    chunks: Sequence[_Chunk],
    starts: np.ndarray,
    rows: Index,
    *,
    pick: Callable[[_Chunk, slice | np.ndarray], _Chunk],
    join: Callable[[list[_Chunk]], _Chunk],
    place: Callable[[list[tuple[_Chunk, np.ndarray]], np.ndarray], _Chunk]
    | None = None,
) -> _Chunk:
    """Picks rows of a chunked column.

    Args:
      chunks: at least one.
      starts: from `chunk_starts`.
      rows: a range of step 1, or an int64 array of valid indices.
      pick: picks rows of one chunk.
      join: joins what was picked.
      place: makes the rows of several (chunk, rows in it), given where each row goes,
        in one go, where that can be done with fewer copies.

    Returns:
      The rows, in that order.
    """
    if len(chunks) == 1:
        is_range = isinstance(rows, range)
        return pick(chunks[0], slice(rows.start, rows.stop) if is_range else rows)
    if isinstance(rows, range):
        return join([pick(chunks[c], s) for c, s in _cut(starts, rows)])
    homes = np.searchsorted(starts, rows, side="right") - 1
    counts = np.bincount(homes, minlength=len(chunks))
    used = np.flatnonzero(counts)
    if len(used) < 2:
        home = int(used[0]) if len(used) else 0
        return pick(chunks[home], rows - starts[home])
    # Of 16 bits numpy sorts by counting, which takes a fraction of the time.
    small = homes.astype(np.uint16) if len(chunks) < 1 << 16 else homes
    order = np.argsort(small, kind="stable")
    local = rows[order] - starts[homes[order]]
    ends = np.cumsum(counts[used]).tolist()
    parts = [
        (chunks[home], local[first:end])
        for home, first, end in zip(used.tolist(), [0, *ends], ends, strict=False)
    ]
    if place is not None:
        return place(parts, order)
    back = np.empty(len(rows), np.int64)
    back[order] = np.arange(len(rows))
    return pick(join([pick(chunk, some) for chunk, some in parts]), back)


def _cut(starts: np.ndarray, rows: range) -> list[tuple[int, slice]]:
    """Lists the chunks that a range reaches, at least one, and the part of each."""
    last = len(starts) - 2
    first = min(int(np.searchsorted(starts, rows.start, side="right")) - 1, last)
    behind = int(np.searchsorted(starts, rows.stop, side="left"))
    return [
        (
            chunk,
            slice(
                max(rows.start - int(starts[chunk]), 0),
                max(min(rows.stop, int(starts[chunk + 1])) - int(starts[chunk]), 0),
            ),
        )
        for chunk in range(first, max(behind, first + 1))
    ]


@dataclass(frozen=True)
class Kept:
    """A column that stays Arrow until its rows are asked for.

    Attributes:
      chunks: Arrow arrays, at least one.
      starts: int64[chunks + 1], the row at which each begins.
    """

    chunks: tuple[pa.Array, ...]
    starts: np.ndarray

    @classmethod
    def of(cls, arrays: Sequence[pa.Array]) -> "Kept":
        """Makes the column of its chunks.

        Args:
          arrays: at least one.

        Returns:
          The column, its small chunks merged.
        """
        merged = merge_small(arrays)
        return cls(tuple(merged), chunk_starts(merged))

    def gather(self, rows: Index) -> pa.Array:
        """Picks rows.

        Args:
          rows: a range of step 1, or an int64 array of valid indices.

        Returns:
          An array of them, in that order.
        """
        return gather(self.chunks, self.starts, rows, pick=_pick, join=_join)

    def parts(self, rows: Index) -> list[pa.Array]:
        """Picks rows without making one array of them.

        Args:
          rows: a range of step 1, or an int64 array of valid indices.

        Returns:
          Arrays of them, at least one, in that order; views where `rows` is a range.
        """
        if isinstance(rows, range):
            return [self.chunks[c][s] for c, s in _cut(self.starts, rows)]
        try:
            return [self.gather(rows)]
        except pa.ArrowInvalid:
            # More text than 32-bit offsets can count is not one array.
            if len(rows) < 2:
                raise
            half = len(rows) // 2
            return [*self.parts(rows[:half]), *self.parts(rows[half:])]


def _pick(array: pa.Array, rows: slice | np.ndarray) -> pa.Array:
    return array[rows] if isinstance(rows, slice) else take_rows(array, rows)


def _join(arrays: list[pa.Array]) -> pa.Array:
    return arrays[0] if len(arrays) == 1 else pa.concat_arrays(arrays)

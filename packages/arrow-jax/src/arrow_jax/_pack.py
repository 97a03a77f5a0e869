"""Several short rows in one: packing, with ids that keep them apart."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from arrow_jax._block_order import Cut, Rest
from arrow_jax._errors import ArrowJaxError
from arrow_jax._permutation import permute
from arrow_jax._rows import is_whole
from arrow_jax._step import Draft, Layout


class Packed(NamedTuple):
    """Rows that hold several rows of the dataset each.

    Attributes:
      values: [batch, length, ...], zero where nothing lies.
      segment_ids: int32[batch, length]: 1 for the elements of the first row in it, 2
        for those of the second; 0 for padding.
      positions: int32[batch, length]: of an element in its segment, from 0. With
        `split=True` each piece of a row is a segment.

    Example:
      >>> import numpy as np
      >>> packed = Packed(np.array([[7, 8, 9, 0]]), np.array([[1, 1, 2, 0]]), None)
      >>> int((packed.segment_ids > 0).sum())
      3
    """

    values: Any
    segment_ids: Any
    positions: Any


@dataclass(frozen=True)
class Pack:
    """Packs rows of a ragged column together, several in one row of the batch.

    Use it for language models: attention within a row is limited to equal
    `segment_ids`. Columns with an equal `Pack` are packed alike and must have rows of
    equal lengths. Other columns have no place in such a batch.

    Args:
      length: of a packed row.
      split: False keeps rows whole: they are placed longest first, each in the first
        packed row with room (first-fit decreasing), block by block. True joins all rows
        end to end and cuts every `length` elements; a piece is a segment of its own,
        and only the end of an epoch is padded.
      block: without `split`, how many batches are packed together; more means less
        padding.
      truncate: whether rows longer than `length` are cut, instead of raising when the
        loader is made.

    Raises:
      ArrowJaxError: if an option makes no sense.

    References:
      David S. Johnson, "Near-optimal bin packing algorithms", 1973 (first-fit
      decreasing).

    Example:
      >>> from arrow_jax import Dataset, Loader, Pack
      >>> ds = Dataset.from_dict({"t": [[1, 1, 1], [2, 2], [3], [4, 4]]})
      >>> for batch in Loader(ds, 2, ragged={"t": Pack(4)}):
      ...     print(batch["t"].values.tolist(), batch["t"].segment_ids.tolist())
      [[1, 1, 1, 3], [2, 2, 4, 4]] [[1, 1, 1, 2], [1, 1, 2, 2]]
    """

    length: int
    split: bool = False
    block: int = 16
    truncate: bool = False

    def __post_init__(self) -> None:
        whole = is_whole(self.length, 1) and is_whole(self.block, 1)
        flags = isinstance(self.split, bool) and isinstance(self.truncate, bool)
        if not whole or not flags or (self.split and self.truncate):
            raise ArrowJaxError(
                f"Pack({self.length!r}, split={self.split}, block={self.block!r}, "
                f"truncate={self.truncate}): wanted a length and a block of at least "
                "1, and at most one of split and truncate"
            )
        object.__setattr__(self, "length", int(self.length))
        object.__setattr__(self, "block", int(self.block))


def first_fit(lengths: np.ndarray, capacity: int) -> tuple[np.ndarray, np.ndarray]:
    """Places rows longest first, each in the first bin with room.

    Rows of one length are placed together, so the cost follows the number of different
    lengths and not that of rows.

    Args:
      lengths: int64[k], each in [1, capacity].
      capacity: of a bin.

    Returns:
      int64[k] bins, numbered from 0, and int64[k] where each row begins in its bin.
    """
    bins, at = np.zeros(len(lengths), np.int64), np.zeros(len(lengths), np.int64)
    if not len(lengths):
        return bins, at
    order = np.argsort(-lengths, kind="stable")
    sizes, firsts = np.unique(-lengths[order], return_index=True)
    room = np.zeros(0, np.int64)
    for size, rows in zip(-sizes, np.split(order, firsts[1:]), strict=True):
        fits = room // size
        missing = len(rows) - int(fits.sum())
        if missing > 0:
            new = -(-missing // (capacity // size))
            room = np.concatenate([room, np.full(new, capacity)])
            fits = room // size
        behind = np.cumsum(fits)
        nth = np.arange(len(rows))
        home = np.searchsorted(behind, nth, side="right")
        before = nth - (behind - fits)[home]
        bins[rows], at[rows] = home, capacity - room[home] + before * size
        room = room - np.bincount(home, minlength=len(room)) * size
    return bins, at


@dataclass(frozen=True, eq=False)
class PackCutter:
    """Packs a block; the emptiest packed rows wait for the next one.

    Attributes:
      lengths: int64[n], of every row of the dataset.
      capacity: of a packed row.
      block: batches in a block.
      seed: of the shuffle, or None.
    """

    lengths: np.ndarray
    capacity: int
    block: int
    seed: int | None

    def block_rows(self, batch_size: int) -> int:
        """Says how many rows a block begins with."""
        mean = max(float(np.minimum(self.lengths, self.capacity).mean()), 1.0)
        return max(int(self.block * batch_size * self.capacity / mean), 1)

    def cut(self, rows: np.ndarray, batch_size: int, rest: Rest) -> Cut:
        """Cuts a block; what waits are the emptiest packed rows."""
        lengths = np.minimum(self.lengths[rows], self.capacity)
        rows, lengths = rows[lengths > 0], lengths[lengths > 0]
        bins, at = first_fit(lengths, self.capacity)
        used = np.bincount(bins, weights=lengths)
        n_given = len(used) // batch_size * batch_size
        if rest is Rest.SHORT:
            n_given = len(used)
        # Rows that are dropped are any, not those of the emptiest, which are short.
        ranked = np.argsort(-used, kind="stable")
        if rest is Rest.DROPPED:
            ranked = self._mixed(np.arange(len(used)), rows)
        given = np.sort(ranked[:n_given])
        number = np.full(len(used), n_given)
        number[self._mixed(given, rows)] = np.arange(n_given)
        bins = number[bins]
        order = np.lexsort((at, bins))
        rows, bins, at, lengths = rows[order], bins[order], at[order], lengths[order]
        drafts = []
        for first in range(0, n_given, batch_size):
            size = min(batch_size, n_given - first)
            a, b = np.searchsorted(bins, [first, first + size])
            layout = Layout(
                bins[a:b] - first, at[a:b], np.zeros(b - a, np.int64), lengths[a:b]
            )
            drafts.append(Draft(rows[a:b], size, size, layout=layout))
        return Cut(drafts, rows[bins == n_given])

    def _mixed(self, bins: np.ndarray, rows: np.ndarray) -> np.ndarray:
        # Bins are made longest row first; batches must not be.
        if self.seed is None or len(bins) < 2:
            return bins
        order = permute(np.arange(len(bins)), n=len(bins), seed=self.seed ^ len(rows))
        return bins[order]

    def describe(self) -> dict[str, Any]:
        """Says in JSON what the rule depends on."""
        return {"pack": self.capacity, "block": self.block}

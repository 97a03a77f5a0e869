"""Batches of rows of like length, each padded to one of a few lengths."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from arrow_jax._block_order import Cut, Rest
from arrow_jax._errors import ArrowJaxError
from arrow_jax._rows import is_whole
from arrow_jax._step import Draft

_CANDIDATES = 512  # lengths that are tried as edges; more would only be slower


@dataclass(frozen=True)
class Buckets:
    """Pads each batch of a ragged column to one of a few lengths.

    Rows are taken in blocks of `block` batches, sorted by length and cut into batches,
    and each batch is padded to the smallest edge that holds its longest row. A step is
    traced once an edge. Columns with the same `Buckets` share the batch's edge.

    Args:
      edges: the lengths, ascending; a row longer than the last raises when the loader
        is made. By default they are chosen from the lengths of all rows.
      max_buckets: how many may be chosen.
      waste: the fewest edges are chosen for which at most this part of the padded
        elements is padding, or `max_buckets` of them if that is not enough.
      block: how many batches are sorted together. More means less padding, and batches
        of more equal lengths.
      truncate: whether longer rows than the last edge are cut.

    Raises:
      ArrowJaxError: if an option makes no sense.

    Example:
      >>> from arrow_jax import Buckets, Dataset, Loader
      >>> ds = Dataset.from_dict({"t": [[1], [1, 2, 3], [4, 5], [6]]})
      >>> for batch in Loader(ds, 2, ragged={"t": Buckets([1, 3])}):
      ...     print(batch["t"].values.shape, batch["t"].lengths)
      (2, 1) [1 1]
      (2, 3) [2 3]
    """

    edges: tuple[int, ...] | None = None
    max_buckets: int = 8
    waste: float = 0.1
    block: int = 64
    truncate: bool = False

    def __post_init__(self) -> None:
        if self.edges is not None:
            known = isinstance(self.edges, Sequence | np.ndarray)
            edges = tuple(self.edges) if known else ()
            whole = bool(edges) and all(is_whole(edge, 0) for edge in edges)
            if not whole or list(edges) != sorted(set(edges)):
                raise ArrowJaxError(
                    f"Buckets({self.edges!r}): wanted lengths in ascending order, such "
                    "as Buckets([64, 128, 512])"
                )
            object.__setattr__(self, "edges", tuple(map(int, edges)))
        whole = is_whole(self.max_buckets, 1) and is_whole(self.block, 1)
        number = isinstance(self.waste, int | float)
        if not whole or not number or not 0 <= self.waste < 1:
            raise ArrowJaxError(
                f"Buckets(max_buckets={self.max_buckets!r}, waste={self.waste!r}, "
                f"block={self.block!r}): wanted at least 1 bucket, a waste in [0, 1) "
                "and at least 1 batch in a block"
            )
        if not isinstance(self.truncate, bool):
            raise ArrowJaxError(
                f"Buckets(truncate={self.truncate!r}): wanted a boolean"
            )
        object.__setattr__(self, "block", int(self.block))


def choose_edges(
    lengths: np.ndarray, *, max_buckets: int, waste: float
) -> tuple[int, ...]:
    """Chooses the lengths to pad to, for the least padding.

    Each row is counted as padded to the smallest edge that holds it.

    Args:
      lengths: int64[n] of all rows, at least one.
      max_buckets: how many edges, at most.
      waste: the part of the elements that may be padding.

    Returns:
      The edges, ascending; the last is the greatest length.
    """
    sizes, counts = np.unique(lengths, return_counts=True)
    if len(sizes) > _CANDIDATES:
        at = np.linspace(0, len(sizes) - 1, _CANDIDATES).round().astype(np.int64)
        ends = np.cumsum(counts)[at]
        sizes, counts = sizes[at], np.diff(ends, prepend=0)
    upto = np.concatenate([[0], np.cumsum(counts)])
    # cost[j]: elements when the first j sizes share the edges so far, the last being
    # sizes[j - 1]. A bucket from i to j holds upto[j] - upto[i] rows of sizes[j - 1].
    n = len(sizes)
    cost = np.concatenate([[0], upto[1:] * sizes]).astype(np.float64)
    total = float(lengths.sum())
    choices: list[np.ndarray] = []
    for _ in range(1, min(max_buckets, n)):
        if total >= (1 - waste) * cost[-1]:
            break
        rows = np.maximum(upto[None, 1:] - upto[:, None], 0)
        table = cost[:, None] + rows * sizes[None, :]
        table[np.arange(n + 1)[:, None] > np.arange(1, n + 1)[None, :]] = np.inf
        choice = np.argmin(table, axis=0)
        choices.append(choice)
        cost = np.concatenate([[0], table[choice, np.arange(n)]])
    edges, j = [], n
    for choice in [*reversed(choices), None]:
        edges.append(int(sizes[j - 1]))
        j = int(choice[j - 1]) if choice is not None else 0
        if not j:
            break
    return tuple(sorted(set(edges)))


@dataclass(frozen=True, eq=False)
class BucketCutter:
    """Sorts a block by length and cuts it.

    Attributes:
      lengths: int64[n], of every row of the dataset.
      edges: ascending.
      block: batches in a block.
    """

    lengths: np.ndarray
    edges: tuple[int, ...]
    block: int

    def block_rows(self, batch_size: int) -> int:
        """Says how many rows a block begins with."""
        return self.block * batch_size

    def cut(self, rows: np.ndarray, batch_size: int, rest: Rest) -> Cut:
        """Cuts a block; what fills no batch are the rows that came last."""
        n = len(rows) // batch_size * batch_size
        by_length = np.argsort(self.lengths[rows[:n]], kind="stable")
        parts = sorted(by_length.reshape(-1, batch_size), key=lambda p: int(p.min()))
        drafts = [self._draft(rows[part]) for part in parts]
        if rest is Rest.SHORT and n < len(rows):
            return Cut([*drafts, self._draft(rows[n:])], rows[:0])
        return Cut(drafts, rows[n:])

    def _draft(self, rows: np.ndarray) -> Draft:
        at = np.searchsorted(self.edges, self.lengths[rows].max())
        length = self.edges[min(int(at), len(self.edges) - 1)]
        return Draft(rows, len(rows), len(rows), length=length)

    def describe(self) -> dict[str, Any]:
        """Says in JSON what the rule depends on."""
        return {"buckets": list(self.edges), "block": self.block}

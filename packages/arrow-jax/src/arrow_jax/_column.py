"""A column of the source, ready to be gathered from.

Preparing it happens once, at the first formatted use: small chunks are merged, buffers
become NumPy, and the facts that hold for the whole column are settled. After that a
batch costs what it takes to copy its rows, however many chunks there are.
"""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from arrow_jax._chunks import Index, chunk_starts, gather, merge_small
from arrow_jax._decode import decode
from arrow_jax._errors import ShapeError
from arrow_jax._facts import Facts, facts_of, with_masks
from arrow_jax._nodes import Lists, Node, Tensor, join, pick, place
from arrow_jax._settle import settle


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
        together: Any = place if isinstance(self.chunks[0], Tensor) else None
        return gather(
            self.chunks, self.starts, rows, pick=pick, join=join, place=together
        )

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
    said: Facts | None = None,
    words: Any = "row {}".format,
) -> Column:
    """Prepares a column of numbers, or of lists of them.

    Args:
      name: the column's.
      arrays: its Arrow chunks, at least one; no structs.
      declared: sizes of the axes where a feature declares them.
      said: what a file says is known; believed where these rows agree.
      words: row number -> how errors name that row.

    Returns:
      The column.

    Raises:
      ShapeError: if a row differs from the declared shape.
    """
    arrays = merge_small(arrays)
    if len(arrays) > 1 and has_dictionary(arrays[0].type):
        # Codes mean something within one dictionary; joining makes it one.
        arrays = [pa.concat_arrays(arrays)]
    starts = chunk_starts(arrays)
    decoded = [decode(a) for a in arrays]

    def settled(sizes: tuple[int | None, ...]) -> list[Node]:
        return settle(
            decoded,
            name=name,
            declared=sizes,
            where=lambda chunk, row: words(int(starts[chunk]) + row),
        )

    chunks = settled(declared)
    if said and not declared and facts_of(chunks[0]) != said:
        with contextlib.suppress(ShapeError):
            tried = settled(said.axes)
            if facts_of(tried[0]).axes == said.axes:
                chunks = [with_masks(c, said.nulls) for c in tried]
    return Column(name, tuple(chunks), starts)


def has_dictionary(type_: pa.DataType) -> bool:
    """Whether a type, or one within its lists or structs, is a dictionary.

    Args:
      type_: any.

    Returns:
      True if it is.
    """
    inner = [type_.field(i).type for i in range(type_.num_fields)]
    return pa.types.is_dictionary(type_) or any(map(has_dictionary, inner))

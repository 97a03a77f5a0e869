"""Columns as NumPy: the two shapes that numbers take on their way to an array.

A `Tensor` is rows of one shape, `Lists` are rows that point into a child. Both can be
picked from by rows and joined, and neither ever looks at a single row in Python.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

Rows = slice | np.ndarray


@dataclass(frozen=True)
class Tensor:
    """Rows of numbers, all of one shape.

    Attributes:
      values: [n, *shape]; anything where a mask says null.
      valid: bool[n], or None where no row is null.
      inner: bool[n, *shape], or None where no element of a row is null.
    """

    values: np.ndarray
    valid: np.ndarray | None = None
    inner: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True)
class Lists:
    """Rows that are runs of a child's rows.

    Attributes:
      starts: int64[n], where each run begins.
      lengths: int64[n], zero for a null row.
      child: what the runs are of.
      valid: bool[n], or None where no row is null.
      fixed: the length that the Arrow type fixes, or None.
    """

    starts: np.ndarray
    lengths: np.ndarray
    child: "Node"
    valid: np.ndarray | None = None
    fixed: int | None = None

    def __len__(self) -> int:
        return len(self.starts)


Node = Tensor | Lists


def pick(node: Node, rows: Rows) -> Node:
    """Picks rows of a node.

    Args:
      node: the column.
      rows: a slice of step 1, which gives views, or valid indices, which copy.

    Returns:
      A node with those rows.
    """
    valid = None if node.valid is None else take(node.valid, rows)
    if isinstance(node, Lists):
        return Lists(
            node.starts[rows], node.lengths[rows], node.child, valid, node.fixed
        )
    inner = None if node.inner is None else take(node.inner, rows)
    return Tensor(take(node.values, rows), valid, inner)


def take(values: np.ndarray, rows: Rows) -> np.ndarray:
    """Picks rows of an array, into aligned memory unless a view will do.

    Args:
      values: [n, ...].
      rows: a slice, or valid indices.

    Returns:
      [len(rows), ...].
    """
    if isinstance(rows, slice):
        return values[rows]
    out = aligned((len(rows), *values.shape[1:]), values.dtype)
    if values.shape[0]:
        # "clip" only because "raise" would take through a second buffer.
        values.take(rows, axis=0, out=out, mode="clip")
    return out


def aligned(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Allocates an array whose memory jax's CPU backend can use without a copy.

    Args:
      shape: of the array.
      dtype: of the array.

    Returns:
      An array of that shape, 64-byte aligned, not initialised.
    """
    n_bytes = math.prod(shape) * dtype.itemsize
    if not n_bytes:
        return np.empty(shape, dtype)
    # Arrow's memory is aligned so, and costs half of what NumPy's does to align.
    return np.frombuffer(pa.allocate_buffer(n_bytes), dtype).reshape(shape)


def join(nodes: Sequence[Node]) -> Node:
    """Joins nodes of one kind, one after the other.

    Args:
      nodes: at least one.

    Returns:
      One node; a lone one is returned as it is.
    """
    if len(nodes) == 1:
        return nodes[0]
    tensors = [n for n in nodes if isinstance(n, Tensor)]
    if tensors:
        return Tensor(
            np.concatenate([t.values for t in tensors]),
            _join_masks([t.valid for t in tensors], tensors),
            _join_masks([t.inner for t in tensors], tensors),
        )
    parts = [compact(n) for n in nodes if isinstance(n, Lists)]
    ends = np.cumsum([0, *(len(p.child) for p in parts)])
    starts = [p.starts + end for p, end in zip(parts, ends, strict=False)]
    return Lists(
        np.concatenate(starts),
        np.concatenate([p.lengths for p in parts]),
        join([p.child for p in parts]),
        _join_masks([p.valid for p in parts], parts),
        parts[0].fixed,
    )


def place(parts: Sequence[tuple[Tensor, np.ndarray]], into: np.ndarray) -> Tensor:
    """Picks rows of several tensors straight into one.

    Args:
      parts: (tensor, rows of it), of one kind.
      into: where the rows go, those of the first part first.

    Returns:
      The rows, in the order of where they go.
    """

    def placed(get: Callable[[Tensor], np.ndarray | None]) -> np.ndarray | None:
        known = next((a for t, _ in parts if (a := get(t)) is not None), None)
        if known is None:
            return None
        found = np.empty((len(into), *known.shape[1:]), known.dtype)
        first = 0
        for tensor, rows in parts:
            part, values = found[first : first + len(rows)], get(tensor)
            if values is None:
                part[...] = True
            else:
                values.take(rows, axis=0, out=part, mode="clip")
            first += len(rows)
        out = aligned(found.shape, found.dtype)
        out[into] = found
        return out

    values = placed(lambda t: t.values)
    assert values is not None  # noqa: S101  (every tensor has some)
    return Tensor(values, placed(lambda t: t.valid), placed(lambda t: t.inner))


def _join_masks(
    masks: Sequence[np.ndarray | None], nodes: Sequence[Node]
) -> np.ndarray | None:
    known = next((m for m in masks if m is not None), None)
    if known is None:
        return None
    return np.concatenate(
        [
            np.ones((len(n), *known.shape[1:]), bool) if m is None else m
            for m, n in zip(masks, nodes, strict=True)
        ]
    )


def compact(lists: Lists) -> Lists:
    """Drops the child's rows that no list points to, and puts the others in order.

    Args:
      lists: any lists.

    Returns:
      The same lists, with `starts` the running sum of `lengths`.
    """
    ends = np.cumsum(lists.lengths)
    starts = ends - lists.lengths
    total = int(ends[-1]) if len(ends) else 0
    used = lists.lengths > 0
    first = int(lists.starts[used][0]) if used.any() else 0
    if np.array_equal(lists.starts[used], starts[used] + first):
        child = pick(lists.child, slice(first, first + total))
    else:
        child = pick(lists.child, expand(lists.starts, lists.lengths))
    return Lists(starts, lists.lengths, child, lists.valid, lists.fixed)


def as_lists(tensor: Tensor) -> Lists:
    """Turns the first axis of the rows back into lists.

    Args:
      tensor: whose rows have an axis.

    Returns:
      Lists of one length, empty where a row is null.
    """
    n, length = tensor.values.shape[:2]

    def flat(rows: np.ndarray) -> np.ndarray:
        return rows.reshape(n * length, *rows.shape[2:])

    starts, lengths = np.arange(n) * length, np.full(n, length)
    if tensor.valid is not None:
        lengths = np.where(tensor.valid, lengths, 0)
    child = Tensor(flat(tensor.values))
    if tensor.inner is not None:
        deep = tensor.inner.ndim > 2
        inner = flat(tensor.inner)
        child = Tensor(child.values, None if deep else inner, inner if deep else None)
    return Lists(starts, lengths, child, tensor.valid)


def expand(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Lists the positions of runs.

    Args:
      starts: int64[n], where each run begins.
      lengths: int64[n], how long it is.

    Returns:
      int64[sum of lengths].

    Example:
      >>> expand(np.array([5, 0]), np.array([2, 3]))
      array([5, 6, 0, 1, 2])
    """
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    return np.repeat(starts - (ends - lengths), lengths) + np.arange(total)

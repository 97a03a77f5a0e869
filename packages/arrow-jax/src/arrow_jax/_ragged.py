"""Lists of different lengths in arrays of one shape: padded, joined or packed.

Everything is arithmetic over starts and lengths; no row is looked at by itself.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from arrow_jax._containers import Masked, Ragged
from arrow_jax._nodes import Lists, Node, aligned, compact, expand, pick
from arrow_jax._step import Layout

# Makes NumPy of a child's rows: an array, or `Masked` of arrays.
Render = Callable[[Node], Any]


def pad(node: Lists, capacity: int, render: Render) -> Ragged:
    """Pads lists to one length.

    Args:
      node: the rows, none longer than `capacity`.
      capacity: the length.
      render: see `Render`.

    Returns:
      Values [n, capacity, ...] and lengths int32[n].
    """
    node = compact(node)
    n = len(node)
    into = expand(np.arange(n) * capacity, node.lengths)
    values = _spread(render(node.child), into, n * capacity)
    values = _map(values, lambda a: a.reshape(n, capacity, *a.shape[1:]))
    return Ragged(values, node.lengths.astype(np.int32))


def flatten(node: Lists, capacity: int, render: Render) -> Ragged:
    """Joins lists end to end.

    Args:
      node: the rows, together no longer than `capacity`.
      capacity: of all of them.
      render: see `Render`.

    Returns:
      Values [capacity, ...] and lengths int32[n].
    """
    node = compact(node)
    values = _spread(render(node.child), np.arange(int(node.lengths.sum())), capacity)
    return Ragged(values, node.lengths.astype(np.int32))


def pack(
    node: Lists, layout: Layout, *, n_bins: int, capacity: int, render: Render
) -> Any:
    """Packs pieces of lists.

    Args:
      node: the rows, one a piece of the layout.
      layout: where the pieces lie.
      n_bins: how many packed rows.
      capacity: of a packed row.
      render: see `Render`.

    Returns:
      Values [n_bins, capacity, ...].
    """
    child = pick(node.child, expand(node.starts + layout.starts, layout.lengths))
    into = expand(layout.bins * capacity + layout.at, layout.lengths)
    values = _spread(render(child), into, n_bins * capacity)
    return _map(values, lambda a: a.reshape(n_bins, capacity, *a.shape[1:]))


def segments(
    layout: Layout, *, n_bins: int, capacity: int
) -> tuple[np.ndarray, np.ndarray]:
    """Makes what keeps the pieces of packed rows apart.

    Args:
      layout: where the pieces lie.
      n_bins: how many packed rows.
      capacity: of a packed row.

    Returns:
      int32[n_bins, capacity] segment ids and positions.
    """
    into = expand(layout.bins * capacity + layout.at, layout.lengths)
    firsts = np.searchsorted(layout.bins, layout.bins)
    ids = (np.arange(len(layout.bins)) - firsts + 1).astype(np.int32)
    positions = expand(np.zeros(len(layout.bins), np.int64), layout.lengths)
    shape = (n_bins, capacity)
    return (
        _spread(np.repeat(ids, layout.lengths), into, n_bins * capacity).reshape(shape),
        _spread(positions.astype(np.int32), into, n_bins * capacity).reshape(shape),
    )


def cut(node: Lists, capacity: int) -> Lists:
    """Cuts lists that are longer than a length.

    Args:
      node: the rows.
      capacity: the length.

    Returns:
      The same lists, none longer.
    """
    return replace(node, lengths=np.minimum(node.lengths, capacity), fixed=None)


def _spread(flat: Any, into: np.ndarray, size: int) -> Any:
    def one(array: np.ndarray) -> np.ndarray:
        out = aligned((size, *array.shape[1:]), array.dtype)
        out[...] = 0
        out[into] = array
        return out

    return _map(flat, one)


def _map(tree: Any, change: Callable[[np.ndarray], np.ndarray]) -> Any:
    if isinstance(tree, Masked):
        return Masked(*(_map(part, change) for part in tree))
    return change(tree)

"""Finding the first row that breaks a rule, for the error that names it."""

from typing import Any

import numpy as np

from arrow_jax._nodes import Lists, Node, Tensor, compact


def has_nulls(node: Node) -> bool:
    """Whether a node has a null at any level.

    Args:
      node: a tensor or lists.

    Returns:
      True if a mask hides something.
    """
    if isinstance(node, Lists):
        return _hides(node.valid) or has_nulls(node.child)
    return _hides(node.valid) or _hides(node.inner)


def _hides(mask: np.ndarray | None) -> bool:
    return mask is not None and not mask.all()


def null_rows(node: Node) -> np.ndarray:
    """Finds the rows with a null in them.

    Args:
      node: a tensor or lists.

    Returns:
      bool[n].
    """
    bad = np.zeros(len(node), bool)
    if node.valid is not None:
        bad |= ~node.valid
    if isinstance(node, Tensor):
        if node.inner is not None:
            bad |= ~node.inner.all(axis=tuple(range(1, node.inner.ndim)))
        return bad
    node = compact(node)
    return bad | _rows_of(node, null_rows(node.child))


def outside_rows(node: Node, low: Any, high: Any) -> np.ndarray:
    """Finds the rows with a number outside a range; nulls, inf and nan are inside.

    Args:
      node: a tensor or lists.
      low: the least number that is inside.
      high: the greatest.

    Returns:
      bool[n].
    """
    if isinstance(node, Lists):
        node = compact(node)
        return _rows_of(node, outside_rows(node.child, low, high))
    wrong = _outside(node, low, high)
    return np.any(wrong, axis=tuple(range(1, wrong.ndim)))


def outside_value(node: Node, low: Any, high: Any) -> Any:
    """Finds the first number outside a range in a node that has one.

    Args:
      node: a tensor or lists.
      low: the least number that is inside.
      high: the greatest.

    Returns:
      The number.
    """
    while isinstance(node, Lists):
        node = compact(node).child
    return node.values[_outside(node, low, high)].flat[0]


def _outside(node: Tensor, low: Any, high: Any) -> np.ndarray:
    wrong = (node.values < low) | (node.values > high)
    if node.values.dtype.kind == "f":
        wrong &= np.isfinite(node.values)
    if node.inner is not None:
        wrong &= node.inner
    if node.valid is not None:
        wrong &= node.valid.reshape(-1, *[1] * (wrong.ndim - 1))
    return wrong


def _rows_of(lists: Lists, elements: np.ndarray) -> np.ndarray:
    rows = np.zeros(len(lists), bool)
    rows[np.repeat(np.arange(len(lists)), lists.lengths)[elements]] = True
    return rows

"""Finding the first row that breaks a rule, for the error that names it."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from arrow_jax._nodes import Lists, Node, Tensor, compact

Test = Callable[[np.ndarray], np.ndarray]


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


def misfit(stored: np.dtype, dtype: np.dtype) -> Test:
    """Makes the test for numbers that a dtype can't hold.

    Rounding a float is fine, and so are inf and nan in a float.

    Args:
      stored: what the numbers are.
      dtype: what they shall be.

    Returns:
      A function from numbers to booleans, true where one does not fit.
    """
    low, high = range_of(dtype)
    if stored.kind != "f":
        return lambda values: (values < low) | (values > high)
    if is_float(dtype):
        return lambda x: ((x < low) | (x > high)) & np.isfinite(x)
    return lambda values: ~_whole_within(values.astype(np.float64), low, high + 1)


def _whole_within(numbers: np.ndarray, low: int, end: int) -> np.ndarray:
    # Both ends are powers of two or small, which floats have exactly.
    return (numbers >= low) & (numbers < end) & (numbers == np.trunc(numbers))


def is_float(dtype: np.dtype) -> bool:
    """Whether a dtype is one of floats, bfloat16 and its like included.

    Args:
      dtype: any.

    Returns:
      True if it is.
    """
    return jnp.issubdtype(dtype, jnp.floating)


def range_of(dtype: np.dtype) -> tuple[Any, Any]:
    """Finds what a dtype can hold.

    Args:
      dtype: of numbers.

    Returns:
      The least and the greatest number, which for floats is what still rounds to it.
    """
    if dtype.kind == "b":
        return 0, 1
    if not is_float(dtype):
        info = np.iinfo(dtype)
        return info.min, info.max
    info = jnp.finfo(dtype)
    most = float(info.max)
    if dtype.itemsize < 8:
        most *= 1 + float(info.eps) / 4
    return -most, most


def rows_where(node: Node, test: Test) -> np.ndarray:
    """Finds the rows with a number that fails a test; nulls pass.

    Args:
      node: a tensor or lists.
      test: true for a number that fails.

    Returns:
      bool[n].
    """
    if isinstance(node, Lists):
        node = compact(node)
        return _rows_of(node, rows_where(node.child, test))
    wrong = _wrong(node, test)
    return np.any(wrong, axis=tuple(range(1, wrong.ndim)))


def value_where(node: Node, test: Test) -> Any:
    """Finds the first number that fails a test in a node that has one.

    Args:
      node: a tensor or lists.
      test: true for a number that fails.

    Returns:
      The number.
    """
    while isinstance(node, Lists):
        node = compact(node).child
    return node.values[_wrong(node, test)].flat[0]


def _wrong(node: Tensor, test: Test) -> np.ndarray:
    wrong = test(node.values)
    if node.inner is not None:
        wrong &= node.inner
    if node.valid is not None:
        wrong &= node.valid.reshape(-1, *[1] * (wrong.ndim - 1))
    return wrong


def _rows_of(lists: Lists, elements: np.ndarray) -> np.ndarray:
    rows = np.zeros(len(lists), bool)
    rows[np.repeat(np.arange(len(lists)), lists.lengths)[elements]] = True
    return rows

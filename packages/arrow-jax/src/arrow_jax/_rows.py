"""Which rows: keys as people write them, and views as index arithmetic.

The rows of a view are a `range` of step 1, which costs nothing and can be a view of the
data, or an int64 array.
"""

from typing import Any

import numpy as np

from arrow_jax._chunks import Index
from arrow_jax._errors import ArrowJaxError, ShapeError


def resolve(key: Any, n: int) -> int | Index:
    """Turns a key into positions.

    Args:
      key: an integer, a slice, or a list, NumPy or jax array of integers or booleans.
        Booleans are a mask.
      n: how many rows there are.

    Returns:
      An integer for an integer, else positions in [0, n).

    Raises:
      IndexError: if a position is not in [-n, n).
      ShapeError: if a mask has another length.
      TypeError: if the key is none of these.
    """
    if isinstance(key, slice):
        found = range(*key.indices(n))
        return found if found.step == 1 else np.arange(n, dtype=np.int64)[key]
    if isinstance(key, range):
        key = np.arange(key.start, key.stop, key.step)
    array = np.asarray(key)
    if array.size and array.dtype == object and all(_is_integer(i) for i in array.flat):
        raise IndexError(_outside(max(array.flat, key=abs), n))  # no int64 holds it
    if not array.size and array.ndim == 1 and array.dtype.kind != "b":
        return np.zeros(0, np.int64)
    if array.dtype.kind == "b" and array.ndim == 1:
        if len(array) != n:
            raise ShapeError(
                f"a mask of {len(array)} booleans for {n} rows: give one a row, or "
                "positions as integers"
            )
        return np.flatnonzero(array)
    if array.dtype.kind not in "iu" or array.ndim > 1:
        raise TypeError(
            f"rows can't be picked by {array.dtype}{list(array.shape)}: use an "
            "integer, a slice, a list or array of integers, a mask of booleans, or a "
            "column's name"
        )
    outside = (array < -n) | (array >= n)
    if outside.any():
        raise IndexError(_outside(array[outside].flat[0], n))
    positions = np.where(array < 0, array.astype(np.int64) + n, array).astype(np.int64)
    return int(positions) if array.ndim == 0 else positions


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _outside(row: Any, n: int) -> str:
    if not n:
        return f"row {row} of a dataset without rows"
    return f"row {row} of a dataset with {n} rows: wanted one from {-n} to {n - 1}"


def compose(rows: Index, positions: Index) -> Index:
    """Picks from the rows of a view.

    Args:
      rows: of the view.
      positions: in the view.

    Returns:
      Rows of the source.
    """
    if isinstance(positions, range):
        return rows[positions.start : positions.stop]
    if isinstance(rows, range):
        return positions + rows.start
    return rows[positions]


def check_batch_size(batch_size: int) -> None:
    """Raises for a batch size that is none.

    Args:
      batch_size: what the user gave.

    Raises:
      ArrowJaxError: if it is not an integer of at least one.
    """
    if isinstance(batch_size, bool) or not isinstance(batch_size, int | np.integer):
        raise ArrowJaxError(f"batch_size={batch_size!r}: wanted an integer")
    if batch_size < 1:
        raise ArrowJaxError(f"batch_size={batch_size}: wanted at least 1")


def is_whole(number: Any, least: int) -> bool:
    """Whether an option is an integer in range; a boolean is none.

    Args:
      number: what the user gave.
      least: the least that will do; 2**31 - 1 is the greatest, as no axis is longer.

    Returns:
      Whether it is.
    """
    whole = isinstance(number, int | np.integer) and not isinstance(number, bool)
    return whole and least <= int(number) < 1 << 31


def check_seed(seed: Any) -> None:
    """Raises for a seed that is none.

    Args:
      seed: what the user gave.

    Raises:
      ArrowJaxError: if it is not an integer of 64 bits, beyond which orders repeat.
    """
    whole = isinstance(seed, int | np.integer) and not isinstance(seed, bool)
    if not whole or not -(1 << 63) <= int(seed) < 1 << 63:
        raise ArrowJaxError(f"seed={seed!r}: wanted an integer of 64 bits")

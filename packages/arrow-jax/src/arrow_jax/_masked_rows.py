"""Lists of rows with masks, as a format gives ragged columns with nulls, made flat."""

from typing import Any

import numpy as np

from arrow_jax._containers import Masked


def holds_mask(row: Any) -> bool:
    """Whether a row has a mask at some level.

    The first element stands for all of them: what a format gives is of one kind.

    Args:
      row: an array, a list, `Masked`, or anything else.

    Returns:
      True if it has.
    """
    while isinstance(row, list) and row:
        row = row[0]
    return isinstance(row, Masked)


def row_lengths(rows: list[Any]) -> list[int]:
    """Counts the elements of each row.

    Args:
      rows: arrays, lists, or `Masked` of these.

    Returns:
      One length a row.

    Example:
      >>> row_lengths([Masked(np.array([1, 2]), np.array([True, False])), []])
      [2, 0]
    """
    return [len(_unmasked(row)) for row in rows]


def _unmasked(row: Any) -> Any:
    while isinstance(row, Masked):
        row = row.values
    return row


def flatten_rows(rows: list[Any]) -> Any:
    """Joins the elements of all rows.

    Args:
      rows: arrays, lists, or `Masked` of these; at least one.

    Returns:
      One array or list; within `Masked` where a row is.

    Example:
      >>> some = Masked(np.array([1, 2]), np.array([True, False]))
      >>> flatten_rows([some, Masked(np.array([3]), np.array([True]))])
      Masked(values=array([1, 2, 3]), valid=array([ True, False,  True]))
    """
    if any(isinstance(row, Masked) for row in rows):
        pairs = [
            row if isinstance(row, Masked) else Masked(row, np.ones(len(row), bool))
            for row in rows
        ]
        valid = np.concatenate([np.asarray(pair.valid) for pair in pairs])
        return Masked(flatten_rows([pair.values for pair in pairs]), valid)
    if any(isinstance(row, list) for row in rows):
        return [element for row in rows for element in row]
    return np.concatenate([np.asarray(row) for row in rows])

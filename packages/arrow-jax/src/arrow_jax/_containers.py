"""The two pytrees that a column can be, other than one array."""

from typing import Any, NamedTuple

import numpy as np

from arrow_jax._errors import ShapeError


class Ragged(NamedTuple):
    """Rows of different lengths, padded to one.

    The loader makes it from list columns: `Loader(..., ragged={"tokens": 512})`. It is
    a NamedTuple, hence a pytree: it crosses `jit` as it is.

    Attributes:
      values: [batch, capacity, ...], zero behind each row's end.
      lengths: int32[batch].

    Example:
      >>> import numpy as np
      >>> Ragged(np.array([[7, 8], [9, 0]]), np.array([2, 1])).lengths
      array([2, 1])
    """

    values: Any
    lengths: Any


class Masked(NamedTuple):
    """Values and which of them are there; what `nulls="mask"` makes of a column.

    Around lists it nests as Masked(Ragged(Masked)): a row can be null, and so can an
    element of a row that is not.

    Attributes:
      values: [n, ...], zero where the row is null.
      valid: bool[n], or one a value where only elements can be null.

    Example:
      >>> import numpy as np
      >>> Masked(np.array([1, 0]), np.array([True, False])).valid
      array([ True, False])
    """

    values: Any
    valid: Any


def check_ragged(name: str, values: np.ndarray, lengths: np.ndarray) -> None:
    """Raises for lengths that reach beyond the values of a `Ragged`.

    Args:
      name: the column's.
      values: of it, without a mask.
      lengths: of it.

    Raises:
      ShapeError: if there are not as many lengths as rows, or one does not fit.
    """
    n_rows, capacity = (*values.shape, -1, -1)[:2]
    if capacity < 0 or lengths.shape != (n_rows,):
        raise ShapeError(
            f"column {name!r} is Ragged(values{list(values.shape)}, lengths"
            f"{list(lengths.shape)}), wanted values [n, capacity, ...] and lengths [n]"
        )
    bad = np.flatnonzero((lengths < 0) | (lengths > capacity))
    if len(bad):
        raise ShapeError(
            f"column {name!r}, row {bad[0]}: the length {lengths[bad[0]]} is not within"
            f" 0 and {capacity}, the capacity of values{list(values.shape)}"
        )

"""The two pytrees that a column can be, other than one array."""

from typing import Any, NamedTuple


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

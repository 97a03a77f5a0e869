"""One idea a file: here, doubling."""

from typing import Any


def double(x: Any) -> Any:
    """Doubles a number or an array.

    Args:
      x: a number, or an array of any shape and numeric dtype.

    Returns:
      Twice `x`, of the same shape and dtype.

    Example:
      >>> double(2)
      4
    """
    return x + x

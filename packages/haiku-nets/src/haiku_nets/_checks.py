"""Numbers that users type, checked where they are known.

They may be traced: of a traced number only the dtype is known, and it passes.
"""

import operator
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def check_counts(
    where: str, /, *, low: int = 1, **counts: int | Sequence[int]
) -> dict[str, Any]:
    """Refuses what is no whole number, one or one for each axis, and small ones.

    Args:
      where: the function or module that asks.
      low: the least.
      **counts: by the names of the arguments.

    Returns:
      The counts as Python's ints, or tuples of them, by the same names.

    Raises:
      TypeError: of bools, floats, texts, None, and what is traced.
      ValueError: of whole numbers below `low`.
    """
    checked: dict[str, Any] = {}
    for name, value in counts.items():
        several = isinstance(value, Sequence)
        for count in value if several else [value]:
            known = _is_number(count, jnp.integer) and not _is_traced(count)
            if not known or isinstance(value, str | bytes):
                raise TypeError(
                    f"{where} found {name}={value!r}, wanted a whole number, or one "
                    f"for each axis: pass {name}={low} or more, without a point."
                )
            if operator.index(count) < low:
                raise ValueError(
                    f"{where} found {name}={value!r}, wanted {low} or more: pass "
                    f"{name}={low}."
                )
        checked[name] = (
            tuple(map(operator.index, value)) if several else operator.index(value)
        )
    return checked


def check_decay(where: str, decay: Any) -> None:
    """Refuses what is no number, and a known one that no average has.

    Raises:
      TypeError: of bools, texts, None, and arrays of several numbers.
      ValueError: of numbers below 0, of 1 and more, and of NaN.
    """
    if not _is_number(decay, jnp.number):
        raise TypeError(
            f"{where} found decay={decay!r}, wanted a number: pass decay=0.999."
        )
    if not _is_traced(decay) and not 0 <= float(decay) < 1:
        raise ValueError(
            f"{where} found decay={decay}, wanted 0 or more, and less than 1: pass "
            "decay=0.999."
        )


def _is_number(value: Any, kind: Any) -> bool:
    if isinstance(value, bool) or not isinstance(
        value, int | float | np.generic | np.ndarray | jax.Array
    ):
        return False
    dtype = getattr(value, "dtype", type(value))
    complex_ = jnp.issubdtype(dtype, jnp.complexfloating)
    return np.ndim(value) == 0 and jnp.issubdtype(dtype, kind) and not complex_


def _is_traced(value: Any) -> bool:
    return isinstance(value, jax.core.Tracer)

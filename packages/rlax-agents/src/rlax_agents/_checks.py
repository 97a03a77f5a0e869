"""What every function asks of its arguments, checked while it is traced.

Shapes and dtypes are known at trace time and are always checked. Values are checked
where they are known: Python numbers and arrays outside `jit`.
"""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


class ArgumentError(ValueError, TypeError):
    """An argument has the wrong rank, shape, dtype or range.

    The message names the function, the argument, what it had, what it should have had,
    and what to type. It is a `ValueError` and a `TypeError`.
    """


def check_floats(where: str, **arrays: Any) -> list[jax.Array]:
    """Makes arrays of floats that all have the shape of the first, and one dtype.

    Args:
      where: the function that asks.
      **arrays: by the names of its arguments.

    Returns:
      The arrays in the order given, in the dtype that jax promotes them to.

    Raises:
      ArgumentError: if one holds no floats, or has another shape than the first.
    """
    found = {name: check_float(where, name, value) for name, value in arrays.items()}
    first, *others = found
    for name in others:
        check_shape(where, name, found[name], found[first].shape, like=first)
    with jax.numpy_dtype_promotion("standard"):
        dtype = jnp.result_type(*found.values())
    return [array.astype(dtype) for array in found.values()]


def as_array(where: str, name: str, value: Any) -> jax.Array:
    """Makes an array of whatever is one, such as a list of numbers."""
    try:
        return jnp.asarray(value)
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            f"{where}: {name} is a {type(value).__name__} that is no array ({error}); "
            f"wanted a jax.Array, a numpy.ndarray or numbers"
        ) from error


def check_float(where: str, name: str, value: Any) -> jax.Array:
    """Makes an array of floats; integers raise, for they are most often a mistake."""
    array = as_array(where, name, value)
    if not jnp.issubdtype(array.dtype, jnp.floating):
        raise ArgumentError(
            f"{where}: {name} has dtype {array.dtype}, wanted a float; "
            f"type {name}.astype(jnp.float32)"
        )
    return array


def check_actions(
    where: str,
    name: str,
    value: Any,
    shape: Sequence[int],
    *,
    n: int,
    like: str,
    mask: jax.Array | None = None,
) -> jax.Array:
    """Makes an array of integers of that shape, each one of n actions.

    Where they are not known, under `jit`, those out of range are clipped.
    """
    array = as_array(where, name, value)
    if not jnp.issubdtype(array.dtype, jnp.integer):
        raise ArgumentError(
            f"{where}: {name} has dtype {array.dtype}, wanted an integer; "
            f"type {name}.astype(jnp.int32)"
        )
    check_shape(where, name, array, shape, like=like)
    check_range(where, name, array, 0, n - 1, mask=mask)
    if array.dtype.itemsize < 4:
        array = array.astype(jnp.int32)
    return jnp.clip(array, 0, n - 1)


def check_mask(
    where: str, name: str, value: Any, shape: Sequence[int], *, like: str
) -> jax.Array | None:
    """Makes an array of booleans of that shape, or None of None."""
    if value is None:
        return None
    array = as_array(where, name, value)
    if array.dtype != jnp.bool_:
        raise ArgumentError(
            f"{where}: {name} has dtype {array.dtype}, wanted bool; type {name} != 0"
        )
    check_shape(where, name, array, shape, like=like)
    return array


def check_shape(
    where: str, name: str, array: Any, shape: Sequence[int], *, like: str
) -> None:
    """Raises unless the array has that shape, and says what slipped if it can."""
    found, shape = tuple(np.shape(array)), tuple(shape)
    if found == shape:
        return
    raise ArgumentError(
        f"{where}: {name} has shape {found}, wanted {shape} like {like}; "
        f"{_remedy(name, found, shape)}"
    )


def _remedy(name: str, found: tuple[int, ...], shape: tuple[int, ...]) -> str:
    if found == (*shape, 1):
        return f"type {name}[..., 0]"
    if len(found) >= 2 and (found[1], found[0], *found[2:]) == shape:
        return f"time and batch are swapped: type jnp.swapaxes({name}, 0, 1)"
    if len(found) == len(shape) and found[0] == shape[0] + 1:
        return f"it has one step more: type {name}[:-1] or {name}[1:]"
    if np.prod(found) == np.prod(shape):
        return f"type {name}.reshape{shape} if that is what it holds"
    return "both have to be of the same steps"


def check_rank(where: str, name: str, array: Any, rank: int, *, axes: str) -> None:
    """Raises unless the array has that rank; `axes` says in words which they are."""
    if np.ndim(array) != rank:
        raise ArgumentError(
            f"{where}: {name} has shape {tuple(np.shape(array))}, "
            f"wanted rank {rank}: {axes}"
        )


def check_range(
    where: str,
    name: str,
    value: Any,
    low: float,
    high: float = float("inf"),
    *,
    mask: jax.Array | None = None,
) -> None:
    """Raises if a value that is known and counts is not in [low, high]."""
    values, counts = read_values(value), read_values(mask)
    if values is None or (mask is not None and counts is None):
        return
    wrong = ~((values >= low) & (values <= high))
    if counts is not None:
        wrong &= counts.astype(bool)
    if wrong.any():
        at = tuple(int(i) for i in np.argwhere(wrong)[0])
        place = f" at {list(at)}" if at else ""
        wanted = f"[{low:g}, {high:g}]" if np.isfinite(high) else f"{low:g} or more"
        raise ArgumentError(
            f"{where}: {name} is {values[at]:g}{place}, wanted {wanted}; "
            f"correct it{', or mask it out' if at else ''}"
        )


def check_probabilities(
    where: str, name: str, value: Any, *, mask: jax.Array | None = None
) -> None:
    """Raises if known values that count are no probabilities over the last axis."""
    values, counts = read_values(value), read_values(mask)
    if values is None or (mask is not None and counts is None):
        return
    rows = None if mask is None else jnp.broadcast_to(mask[..., None], values.shape)
    check_range(where, name, value, 0.0, 1.0, mask=rows)
    wrong = ~(np.abs(values.sum(-1) - 1) <= 1e-2)
    if counts is not None:
        wrong &= counts.astype(bool)
    if wrong.any():
        at = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise ArgumentError(
            f"{where}: {name} sums to {values[at].sum():g} over its last axis at "
            f"{list(at)}, wanted 1; type jax.nn.softmax({name}) if it holds logits"
        )


def read_values(value: Any) -> np.ndarray | None:
    """The numbers of a value, or None where they are not known while tracing."""
    if value is None or isinstance(value, jax.core.Tracer):
        return None
    if isinstance(value, jax.Array) and not value.is_fully_addressable:
        return None
    return np.asarray(value, np.float64)


def check_count(where: str, name: str, value: Any, *, low: int = 1) -> int:
    """Makes a Python int that is at least `low`; other types raise."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise ArgumentError(
            f"{where}: {name} is {value!r}, wanted an int; type {name}={low} or more"
        )
    if value < low:
        raise ArgumentError(
            f"{where}: {name} is {value}, wanted {low} or more; type {name}={low}"
        )
    return int(value)

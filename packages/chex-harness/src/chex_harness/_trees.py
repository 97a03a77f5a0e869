"""Comparing pytrees: all leaves at once, each to the precision of its dtype."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

# About 8 units in the last place for one rounding, and room for a reduction.
_RTOL = {"float64": 1e-12, "float32": 1e-5, "float16": 4e-3, "bfloat16": 3e-2}


def assert_trees_close(
    actual: Any, expected: Any, *, rtol: float | None = None, atol: float = 0.0
) -> None:
    """Asserts that two pytrees have one structure and close leaves.

    Unlike `chex.assert_trees_all_close` it lists every leaf that differs, takes the
    tolerance from the dtype, and compares typed key arrays (which must be equal, their
    implementation too). NaN equals NaN.

    Args:
      actual: a pytree of arrays.
      expected: a pytree of the same structure, shapes and dtypes.
      rtol: relative tolerance; by default 1e-12 for float64, 1e-5 for float32,
        4e-3 for float16, 3e-2 for bfloat16, and for complex numbers as for their
        parts, of the absolute value. Other dtypes must be equal.
      atol: absolute tolerance.

    Raises:
      AssertionError: if structure, a shape, a dtype or a value differs. The message
        has one line a leaf: its path, the worst element and both values.
      TypeError: if a leaf is neither an array of numbers nor of keys, as a string.

    Example:
      >>> import jax.numpy as jnp
      >>> assert_trees_close({"w": jnp.ones(2)}, {"w": jnp.ones(2) + 1e-7})
    """
    found, found_def = jax.tree.flatten_with_path(actual)
    wanted, wanted_def = jax.tree.flatten_with_path(expected)
    if found_def != wanted_def:
        raise AssertionError(
            f"the trees differ in structure:\n  actual   {found_def}\n"
            f"  expected {wanted_def}"
        )
    lines = []
    for (path, a), (_, b) in zip(found, wanted, strict=True):
        name = jax.tree_util.keystr(path) or "the leaf"
        if complaint := _compare(_read(a, name), _read(b, name), rtol, atol):
            lines.append(f"{name}: {complaint}")
    if lines:
        raise AssertionError(
            f"{len(lines)} of {len(found)} leaves differ:\n  " + "\n  ".join(lines)
        )


class _Leaf(NamedTuple):
    type: str
    values: np.ndarray


def _read(leaf: Any, name: str) -> _Leaf:
    if isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        values = np.asarray(jax.random.key_data(leaf))
        return _Leaf(f"{leaf.dtype}{list(leaf.shape)}", values)
    values = np.asarray(leaf)
    if values.dtype.kind in "OSUTmM" or values.dtype.names is not None:
        raise TypeError(
            f"{name} is {leaf!r:.60}, of dtype {values.dtype}; assert_trees_close "
            "takes arrays of numbers or keys, so take this out and compare it with =="
        )
    return _Leaf(f"{values.dtype}{list(values.shape)}", values)


def _compare(
    actual: _Leaf, expected: _Leaf, rtol: float | None, atol: float
) -> str | None:
    if actual.type != expected.type:
        return f"{actual.type} against {expected.type}"
    a, b = actual.values, expected.values
    inexact = jnp.issubdtype(a.dtype, jnp.inexact)
    if rtol is None and inexact:
        rtol = _RTOL.get(jnp.finfo(a.dtype).dtype.name)  # of complex: of its parts
    wide = np.result_type(a.dtype, np.float64)
    x, y = a.astype(wide), b.astype(wide)
    if rtol is not None:
        wrong = ~np.isclose(x, y, rtol=rtol, atol=atol, equal_nan=True)
    else:
        wrong = (a != b) & ~(np.isnan(x) & np.isnan(y))
    if not wrong.any():
        return None
    with np.errstate(invalid="ignore"):
        distance = np.where(wrong, np.abs(x - y), -1)
    worst = np.unravel_index(np.argmax(np.nan_to_num(distance, nan=np.inf)), a.shape)
    where = f" at {[int(i) for i in worst]}" if a.ndim else ""
    tolerance = "exactly" if rtol is None else f"to rtol={rtol:g}, atol={atol:g}"
    return (
        f"{int(wrong.sum())} of {wrong.size} elements, worst{where}: "
        f"{a[worst]} against {b[worst]} (wanted {tolerance})"
    )

"""Comparing pytrees: all leaves at once, each to the precision of its dtype."""

from typing import Any

import jax
import numpy as np

# About 8 units in the last place for one rounding, and room for a reduction.
_RTOL = {"float64": 1e-12, "float32": 1e-5, "float16": 4e-3, "bfloat16": 3e-2}


def assert_trees_close(
    actual: Any, expected: Any, *, rtol: float | None = None, atol: float = 0.0
) -> None:
    """Asserts that two pytrees have one structure and close leaves.

    Unlike `chex.assert_trees_all_close` it lists every leaf that differs, takes the
    tolerance from the coarser dtype of the two, and compares typed key arrays (which
    must be equal).

    Args:
      actual: a pytree of arrays.
      expected: a pytree of the same structure, shapes and dtypes.
      rtol: relative tolerance; by default 1e-12 for float64, 1e-5 for float32,
        4e-3 for float16, 3e-2 for bfloat16. Other dtypes must be equal.
      atol: absolute tolerance.

    Raises:
      AssertionError: if structure, a shape, a dtype or a value differs. The message
        has one line a leaf: its path, the worst element and both values.

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
    lines = [
        f"{jax.tree_util.keystr(path) or 'the leaf'}: {complaint}"
        for (path, a), (_, b) in zip(found, wanted, strict=True)
        if (complaint := _compare(a, b, rtol, atol))
    ]
    if lines:
        raise AssertionError(
            f"{len(lines)} of {len(found)} leaves differ:\n  " + "\n  ".join(lines)
        )


def _compare(a: Any, b: Any, rtol: float | None, atol: float) -> str | None:
    a, b = _values(a), _values(b)
    if a.shape != b.shape or a.dtype != b.dtype:
        return f"{a.dtype}{list(a.shape)} against {b.dtype}{list(b.shape)}"
    if rtol is None:
        rtol = _RTOL.get(a.dtype.name)
    if rtol is None:
        wrong = a != b
    else:
        wide = np.result_type(a.dtype, np.float64)
        a, b = a.astype(wide), b.astype(wide)
        wrong = ~np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=True)
    if not wrong.any():
        return None
    with np.errstate(invalid="ignore"):
        distance = np.where(wrong, np.abs(a.astype(float) - b.astype(float)), -1)
    worst = np.unravel_index(np.argmax(np.nan_to_num(distance, nan=np.inf)), a.shape)
    where = f" at {[int(i) for i in worst]}" if a.ndim else ""
    tolerance = "exactly" if rtol is None else f"to rtol={rtol:g}, atol={atol:g}"
    return (
        f"{int(wrong.sum())} of {wrong.size} elements, worst{where}: "
        f"{a[worst]} against {b[worst]} (wanted {tolerance})"
    )


def _values(leaf: Any) -> np.ndarray:
    if isinstance(leaf, jax.Array) and jax.dtypes.issubdtype(
        leaf.dtype, jax.dtypes.prng_key
    ):
        leaf = jax.random.key_data(leaf)
    return np.asarray(leaf)

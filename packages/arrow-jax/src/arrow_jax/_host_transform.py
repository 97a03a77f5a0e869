"""A function of the user's between the assembled batch and the devices."""

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from arrow_jax._checks import range_of
from arrow_jax._errors import (
    ArrowJaxError,
    NarrowingError,
    ShapeError,
    UnsupportedTypeError,
)


class HostTransform:
    """Applies a function to NumPy batches and holds it to one spec.

    The spec is found by a trial on zeros, so it is known before the first read.

    Args:
      function: takes the dict of a batch in NumPy and returns one.
      x64: whether 64-bit arrays stay; else they are narrowed, checked like columns.
    """

    def __init__(self, function: Callable[[dict[str, Any]], Any], *, x64: bool) -> None:
        if not callable(function):
            raise ArrowJaxError(
                f"host_transform={function!r}: wanted a function from a batch to one"
            )
        self._function, self._x64 = function, x64

    def spec(self, spec: Mapping[str, Any], n: int | None) -> dict[str, Any]:
        """Finds what the function makes of a batch.

        Args:
          spec: of the batch.
          n: rows in it, which every array is to have, or None if some have other axes.

        Returns:
          The spec of the result.

        Raises:
          ArrowJaxError: if the result is no dict of arrays.
          ShapeError: if an array has another number of rows.
          UnsupportedTypeError: if an array holds no numbers.
        """
        zeros = jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), dict(spec))
        made = self._function(zeros)
        if not isinstance(made, dict) or not made:
            found = (
                "an empty dict"
                if isinstance(made, dict)
                else f"a {type(made).__name__}"
            )
            raise ArrowJaxError(
                f"host_transform returned {found}, wanted a dict of NumPy arrays"
            )
        for path, leaf in jax.tree_util.tree_leaves_with_path(made):
            where = jax.tree_util.keystr(path)
            if not isinstance(leaf, np.ndarray):
                raise ArrowJaxError(
                    f"host_transform returned a {type(leaf).__name__} at {where}, "
                    "wanted a NumPy array. Use transform= for what runs on the devices"
                )
            if n is not None and leaf.shape[:1] != (n,):
                raise ShapeError(
                    f"host_transform returned {list(leaf.shape)} at {where} for a "
                    f"batch of {n} rows: the first axis is that of rows"
                )
            if not _is_number(leaf.dtype):
                raise UnsupportedTypeError(
                    f"host_transform returned {leaf.dtype} at {where}, which is no "
                    "array of numbers. Leave it out, or name its column in host="
                )
        return {
            name: jax.tree.map(
                lambda leaf: jax.ShapeDtypeStruct(leaf.shape, self._kept(leaf.dtype)),
                column,
            )
            for name, column in made.items()
        }

    def apply(
        self, batch: dict[str, Any], spec: Mapping[str, Any], n: int | None
    ) -> dict[str, Any]:
        """Applies the function.

        Args:
          batch: in NumPy.
          spec: of the result, from `spec`.
          n: rows of this process's part of the batch, or None for all.

        Returns:
          What the function returned.

        Raises:
          ShapeError: if it is not what the trial gave.
          NarrowingError: if a number does not fit the 32 bits that it is narrowed to.
        """
        made = jax.tree_util.tree_map_with_path(self._narrowed, self._function(batch))

        def of_part(leaf: jax.ShapeDtypeStruct) -> tuple[Any, ...]:
            shape = leaf.shape if n is None else (n, *leaf.shape[1:])
            return (*shape, leaf.dtype)

        wanted = jax.tree.map(of_part, dict(spec))
        found = jax.tree.map(lambda a: (*np.shape(a), a.dtype), made)
        if found != wanted:
            raise ShapeError(
                f"host_transform returned {_said(made)}, but for a batch of zeros it "
                f"returned {_said(dict(spec))} (rows apart). Its shapes and dtypes may "
                "not depend on the values"
            )
        return made

    def _kept(self, dtype: np.dtype) -> np.dtype:
        native = dtype.newbyteorder("=")
        narrow = native.itemsize == (16 if native.kind == "c" else 8)
        if self._x64 or not narrow or native.kind not in "iufc":
            return native
        return np.dtype(f"{native.kind}{native.itemsize // 2}")

    def _narrowed(self, path: Any, leaf: Any) -> Any:
        if not isinstance(leaf, np.ndarray) or leaf.dtype == self._kept(leaf.dtype):
            return leaf
        dtype = self._kept(leaf.dtype)
        if dtype.kind in "iuf":
            low, high = range_of(dtype)
            wrong = (leaf < low) | (leaf > high)
            if dtype.kind == "f":
                wrong &= np.isfinite(leaf)
            if wrong.any():
                at = tuple(int(i) for i in np.argwhere(wrong)[0])
                raise NarrowingError(
                    f"host_transform returned {leaf[at]} at "
                    f"{jax.tree_util.keystr(path)}{list(at)}, which does not fit "
                    f"{dtype}. Return numbers that fit, or set jax_enable_x64"
                )
        return leaf.astype(dtype)


def _is_number(dtype: np.dtype) -> bool:
    return dtype.kind in "biufc" or jnp.issubdtype(dtype, jnp.number)


def _said(tree: Any) -> str:
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return ", ".join(
        f"{jax.tree_util.keystr(path)} {leaf.dtype}{list(leaf.shape)}"
        for path, leaf in leaves
    )

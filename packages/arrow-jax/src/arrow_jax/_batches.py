"""Batches as functions of `map` and `filter` are given them.

A function may write into its batch, which must not reach the dataset; and what it gives
back as it was given is no news.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
import pyarrow as pa

from arrow_jax._device import mode
from arrow_jax._errors import ArrowJaxError
from arrow_jax._lazy import LazyBatch
from arrow_jax._rows import check_batch_size

if TYPE_CHECKING:
    from arrow_jax._dataset import Dataset


def check_batched(verb: str, *, batched: bool) -> None:
    """Raises where a function of one row is announced.

    Args:
      verb: "map" or "filter".
      batched: what the user gave.

    Raises:
      ArrowJaxError: if it is not True.
    """
    if batched is not True:
        raise ArrowJaxError(
            f"{verb}(batched={batched!r}): the function is always given a batch, a dict"
            " of columns, since a call for each row is what makes it slow. Write it for"
            " columns; for one array of them jax.vmap does"
        )


def batches(
    ds: "Dataset", batch_size: int
) -> Iterator[tuple[int, Any, dict[str, Any]]]:
    """Gives the rows of a dataset in batches, one of no rows where there is none.

    Args:
      ds: the dataset; without a format its columns are NumPy.
      batch_size: rows in a batch; the last one may have fewer.

    Yields:
      The first row; the batch, a table in the format "arrow", else a `LazyBatch`; and
      the columns that were asked for so far, as they were before the function had them.
    """
    check_batch_size(batch_size)
    alone = cache(partial(as_given, ds))
    for start in range(0, max(len(ds), 1), batch_size):
        rows = slice(start, start + batch_size)
        given: dict[str, Any] = {}
        if ds.format.kind == "arrow":
            table = ds[rows]
            given.update(zip(table.column_names, table.columns, strict=True))
            yield start, table, given
            continue

        def decode(name: str, rows: slice = rows, given: dict[str, Any] = given) -> Any:
            given[name] = alone(name)[rows][name]
            return jax.tree.map(_own, given[name])

        yield start, LazyBatch(ds.column_names, decode), given


def as_given(ds: "Dataset", name: str) -> "Dataset":
    """Shows one column, as functions are given it.

    Args:
      ds: the dataset.
      name: of the column.

    Returns:
      The same rows of that column.
    """
    kind = ds.format.kind or "numpy"
    return replace(ds, format=replace(ds.format, kind=kind, columns=(name,)))


def call(ds: "Dataset", function: Callable[[Any], Any], batch: Any) -> Any:
    """Calls a function with its batch; jax is as wide as when the format was set.

    Args:
      ds: the dataset.
      function: of a batch.
      batch: from `batches`.

    Returns:
      What the function returned.
    """
    if ds.format.kind != "jax":
        return function(batch)
    with mode(x64=ds.format.x64):
        return function(batch)


def _own(leaf: Any) -> Any:
    return leaf.copy() if isinstance(leaf, np.ndarray) else leaf


def is_as_given(column: Any, given: Any) -> bool:
    """Whether a column is the one that a function was given, unchanged.

    Args:
      column: what it gave back.
      given: that column from `batches`.

    Returns:
      True if nothing was changed; of jax arrays, if they are the very same.
    """
    if isinstance(given, pa.ChunkedArray):
        return isinstance(column, pa.ChunkedArray) and column.equals(given)
    leaves, tree = jax.tree.flatten(column)
    given_leaves, given_tree = jax.tree.flatten(given)
    return tree == given_tree and all(map(_is_same, leaves, given_leaves))


def _is_same(leaf: Any, given: Any) -> bool:
    if leaf is given:
        return True
    if isinstance(leaf, jax.Array) or type(leaf) is not type(given):
        return False
    if isinstance(given, np.ndarray):
        kind = (given.dtype, given.shape)
        return (leaf.dtype, leaf.shape) == kind and leaf.tobytes() == given.tobytes()
    return bool(leaf == given)

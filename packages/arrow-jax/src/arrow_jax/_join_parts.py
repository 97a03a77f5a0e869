"""One batch of rows that were read apart."""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from arrow_jax._nodes import aligned
from arrow_jax._step import Draft

# Positions in the batch, its columns for the devices, and those that stay.
Part = tuple[np.ndarray, dict[str, Any], dict[str, Any]]


def join_parts(parts: Sequence[Part], draft: Draft) -> dict[str, Any]:
    """Joins the columns for the devices.

    Args:
      parts: at least one; with a layout, each has the whole batch's shape and zeros
        where the others have elements.
      draft: the whole batch.

    Returns:
      The batch.
    """
    batches = [batch for _, batch, _ in parts]
    if len(parts) == 1:
        return batches[0]
    if draft.layout is not None:
        return jax.tree.map(lambda *leaves: _overlaid(leaves), *batches)

    def placed(*leaves: np.ndarray) -> np.ndarray:
        out = aligned((draft.size, *leaves[0].shape[1:]), leaves[0].dtype)
        for (rows, _, _), leaf in zip(parts, leaves, strict=True):
            out[rows] = leaf
        return out

    return {n: jax.tree.map(placed, *(b[n] for b in batches)) for n in batches[0]}


def _overlaid(leaves: Sequence[np.ndarray]) -> np.ndarray:
    out = aligned(leaves[0].shape, leaves[0].dtype)
    out[...] = leaves[0]
    for leaf in leaves[1:]:
        np.add(out, leaf, out=out)  # of booleans this is "or"
    return out


def join_host(parts: Sequence[Part]) -> dict[str, Any]:
    """Joins the columns that stay.

    Args:
      parts: at least one, of a batch without a layout.

    Returns:
      Name -> one item a row: NumPy where all parts are, else a list.
    """
    first = parts[0][2]
    if len(parts) == 1:
        return first
    return {name: _in_order([(p[0], p[2][name]) for p in parts]) for name in first}


def _in_order(parts: Sequence[tuple[np.ndarray, Any]]) -> Any:
    order = np.argsort(np.concatenate([rows for rows, _ in parts]))
    columns = [column for _, column in parts]
    if all(isinstance(column, np.ndarray) for column in columns):
        return np.concatenate(columns)[order]
    if all(isinstance(column, list) for column in columns):
        items = [item for column in columns for item in column]
        return [items[i] for i in order]
    return jax.tree.map(lambda *leaves: np.concatenate(leaves)[order], *columns)

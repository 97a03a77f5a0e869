"""A dataset for the DataLoader of torch."""

import importlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from arrow_jax._errors import ArrowJaxError


def collate(batch: Any) -> Any:
    """Makes torch tensors of a batch; for `torch.utils.data.DataLoader(collate_fn=)`.

    A `Dataset` is what torch calls a map-style dataset, and gives the rows of a batch
    at once. Start worker processes with `multiprocessing_context="spawn"`: jax has
    threads, which do not live in forks.

    Args:
      batch: what a dataset in the format "numpy" gives for a list of rows.

    Returns:
      The same tree; arrays of numbers are tensors that share their memory where they
      can be written to, and copies otherwise.

    Raises:
      ArrowJaxError: if the batch is a list of rows instead of a dict of columns.

    Example:
      >>> from arrow_jax import Dataset, collate
      >>> ds = Dataset.from_dict({"name": ["a", "b"]}).with_format("numpy")
      >>> collate(ds.__getitems__([1, 0]))
      {'name': ['b', 'a']}
    """
    if not isinstance(batch, Mapping):
        raise ArrowJaxError(
            f"collate got a {type(batch).__name__}, wanted a dict of columns. Give the "
            'DataLoader a Dataset itself: DataLoader(ds.with_format("numpy"), ...)'
        )
    return {name: _tensors(column) for name, column in batch.items()}


def _tensors(tree: Any) -> Any:
    if isinstance(tree, np.ndarray) and tree.dtype.kind in "biuf":
        torch: Any = importlib.import_module("torch")  # whoever calls this has it
        return torch.from_numpy(tree if tree.flags.writeable else tree.copy())
    if isinstance(tree, Mapping):
        return {name: _tensors(inner) for name, inner in tree.items()}
    if isinstance(tree, tuple):
        return type(tree)(*map(_tensors, tree))
    if isinstance(tree, list):
        return [_tensors(inner) for inner in tree]
    return tree

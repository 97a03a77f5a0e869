"""Datasets one after the other."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from arrow_jax._chunks import Index
from arrow_jax._dataset import Dataset
from arrow_jax._dataset_dict import kind_of, share
from arrow_jax._dictionaries import without_values
from arrow_jax._errors import ArrowJaxError, ShapeError
from arrow_jax._format import PYTHON


def concatenate(datasets: Sequence[Dataset]) -> Dataset:
    """Puts datasets with the same columns one after the other; nothing is copied.

    Args:
      datasets: at least one.

    Returns:
      Their rows in that order, as a view. The format is theirs if all have the same
      one.

    Raises:
      ShapeError: if they differ in their columns, or in what these are.
      ArrowJaxError: if there is none, or something is not a `Dataset`.

    Example:
      >>> from arrow_jax import Dataset
      >>> a, b = Dataset.from_dict({"x": [1, 2]}), Dataset.from_dict({"x": [3]})
      >>> concatenate([b, a])["x"]
      [3, 1, 2]
    """
    datasets = list(datasets)
    wrong = [d for d in datasets if not isinstance(d, Dataset)]
    if wrong or not datasets:
        found = type(wrong[0]).__name__ if wrong else "nothing"
        raise ArrowJaxError(
            f"concatenate got {found}, wanted datasets: concatenate([first, second])"
        )
    for at, ds in enumerate(datasets[1:], 1):
        _check_alike(datasets[0], ds, at)
    views = list(share(dict(enumerate(datasets)), " of dataset {}").values())
    same = all(d.format == datasets[0].format for d in datasets)
    return replace(
        views[0],
        rows=_joined([v.rows for v in views]),
        format=datasets[0].format if same else PYTHON,
    )


def _check_alike(first: Dataset, other: Dataset, at: int) -> None:
    if kind_of(first.source) == kind_of(other.source):
        return
    tables = [ds.source.table for ds in (first, other)]
    names = [table.column_names for table in tables]
    if names[0] != names[1]:
        raise ShapeError(
            f"concatenate: dataset {at} has the columns {names[1]}, the first has "
            f"{names[0]}. Give all the same, with remove_columns and rename_column"
        )
    for name in names[0]:
        types = [table.schema.field(name).type for table in tables]
        features = [without_values(ds.source.features[name]) for ds in (first, other)]
        if types[0] != types[1] or features[0] != features[1]:
            raise ShapeError(
                f"concatenate: column {name!r} of dataset {at} is {features[1]} "
                f"({types[1]}), of the first {features[0]} ({types[0]}). Make them "
                "alike with ds.cast_column"
            )
    raise ShapeError(
        f"concatenate: dataset {at} starts its image paths at {other.source.folder}, "
        f"the first at {first.source.folder}. Read them together"
    )


def _joined(parts: list[Index]) -> Index:
    ranges = [rows for rows in parts if isinstance(rows, range) and len(rows)]
    full = [rows for rows in parts if len(rows)]
    in_line = all(a.stop == b.start for a, b in pairwise(ranges))
    if len(ranges) == len(full) and in_line:
        return range(ranges[0].start, ranges[-1].stop) if ranges else range(0)
    return np.concatenate([np.asarray(rows, np.int64) for rows in parts])

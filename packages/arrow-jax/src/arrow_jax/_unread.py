"""Who named a file: the caller, or data that may come from anyone.

Paths that the caller typed are read at once, wherever they lead. Those in Arrow data,
or made of it, are kept as paths; they are read with their rows, below the dataset's
folder only.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from arrow_jax._containers import Masked
from arrow_jax._errors import ArrowJaxError
from arrow_jax._features import Audio, Image


def read_typed(where: str, path: Any) -> dict[str, Any]:
    """Reads a file that the caller typed.

    Args:
      where: column and row, for errors.
      path: of the file.

    Returns:
      Its bytes, and its name as "path".

    Raises:
      FileNotFoundError: if there is nothing.
      ArrowJaxError: if it is no file; a pipe would be waited for without end.
    """
    file = Path(path)
    if file.exists() and not file.is_file():
        raise ArrowJaxError(
            f"{where}: {file} is a folder, pipe or device. Name a file, or give bytes"
        )
    return {"bytes": file.read_bytes(), "path": file.name}


def unread(values: Any) -> Any:
    """Keeps the paths in a column as paths, so that encoding it opens no file.

    Args:
      values: a column of images or sounds, see `encode_images`.

    Returns:
      The column; a path is {"bytes": None, "path": ...}.
    """
    if isinstance(values, Masked):
        items = unread(values.values)
        if items is values.values:
            return values
        objects = np.empty(len(items), object)
        objects[:] = items
        return Masked(objects, values.valid)
    if isinstance(values, pa.Array | pa.ChunkedArray):
        values = values.to_pylist()
    kind = getattr(getattr(values, "dtype", None), "kind", "O")
    if isinstance(values, Mapping) or kind not in "OUT":
        return values
    return [
        {"bytes": None, "path": os.fspath(v)} if isinstance(v, str | os.PathLike) else v
        for v in values
    ]


def unread_columns(
    tree: Mapping[str, Any], features: Mapping[str, Any] | None
) -> Mapping[str, Any]:
    """Keeps the paths in columns of images and sounds as paths.

    Args:
      tree: column -> values, see `to_arrow`.
      features: what some of the columns are.

    Returns:
      The tree with those columns changed.
    """
    if not features:
        return tree
    made = dict(tree)
    for name in made.keys() & features.keys():
        feature = features[name]
        if isinstance(feature, Audio | Image):
            made[name] = unread(made[name])
        elif isinstance(feature, Mapping) and isinstance(made[name], Mapping):
            made[name] = unread_columns(made[name], feature)
    return made


def typed_columns(tree: Mapping[str, Any]) -> frozenset[str]:
    """Finds the columns of strings that the caller typed.

    Args:
      tree: column -> values, see `to_arrow`.

    Returns:
      The names of those that are lists of Python strings.
    """
    return frozenset(
        name
        for name, values in tree.items()
        if isinstance(values, list | tuple)
        and all(isinstance(v, str | None) for v in values)
    )

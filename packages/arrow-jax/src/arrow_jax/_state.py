"""The saved state of a run, and the check that it belongs to the data at hand."""

import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from arrow_jax._chunks import Index
from arrow_jax._errors import ManifestError
from arrow_jax._order import Order, Position

_VERSION = 1
_KEYS = ("version", "seed", "shuffle", "last", "epoch", "row", "manifest")


def make_manifest(schema: pa.Schema, names: list[str], rows: Index) -> dict[str, Any]:
    """Describes the data of a run.

    Args:
      schema: of the source.
      names: of the columns in use.
      rows: of the source.

    Returns:
      A small dict for JSON.
    """
    if isinstance(rows, range):
        view = f"{rows.start}:{rows.stop}"
    else:
        view = f"crc32 {zlib.crc32(np.ascontiguousarray(rows)):08x}"
    columns = {name: str(schema.field(name).type) for name in names}
    return {"rows": len(rows), "columns": columns, "view": view}


def make_state(
    at: Position, order: Order, seed: int, manifest: dict[str, Any]
) -> dict[str, Any]:
    """Makes the state of a run.

    Args:
      at: behind the last batch that was given.
      order: of the run.
      seed: of the loader.
      manifest: of the data.

    Returns:
      A small dict for JSON.
    """
    return {
        "version": _VERSION,
        "seed": seed,
        "shuffle": order.seed is not None,
        "last": order.last,
        "epoch": at.epoch,
        "row": at.row,
        "manifest": manifest,
    }


def read_state(
    state: Mapping[str, Any], order: Order, seed: int, manifest: dict[str, Any]
) -> Position:
    """Checks a state and finds where to go on.

    Args:
      state: from `make_state`, also by way of JSON.
      order: of the loader that goes on.
      seed: of the loader.
      manifest: of its data.

    Returns:
      The position.

    Raises:
      ManifestError: if the state is none, or is that of other data or another order.
    """
    for key in _KEYS:
        if key not in state:
            raise ManifestError(
                f"the state has no {key!r}: it is not what iterator.state() returned"
            )
    if state["version"] != _VERSION:
        raise ManifestError(
            f"the state has version {state['version']}, this release reads {_VERSION}"
        )
    _check_order(state, order, seed)
    _check_manifest(state["manifest"], manifest)
    at = Position(state["epoch"], state["row"])
    if not (0 <= at.row < order.n and at.epoch >= 0):
        raise ManifestError(
            f"the state is at row {at.row} of epoch {at.epoch}, the data have "
            f"{order.n} rows: it was changed by hand"
        )
    return at


def _check_order(state: Mapping[str, Any], order: Order, seed: int) -> None:
    here = make_state(Position(), order, seed, {})
    keys = (
        ("shuffle", "last", "seed") if order.seed is not None else ("shuffle", "last")
    )
    for key in keys:
        if state[key] != here[key]:
            raise ManifestError(
                f"the state was saved with {key}={state[key]!r}, this loader has "
                f"{key}={here[key]!r}, which is another order of rows. Make it with "
                f"Loader(..., {key}={state[key]!r})"
            )


def _check_manifest(saved: Mapping[str, Any], here: Mapping[str, Any]) -> None:
    if saved == here:
        return
    ways_out = "Resume on the data that the state was saved with, or start afresh"
    if saved["rows"] != here["rows"]:
        raise ManifestError(
            f"the state was saved on {saved['rows']} rows, the data now have "
            f"{here['rows']}. {ways_out}"
        )
    if saved["columns"] != here["columns"]:
        differing = [
            f"{name}: {saved['columns'].get(name, 'absent')} then, "
            f"{here['columns'].get(name, 'absent')} now"
            for name in {**saved["columns"], **here["columns"]}
            if saved["columns"].get(name) != here["columns"].get(name)
        ]
        raise ManifestError(
            f"the columns are not those of the state: {'; '.join(differing)}. "
            f"{ways_out}"
        )
    raise ManifestError(
        f"the rows selected are not those of the state ({saved['view']} then, "
        f"{here['view']} now). {ways_out}"
    )

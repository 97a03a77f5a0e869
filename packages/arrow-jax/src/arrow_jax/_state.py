"""The saved state of a run, and the check that it belongs to the data at hand."""

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from arrow_jax._chunks import Index
from arrow_jax._errors import ManifestError
from arrow_jax._source import Source
from arrow_jax._step import Order, Position

_VERSION = 2
_KEYS = (
    "version",
    "order",
    "epoch",
    "row",
    "offset",
    "pending",
    "batch_size",
    "manifest",
)
_MOST_FILES = 16  # listed by name in a state; more are told apart by a checksum


def make_manifest(source: Source, names: list[str], rows: Index) -> dict[str, Any]:
    """Describes the data of a run.

    Args:
      source: of the rows.
      names: of the columns in use.
      rows: of the source.

    Returns:
      A small dict for JSON.
    """
    if isinstance(rows, range):
        view = f"{rows.start}:{rows.stop}"
    else:
        view = f"crc32 {zlib.crc32(np.ascontiguousarray(rows)):08x}"
    schema = source.table.schema
    columns = {name: str(schema.field(name).type) for name in names}
    firsts = [first for first, _ in source.origins]
    sizes = np.diff(firsts, append=len(source)).tolist()
    words = [words.removeprefix(" of ") for _, words in source.origins]
    return {
        "rows": len(rows),
        "columns": columns,
        "view": view,
        "files": describe_files(list(zip(words, sizes, strict=True))),
    }


def describe_files(sizes: Sequence[tuple[str, int]]) -> Any:
    """Describes the files that rows come from.

    Args:
      sizes: (name, rows) of each, in order.

    Returns:
      For JSON: the pairs if they are few, else their number and checksum.
    """
    pairs = [[name, n] for name, n in sizes]
    if len(pairs) <= _MOST_FILES:
        return pairs
    return [len(pairs), f"crc32 {zlib.crc32(repr(pairs).encode()):08x}"]


def describe_lengths(lengths: np.ndarray) -> str:
    """Describes the lengths of lists, on which buckets and packing depend.

    Args:
      lengths: of each row.

    Returns:
      A checksum.
    """
    return f"crc32 {zlib.crc32(np.ascontiguousarray(lengths)):08x}"


def describe_groups(sizes: Sequence[int]) -> str:
    """Describes how rows lie in row groups, on which a window's order depends.

    Args:
      sizes: rows of each, in order.

    Returns:
      Their number and a checksum.
    """
    return f"{len(sizes)}, crc32 {zlib.crc32(repr(list(sizes)).encode()):08x}"


def make_state(
    at: Position, order: Order, batch_size: int, manifest: Mapping[str, Any]
) -> dict[str, Any]:
    """Makes the state of a run.

    Args:
      at: behind the last batch that was given.
      order: of the run.
      batch_size: of the loader.
      manifest: of the data.

    Returns:
      A small dict for JSON.
    """
    return {
        "version": _VERSION,
        "order": order.describe(),
        "epoch": at.epoch,
        "row": at.row,
        "offset": at.offset,
        "pending": list(at.pending),
        "batch_size": batch_size,
        "manifest": dict(manifest),
    }


def read_state(
    state: Any, order: Order, batch_size: int, manifest: Mapping[str, Any]
) -> Position:
    """Checks a state and finds where to go on.

    Args:
      state: from `make_state`, also by way of JSON.
      order: of the loader that goes on.
      batch_size: of the loader.
      manifest: of its data.

    Returns:
      The position.

    Raises:
      ManifestError: if the state is none, or is that of other data or another order.
    """
    if not isinstance(state, Mapping):
        raise ManifestError(
            f"the state is a {type(state).__name__}: give what iterator.state() "
            "returned"
        )
    for key in _KEYS:
        if key not in state:
            raise ManifestError(
                f"the state has no {key!r}: it is not what iterator.state() returned"
            )
    if state["version"] != _VERSION:
        raise ManifestError(
            f"the state has version {state['version']!r}, this release reads {_VERSION}"
        )
    _check_order(state["order"], order.describe())
    _check_manifest(state["manifest"], manifest)
    at = _position(state)
    if at is None or not order.holds(at) or max(at.pending, default=0) >= _rows(state):
        raise ManifestError(
            f"the state is at row {state['row']} of epoch {state['epoch']}, offset "
            f"{state['offset']}, which these {_rows(state)} rows don't have: this "
            "loader has fewer epochs= than the run, or the state was changed by hand"
        )
    return order.moved(at, state["batch_size"], batch_size)


def _rows(state: Mapping[str, Any]) -> int:
    return state["manifest"]["rows"]


def _position(state: Mapping[str, Any]) -> Position | None:
    numbers = [state["epoch"], state["row"], state["offset"], state["batch_size"]]
    pending = state["pending"]
    if not isinstance(pending, list | tuple):
        return None
    if not all(type(n) is int for n in [*numbers, *pending]) or numbers[3] < 1:
        return None
    epoch, row, offset, _ = numbers
    return Position(epoch, row, offset, tuple(pending))


def _check_order(saved: Any, here: Mapping[str, Any]) -> None:
    saved = saved if isinstance(saved, Mapping) else {}
    differing = {
        key: (saved.get(key), here.get(key))
        for key in {**here, **saved}
        if saved.get(key) != here.get(key)
    }
    if differing:
        then = [f"{key}={a!r}" for key, (a, _) in differing.items() if a is not None]
        now = [f"{key}={b!r}" for key, (_, b) in differing.items() if b is not None]
        simple = then and differing.keys() <= {"shuffle", "seed", "last"}
        way = f"Loader(..., {', '.join(then)})" if simple else "the same options"
        raise ManifestError(
            f"the state was saved with {', '.join(then) or 'other options'}, this "
            f"loader has {', '.join(now) or 'none of these'}, which is another order of"
            f" rows. Make it with {way}"
        )


def _check_manifest(saved: Any, here: Mapping[str, Any]) -> None:
    if saved == here:
        return
    if not _is_manifest(saved, here):
        raise ManifestError(
            f"the state's manifest is {saved!r}, which describes no data: it was "
            "changed by hand"
        )
    ways_out = "Resume on the data that the state was saved with, or start afresh"
    files = saved["files"]
    # Of rows that have no file, or one, their number says more, if it differs.
    alike = (
        len(files) == len(here["files"]) == 1 and files[0][:1] == here["files"][0][:1]
    )
    if files != here["files"] and not (alike and saved["rows"] != here["rows"]):
        raise ManifestError(
            f"the state was saved on the files {_said(files)}, the data "
            f"are now {_said(here['files'])} (name and rows of each). {ways_out}"
        )
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
    if saved.get("lengths") != here.get("lengths"):
        raise ManifestError(
            "the lists have other lengths than when the state was saved, so buckets or "
            f"packing put the rows in another order. {ways_out}"
        )
    if saved["view"] == here["view"]:
        raise ManifestError(
            f"the files were written anew with other row groups ({saved['row_groups']} "
            f"then, {here['row_groups']} now), so their rows come in another order. "
            f"{ways_out}"
        )
    raise ManifestError(
        f"the rows selected are not those of the state ({saved['view']} then, "
        f"{here['view']} now). {ways_out}"
    )


def _is_manifest(saved: Any, here: Mapping[str, Any]) -> bool:
    if not isinstance(saved, Mapping) or saved.keys() != here.keys():
        return False
    if not all(type(saved[key]) is type(value) for key, value in here.items()):
        return False
    # Pairs of a name and its rows, or one of how many there are and a checksum.
    kinds = [[type(part) for part in _parts(file)] for file in saved["files"]]
    return kinds == [[int], [str]] or all(kind == [str, int] for kind in kinds)


def _parts(file: Any) -> list[Any]:
    return file if isinstance(file, list) else [file]


def _said(files: Any) -> str:
    if not all(isinstance(file, list) for file in files):
        return str(files)
    return ", ".join(f"{name or 'in memory'} ({n})" for name, n in files)

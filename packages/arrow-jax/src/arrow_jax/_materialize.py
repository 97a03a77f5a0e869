"""Decoding once: images and sounds as tensors in a file that is mapped into memory.

The file is an Arrow IPC stream. Arrow puts the data of a batch wherever its header
ends; here headers are filled up so that data begin at a multiple of 64 bytes, which is
what jax's CPU backend asks for before it takes memory as it is.
"""

import json
import os
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from arrow_jax._column import has_dictionary
from arrow_jax._encode import to_arrow
from arrow_jax._errors import ArrowJaxError
from arrow_jax._features import Audio, Features, Image
from arrow_jax._metadata import feature_of, write_features
from arrow_jax._planner import known_of
from arrow_jax._source import Source
from arrow_jax._state import make_manifest

_KEY = b"arrow_jax_materialized"
_ALIGNED = 64
_DECODED = 512  # rows decoded at once; a multiple of it keeps bitmaps aligned, too
_SAMPLED = 64  # rows by which those of a file are known again
_WRITTEN = 64 << 20  # bytes of a batch in the file, about


def materialized(ds: Any, path: Any) -> Source:
    """Writes the rows of a dataset with images and sounds decoded, or finds the file.

    Args:
      ds: the dataset.
      path: of the file.

    Returns:
      The source of its rows, mapped into memory.

    Raises:
      ArrowJaxError: if the path holds something else, or can't be written.
    """
    path, print_ = Path(path), _fingerprint(ds)
    if not path.exists():
        _write(ds, path, print_)
    try:
        table = pa.ipc.open_stream(pa.memory_map(str(path))).read_all()
    except (pa.ArrowException, OSError):
        table = pa.table({})
    if (table.schema.metadata or {}).get(_KEY) != print_:
        raise ArrowJaxError(
            f"{path} is not the materialized form of these rows: it was made of others,"
            " or is another file. Delete it, or name another one"
        )
    stored = [name for name in ds.column_names if not _is_decoded(ds.features[name])]
    every = isinstance(ds.rows, range) and len(ds) == len(ds.source)
    return Source.of(table, said=known_of(ds.source, stored, all_rows=every))


def _is_decoded(feature: Any) -> bool:
    return isinstance(feature, Image | Audio)


def _fingerprint(ds: Any) -> bytes:
    manifest = make_manifest(ds.source, ds.column_names, ds.rows)
    features = {name: repr(ds.features[name]) for name in ds.column_names}
    return json.dumps([manifest, features, _sample(ds)]).encode()


def _sample(ds: Any) -> str:
    """A checksum of some rows as they are stored: all would have to be read."""
    rows = np.linspace(0, len(ds) - 1, min(len(ds), _SAMPLED)).astype(np.int64)
    table = ds.with_format("arrow", columns=ds.column_names)[rows]
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema.remove_metadata()) as stream:
        stream.write_table(table.replace_schema_metadata(None).combine_chunks())
    return f"crc32 {zlib.crc32(sink.getvalue()):08x}"


def _write(ds: Any, path: Path, print_: bytes) -> None:
    if not path.parent.is_dir():
        raise ArrowJaxError(
            f"{path} can't be written: there is no folder {path.parent}. Make it first"
        )
    handle, partial = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    try:
        with pa.OSFile(partial, "wb") as file:
            _write_tables(file, _tables(ds), print_)
        Path(partial).replace(path)
    except OSError as error:
        Path(partial).unlink(missing_ok=True)
        raise ArrowJaxError(f"{path} was not written: {error}") from error
    except BaseException:
        Path(partial).unlink(missing_ok=True)
        raise


def _write_tables(file: Any, tables: Iterator[pa.Table], print_: bytes) -> None:
    header = stream = None
    for table in tables:
        if header is None:
            said = {**(table.schema.metadata or {}), _KEY: print_}
            header = table.schema.with_metadata(said)
            # Dictionaries come as messages of their own, which Arrow's writer knows.
            known = any(has_dictionary(field.type) for field in header)
            stream = pa.ipc.new_stream(file, header) if known else None
            if stream is None:
                file.write(header.serialize())
        same = table.replace_schema_metadata(header.metadata)
        if not same.schema.equals(header):
            same = table.cast(header)
        if stream is not None:
            stream.write_table(same.combine_chunks())
            continue
        for batch in same.combine_chunks().to_batches():
            _write_aligned(file, batch.serialize())
    if stream is not None:
        stream.close()
    else:
        file.write(b"\xff\xff\xff\xff\0\0\0\0")


def _write_aligned(file: Any, message: pa.Buffer) -> None:
    """Writes a message with its header filled up to where data are aligned."""
    n_header = int.from_bytes(message[4:8], "little")
    more = -(file.tell() + 8 + n_header) % _ALIGNED
    file.write(b"\xff\xff\xff\xff" + (n_header + more).to_bytes(4, "little"))
    file.write(message[8 : 8 + n_header])
    file.write(b"\0" * more)
    file.write(message[8 + n_header :])


def _tables(ds: Any) -> Iterator[pa.Table]:
    """The rows, decoded, in parts that are as big as they shall be in the file."""
    held: list[pa.Table] = []
    for first in range(0, max(len(ds), 1), _DECODED):
        held.append(_decoded(ds, slice(first, first + _DECODED)))
        if sum(table.nbytes for table in held) >= _WRITTEN:
            yield pa.concat_tables(held)
            held = []
    if held:
        yield pa.concat_tables(held)


def _decoded(ds: Any, rows: slice) -> pa.Table:
    table = ds.with_format("arrow", columns=ds.column_names)[rows]
    features = dict(ds.features)
    for at, name in enumerate(table.column_names):
        if not _is_decoded(features[name]):
            continue
        arrays = ds.with_format("numpy", columns=[name], nulls="mask")[rows][name]
        column = to_arrow({name: _plain(arrays)}).column(0)
        table = table.set_column(at, name, column)
        features[name] = feature_of(column.type, None)
    said = {name: features[name] for name in table.column_names}
    return table.replace_schema_metadata(write_features(Features(said)))


def _plain(tree: Any) -> Any:
    """Drops masks that hide nothing, so that rows without nulls stay tensors."""
    valid = getattr(tree, "valid", None)
    if valid is not None and np.all(valid):
        return tree.values
    if isinstance(tree, dict):
        return {name: _plain(inner) for name, inner in tree.items()}
    return tree

"""Mapping: columns made out of columns by a function.

A column that the function hands on as it was given stays as it is stored: decoding it
and encoding it again would lose what its numbers do not say, such as the names of
labels, the unit of times, or that it is images.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from arrow_jax._batches import as_given, batches, call, is_as_given
from arrow_jax._encode import to_arrow
from arrow_jax._errors import ShapeError
from arrow_jax._features import Features
from arrow_jax._lazy import LazyBatch
from arrow_jax._planner import elders_of, known_of
from arrow_jax._source import Source
from arrow_jax._unread import unread_columns

if TYPE_CHECKING:
    from arrow_jax._dataset import Dataset

# What a 64-bit column is given as while x64 is off; a column that a function gives back
# so is stored as wide as it was.
_NARROWED = {
    pa.int64(): pa.int32(),
    pa.uint64(): pa.uint32(),
    pa.float64(): pa.float32(),
}


class _Part(NamedTuple):
    """What a function made of a batch.

    Attributes:
      start: the batch's first row.
      n: how many rows it has.
      names: of all columns that the function gave back.
      made: those that are new or changed.
    """

    start: int
    n: int
    names: frozenset[str]
    made: pa.Table

    @property
    def words(self) -> str:
        """How errors name it."""
        return f"map, rows {self.start} to {self.start + self.n - 1}"


def mapped(
    ds: "Dataset",
    function: Callable[[dict[str, Any]], Mapping[str, Any]],
    batch_size: int,
    features: Mapping[str, Any] | None,
) -> "Dataset":
    """Makes columns out of columns.

    Args:
      ds: the dataset.
      function: of a batch.
      batch_size: rows in a batch.
      features: of some of the new columns.

    Returns:
      A dataset with the new columns in place of, or after, the old ones.

    Raises:
      ShapeError: if a batch's rows or columns are not those wanted.
    """
    features = features or {}
    parts: list[_Part] = []
    fields: dict[str, pa.Field] = {}
    for start, batch, given in batches(ds, batch_size):
        part = _part(
            start,
            min(batch_size, len(ds) - start),
            call(ds, function, batch),
            given,
            features,
        )
        _check_alike(part, parts[0] if parts else part, fields)
        fields = {field.name: field for field in part.made.schema} | fields
        parts.append(part)
    return _with_columns(ds, parts, fields, features)


def _part(
    start: int,
    n: int,
    returned: Any,
    given: Mapping[str, Any],
    features: Mapping[str, Any],
) -> _Part:
    part = _Part(start, n, frozenset(), pa.table({}))
    columns = _columns(returned, part.words)
    # What was never decoded was not changed.
    known = columns.known if isinstance(columns, LazyBatch) else columns
    made = {
        name: columns[name]
        for name in columns
        if name in features
        or (
            name in known
            and not (name in given and is_as_given(known[name], given[name]))
        )
    }
    table = to_arrow(unread_columns(made, features), features if columns else None)
    if made and table.num_rows != n:
        raise ShapeError(
            f"{part.words}: the function returned {table.num_rows} rows, wanted {n}"
        )
    return part._replace(names=frozenset(columns), made=table)


def _columns(returned: Any, where: str) -> Mapping[str, Any]:
    if isinstance(returned, pa.Table | pa.RecordBatch):
        columns = zip(returned.column_names, returned.columns, strict=True)
        return {name: _chunked(column) for name, column in columns}
    if not isinstance(returned, Mapping):
        name = "nothing (None)" if returned is None else f"a {type(returned).__name__}"
        raise ShapeError(
            f"{where}: the function returned {name}, wanted a dict of columns, "
            'such as {"y": batch["x"] * 2}; a function that changes its batch has to '
            "return it"
        )
    return returned


def _chunked(column: Any) -> pa.ChunkedArray:
    return pa.chunked_array([column]) if isinstance(column, pa.Array) else column


def _check_alike(part: _Part, first: _Part, fields: Mapping[str, pa.Field]) -> None:
    if part.names != first.names:
        raise ShapeError(
            f"{part.words}: the function returned the columns {sorted(part.names)}, "
            f"and for the first batch {sorted(first.names)}. Return the same for all"
        )
    known = [fields.get(field.name, field) for field in part.made.schema]
    if known != list(part.made.schema):
        raise ShapeError(
            f"{part.words}: the function returned\n{part.made.schema}\nand before\n"
            f"{pa.schema(known)}\n"
            "Return one dtype and row shape for all, or say which by features="
        )


def _with_columns(
    ds: "Dataset",
    parts: list[_Part],
    fields: Mapping[str, pa.Field],
    features: Mapping[str, Any],
) -> "Dataset":
    shown = ds.column_names
    whole = ds.with_format("arrow")
    table = whole[:]
    kept = [n for n in whole.column_names if n not in fields]
    for name, field in fields.items():
        at = table.schema.get_field_index(name)
        column = _joined(ds, parts, field, table[name] if at >= 0 else None)
        table = (
            table.append_column(field.with_type(column.type), column)
            if at < 0
            else table.set_column(at, field.with_type(column.type), column)
        )
    every = isinstance(ds.rows, range) and len(ds) == len(ds.source)
    source = Source.of(
        table.replace_schema_metadata(None),
        Features({n: whole.features[n] for n in kept} | dict(features)),
        folder=ds.source.folder,
        said=known_of(ds.source, kept, all_rows=every),
        typed=ds.source.typed & set(kept),
        elders=elders_of(ds.source, () if every and not ds.source.elders else kept),
    )
    made = type(ds).of_source(source)
    columns = None
    if ds.format.columns is not None:
        columns = [*shown, *(n for n in fields if n not in shown)]
    form = ds.format
    return made.with_format(
        form.kind,
        columns=columns,
        device=form.device,
        nulls=form.nulls,
        dtype=form.dtype,
    )


def _joined(
    ds: "Dataset", parts: list[_Part], field: pa.Field, stored: pa.ChunkedArray | None
) -> pa.ChunkedArray:
    """Joins a column's parts; one that was handed on is taken as it is stored."""
    name, type_ = field.name, field.type
    if stored is not None and _NARROWED.get(stored.type) == type_:
        type_ = stored.type
    chunks: list[pa.Array] = []
    for part in parts:
        if name in part.made.column_names:
            found = part.made[name].cast(type_)
        else:
            assert stored is not None  # noqa: S101  (nothing else is handed on)
            found = stored.slice(part.start, part.n)
            if found.type != type_:
                rows = slice(part.start, part.start + part.n)
                found = to_arrow({name: as_given(ds, name)[rows][name]})[name]
            if found.type != type_:
                raise ShapeError(
                    f"{part.words}: the function left column {name!r} as {found.type}, "
                    f"and made {type_} of it elsewhere. Return one dtype and row shape "
                    "for all, or say which by features="
                )
        chunks.extend(found.chunks)
    return pa.chunked_array(chunks, type_)

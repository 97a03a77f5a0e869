"""Filtering and mapping: the verbs that run code over batches."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
import pyarrow as pa

from arrow_jax._encode import to_arrow
from arrow_jax._errors import ArrowJaxError, ShapeError
from arrow_jax._features import Features
from arrow_jax._format import is_expression, raise_unknown
from arrow_jax._lazy import LazyBatch
from arrow_jax._planner import elders_of, known_of
from arrow_jax._rows import check_batch_size
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


def kept_rows(ds: "Dataset", condition: Any, batch_size: int) -> np.ndarray:
    """Finds the rows that a condition holds for.

    Args:
      ds: the dataset.
      condition: an Arrow expression, or a function of a batch.
      batch_size: rows in a batch, for a function.

    Returns:
      Their positions in the dataset.

    Raises:
      ShapeError: if the function returns another number of booleans.
    """
    if is_expression(condition):
        return np.flatnonzero(_holds(ds, condition))
    if not callable(condition):
        raise ArrowJaxError(
            f"filter got a {type(condition).__name__}, wanted an Arrow expression, such"
            ' as pc.field("x") > 1, or a function of a batch'
        )
    if not len(ds):
        return np.zeros(0, np.int64)
    kept = []
    for start, batch in _batches(ds, batch_size):
        n = min(batch_size, len(ds) - start)
        found = np.asarray(condition(batch))
        if found.dtype != bool or found.shape != (n,):
            raise ShapeError(
                f"filter, rows {start} to {start + n - 1}: the function returned "
                f"{found.dtype}{list(found.shape)}, wanted bool[{n}]; it is given a "
                "batch, a dict of columns, and answers for each of its rows"
            )
        kept.append(found)
    return np.flatnonzero(np.concatenate(kept))


def _holds(ds: "Dataset", condition: Any) -> np.ndarray:
    """Computes one boolean a row; columns that are not asked for are not touched."""
    table = ds.source.table  # also of columns that the format hides
    if isinstance(ds.rows, range):
        table = table.slice(ds.rows.start, len(ds))
        return _evaluate(table, condition)
    try:
        return _evaluate(table, condition)[ds.rows]
    except ArrowJaxError:  # perhaps because of rows that are not of this view
        return _evaluate(ds.with_format("arrow")[:], condition)


def _evaluate(table: pa.Table, condition: Any) -> np.ndarray:
    from pyarrow import acero  # noqa: PLC0415  (only expressions need it)

    source = acero.Declaration("table_source", acero.TableSourceNodeOptions(table))
    answer = acero.ProjectNodeOptions([condition], ["kept"])
    try:
        plan = acero.Declaration("project", answer, inputs=[source])
        kept = plan.to_table(use_threads=False)["kept"]
    except pa.ArrowException as error:
        raise_unknown("filter", error, table.column_names)
        reason = str(error).split("\n", maxsplit=1)[0]
        raise ArrowJaxError(
            f"filter: the expression {condition} can't be computed: {reason}. Cast the "
            "column with ds.cast_column, or give a function of a batch"
        ) from error
    if not pa.types.is_boolean(kept.type):
        raise ArrowJaxError(
            f"filter: the expression {condition} is {kept.type}, wanted one that is "
            'true or false for a row, such as pc.field("x") > 1'
        )
    return np.asarray(kept.combine_chunks().fill_null(fill_value=False))


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
    parts: list[pa.Table] = []
    for start, batch in _batches(ds, batch_size):
        n = min(batch_size, len(ds) - start)
        made = _changed(function(batch), batch, f"map, rows {start} to {start + n - 1}")
        part = to_arrow(unread_columns(made, features), features if made else None)
        if made and part.num_rows != n:
            raise ShapeError(
                f"map, rows {start} to {start + n - 1}: the function returned "
                f"{part.num_rows} rows, wanted {n}"
            )
        if parts and part.schema != parts[0].schema:
            raise ShapeError(
                f"map, rows {start} to {start + n - 1}: the function returned\n"
                f"{part.schema}\nand for the first batch\n{parts[0].schema}\n"
                "Return one dtype and row shape for all, or say which by features="
            )
        parts.append(part)
    new = pa.concat_tables(parts)
    return _with_columns(ds, new, features or {})


def _with_columns(
    ds: "Dataset", new: pa.Table, features: Mapping[str, Any]
) -> "Dataset":
    shown = ds.column_names
    whole = ds.with_format("arrow")
    table = whole[:]
    kept = [n for n in whole.column_names if n not in new.column_names]
    for name in new.column_names:
        at = table.schema.get_field_index(name)
        field, column = new.schema.field(name), new[name]
        if at >= 0 and _NARROWED.get(table.schema.field(at).type) == field.type:
            field = field.with_type(table.schema.field(at).type)
            column = column.cast(field.type)
        table = (
            table.append_column(field, column)
            if at < 0
            else table.set_column(at, field, column)
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
        columns = [*shown, *(n for n in new.column_names if n not in shown)]
    form = ds.format
    return made.with_format(
        form.kind,
        columns=columns,
        device=form.device,
        nulls=form.nulls,
        dtype=form.dtype,
    )


def _batches(ds: "Dataset", batch_size: int) -> Iterator[tuple[int, Any]]:
    check_batch_size(batch_size)
    form = ds.format if ds.format.kind else replace(ds.format, kind="numpy")

    @cache
    def alone(name: str) -> "Dataset":
        return replace(ds, format=replace(form, columns=(name,)))

    def decoded(rows: slice, name: str) -> Any:
        return jax.tree.map(_own, alone(name)[rows][name])

    for start in range(0, max(len(ds), 1), batch_size):
        rows = slice(start, start + batch_size)
        if form.kind == "arrow":
            yield start, ds[rows]
        else:
            yield start, LazyBatch(ds.column_names, partial(decoded, rows))


def _own(leaf: Any) -> Any:
    """A function may write into its batch, which must not reach the dataset."""
    shared = isinstance(leaf, np.ndarray) and not leaf.flags.writeable
    return leaf.copy() if shared else leaf


def _changed(made: Any, batch: Any, where: str) -> Mapping[str, Any]:
    """The columns that a function made, without those that it only handed on."""
    if isinstance(made, pa.Table | pa.RecordBatch):
        return dict(zip(made.column_names, made.columns, strict=True))
    if isinstance(made, LazyBatch):
        made = made.known
    if not isinstance(made, Mapping):
        raise ShapeError(
            f"{where}: the function returned {_named(made)}, wanted a dict of columns, "
            'such as {"y": batch["x"] * 2}; a function that changes its batch has to '
            "return it"
        )
    given = batch.known if isinstance(batch, LazyBatch) else {}
    return {
        name: column
        for name, column in made.items()
        # A NumPy array may have been written into, a jax array can't have been.
        if not (isinstance(column, jax.Array) and column is given.get(name))
    }


def _named(value: Any) -> str:
    return "nothing (None)" if value is None else f"a {type(value).__name__}"

"""Filtering and mapping: the verbs that run code over batches."""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from arrow_jax._encode import to_arrow
from arrow_jax._errors import ArrowJaxError, ShapeError
from arrow_jax._features import Features
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
    if isinstance(condition, pc.Expression):
        table = ds.with_format("arrow")[:]
        counter = "row"
        while counter in table.column_names:
            counter += "_"
        table = table.append_column(counter, pa.array(np.arange(len(ds))))
        return np.asarray(table.filter(condition)[counter])
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
        part = to_arrow(unread_columns(function(batch), features), features)
        n = min(batch_size, len(ds) - start)
        if part.num_rows != n:
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
    shown = ds.column_names
    hidden = ds.with_format(None)
    table = hidden.with_format("arrow")[:]
    said = {n: f for n, f in hidden.features.items() if n not in new.column_names}
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
    table = table.replace_schema_metadata(None)
    said |= dict(features or {})
    source = Source.of(table, Features(said), folder=ds.source.folder)
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
    if ds.format.kind is None:
        ds = ds.with_format("numpy")
    batches = ds.iter(batch_size) if len(ds) else [ds[:0]]
    for number, batch in enumerate(batches):
        yield number * batch_size, jax.tree.map(_own, batch)


def _own(leaf: Any) -> Any:
    """A function may write into its batch, which must not reach the dataset."""
    shared = isinstance(leaf, np.ndarray) and not leaf.flags.writeable
    return leaf.copy() if shared else leaf

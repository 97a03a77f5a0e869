"""Filtering: which rows an expression or a function keeps."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from arrow_jax._batches import batches, call
from arrow_jax._errors import ArrowJaxError, ShapeError
from arrow_jax._format import is_expression, raise_unknown

if TYPE_CHECKING:
    from arrow_jax._dataset import Dataset


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
    for start, batch, _ in batches(ds, batch_size):
        n = min(batch_size, len(ds) - start)
        found = call(ds, condition, batch)
        if isinstance(found, pa.Array | pa.ChunkedArray):
            found = found.fill_null(fill_value=False)
        found = np.asarray(found)
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

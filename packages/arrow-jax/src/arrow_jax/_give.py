"""Rows in the format that was asked for."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from arrow_jax._chunks import Index
from arrow_jax._device import mode, put
from arrow_jax._format import Format
from arrow_jax._plan import Plan
from arrow_jax._python import python_column
from arrow_jax._source import Source


def give(
    source: Source,
    names: list[str],
    rows: Index,
    form: Format,
    *,
    plans: Sequence[Plan],
    one: bool,
) -> Any:
    """Gives some rows of some columns.

    Args:
      source: of the rows.
      names: of the columns.
      rows: of the source.
      form: what they are given as.
      plans: one a column, for "jax" and "numpy".
      one: whether it is one row, which has no axis of rows.

    Returns:
      A dict of columns, or a table for "arrow".
    """
    if form.kind == "arrow":
        return _table(source, names, rows)
    if form.kind is None:
        batch: Any = {name: python_column(source, name, rows) for name in names}
    else:
        batch = {n: plan.batch(rows) for n, plan in zip(names, plans, strict=True)}
    if one:
        batch = {name: _first(column) for name, column in batch.items()}
    if form.kind != "jax":
        return batch
    with mode(x64=form.x64):
        return put(batch, form.device)


def _table(source: Source, names: list[str], rows: Index) -> pa.Table:
    schema = source.table.select(names).schema
    arrays = [pa.chunked_array(source.stored(name).parts(rows)) for name in names]
    return pa.table(arrays, schema=schema)


def _first(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {name: _first(inner) for name, inner in tree.items()}
    if isinstance(tree, tuple):
        return type(tree)(*map(_first, tree))
    return tree[0]

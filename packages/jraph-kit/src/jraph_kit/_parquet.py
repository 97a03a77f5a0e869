"""The structure of graphs in Parquet files: one graph a row, in list columns."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jraph
import numpy as np

from jraph_kit._columns import from_columns
from jraph_kit._errors import GraphsError, require

_COUNTS = ("n_node", "num_nodes")
_NODES = ("nodes", "node_feat", "x")


def read_structure(
    paths: Sequence[str | Path],
    *,
    nodes: str | None = None,
    senders: str = "senders",
    receivers: str = "receivers",
) -> jraph.GraphsTuple:
    """Reads how many nodes each graph has and which edges; no features.

    Args:
      paths: Parquet files, of the same columns.
      nodes: the column that tells the nodes: their number, or a list with an item each.
        By default the first there is of `n_node`, `num_nodes`, `nodes`, `node_feat` and
        `x`; without any, nodes are counted up to the largest index of an edge.
      senders: the list column of edges' starts. Where it is missing, `edge_index`, a
        pair of lists, is taken for both.
      receivers: the list column of edges' ends.

    Returns:
      A `GraphsTuple` of NumPy arrays without features.

    Raises:
      GraphsError: if a file or a column cannot be read, a row is null, or edges leave
        their graph.
      ImportError: if pyarrow is not installed.
    """
    pa, pq = (require(f"pyarrow{part}", extra="parquet") for part in ("", ".parquet"))
    path = paths[0]
    try:
        schema = pq.read_schema(path)
        nodes = nodes or next((n for n in _COUNTS + _NODES if n in schema.names), None)
        index = "edge_index" in schema.names and senders not in schema.names
        ends = ["edge_index"] if index else [senders, receivers]
        if senders == receivers:
            raise GraphsError(f"senders and receivers are both column {senders!r}")
        wanted = list(dict.fromkeys([*ends, *([nodes] if nodes else [])]))
        missing = [name for name in wanted if name not in schema.names]
        if missing:
            raise GraphsError(
                f"{path} has no column {missing[0]!r}; it has {schema.names}; name "
                "them with --senders, --receivers and --nodes"
            )
        parts = []
        for path in paths:
            parts.append(pq.read_table(path, columns=wanted))
        table = pa.concat_tables(parts).combine_chunks()
    except (OSError, pa.ArrowException) as error:
        raise GraphsError(f"cannot read {path}: {error}") from error
    columns = {name: _one(pa, name, table[name]) for name in wanted}
    pairs = _pair_of_lists(pa, columns["edge_index"]) if index else None
    if pairs is None:
        pairs = tuple(_flat(pa, name, columns[name]) for name in ends)
    counts = _counts(pa, nodes, columns[nodes]) if nodes else _largest(pairs)
    return from_columns(senders=pairs[0], receivers=pairs[1], n_node=counts)


def _one(pa: Any, name: str, column: Any) -> Any:
    """A column as one array without nulls."""
    if column.null_count:
        row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        raise GraphsError(f"{name}: row {row} is null; wanted a graph in every row")
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _lengths(array: Any) -> np.ndarray:
    return np.asarray(array.value_lengths().to_numpy(zero_copy_only=False), np.int64)


def _flat(pa: Any, name: str, array: Any) -> tuple[np.ndarray, np.ndarray]:
    """(values, lengths) of a list column of integers."""
    if array.null_count:
        raise GraphsError(f"{name} has {array.null_count} null lists; wanted none")
    lists = pa.types.is_list(array.type) or pa.types.is_large_list(array.type)
    if pa.types.is_fixed_size_list(array.type):
        lengths = np.full(len(array), array.type.list_size)
    elif lists:
        lengths = _lengths(array)
    else:
        raise GraphsError(f"{name} is {array.type}; wanted a list for each graph")
    values = array.flatten()
    if not pa.types.is_integer(values.type) or values.null_count:
        raise GraphsError(
            f"{name} is {array.type} with {values.null_count} nulls inside; wanted "
            "integers"
        )
    return values.to_numpy(zero_copy_only=False), lengths


def _pair_of_lists(pa: Any, array: Any) -> tuple[Any, Any]:
    """Senders and receivers of `edge_index`, [senders, receivers] in every row."""
    if pa.types.is_fixed_size_list(array.type):
        lengths = np.full(len(array), array.type.list_size)
    else:
        lengths = _lengths(array)
    if (lengths != 2).any():
        row = int(np.argmax(lengths != 2))
        raise GraphsError(
            f"edge_index: row {row} has {lengths[row]} lists; wanted [senders, "
            "receivers]"
        )
    values, each = _flat(pa, "edge_index", array.flatten())
    kind = np.repeat(np.arange(len(each)) % 2, each)
    return (values[kind == 0], each[::2]), (values[kind == 1], each[1::2])


def _counts(pa: Any, name: str, array: Any) -> np.ndarray:
    if pa.types.is_integer(array.type):
        return array.to_numpy(zero_copy_only=False)
    if pa.types.is_list(array.type) or pa.types.is_large_list(array.type):
        return _lengths(array)
    if pa.types.is_fixed_size_list(array.type):
        return np.full(len(array), array.type.list_size)
    raise GraphsError(
        f"{name} is {array.type}; wanted the number of nodes, or a list of them"
    )


def _largest(pairs: Any) -> np.ndarray:
    """One more than the largest index of each graph."""
    n = np.zeros(len(pairs[0][1]), np.int64)
    for values, lengths in pairs:
        np.maximum.at(n, np.repeat(np.arange(len(n)), lengths), values + 1)
    return n

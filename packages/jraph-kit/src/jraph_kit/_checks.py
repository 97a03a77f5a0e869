"""What must hold of the arrays of a set of graphs, and the sentences when it does not.

Every check is one pass of NumPy over a column; the row at fault is looked up only when
there is one.
"""

import operator
from collections.abc import Mapping
from typing import Any

import jax
import jraph
import numpy as np

from jraph_kit._errors import GraphsError

_INT32 = np.iinfo(np.int32)


def starts_of(lengths: np.ndarray) -> np.ndarray:
    """The row at which each graph starts, and the end of the last: int64 [n + 1]."""
    starts = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=starts[1:])
    return starts


def owner(starts: np.ndarray, row: int) -> tuple[int, int]:
    """The graph that holds a row, and the row's place in it."""
    graph = int(np.searchsorted(starts, row, side="right")) - 1
    return graph, int(row - starts[graph])


def as_array(name: str, values: Any) -> np.ndarray:
    """An array with rows; lists of different lengths are none."""
    try:
        found = np.asarray(values)
    except ValueError as error:
        raise GraphsError(
            f"{name}: {error}; wanted an array, a dict of arrays, or the pair (values, "
            "lengths)"
        ) from error
    if not found.ndim:
        raise GraphsError(f"{name} is {values!r}; wanted an array with rows")
    return found


def as_indices(name: str, values: Any) -> np.ndarray:
    """An array; of an empty list NumPy makes floats, and here are integers meant."""
    found = as_array(name, values)
    if found.shape == (0,) and found.dtype == np.float64:
        return found.astype(np.int32)
    return found


def check_flat(name: str, tree: Any) -> None:
    """Features are an array or a dict of arrays, as columns and attributes are."""
    leaves = tree.values() if isinstance(tree, Mapping) else [tree]
    for leaf in leaves:
        if not hasattr(leaf, "shape"):
            raise GraphsError(
                f"{name} hold a {type(leaf).__name__}; wanted an array, or a dict of "
                "arrays by name"
            )


def check_count(name: str, value: Any, *, least: int = 1) -> int:
    """An option that counts something; NumPy's integers will do."""
    try:
        found = operator.index(value)
    except TypeError:  # also of what is traced
        found = least - 1
    if found < least:
        raise GraphsError(f"{name} is {value!r}; wanted an integer, {least} or more")
    return found


def check_lengths(name: str, lengths: Any) -> np.ndarray:
    """Row counts of graphs as int64 [n_graph]; they are integers and not negative."""
    found = as_array(name, lengths)
    if found.ndim != 1 or (found.size and found.dtype.kind not in "iu"):
        raise GraphsError(
            f"{name}: lengths are {found.dtype}{list(found.shape)}; wanted one integer "
            "for each graph"
        )
    found = found.astype(np.int64)
    if found.size and int(found.min()) < 0:
        graph = int(np.argmax(found < 0))
        raise GraphsError(f"{name}: graph {graph} has length {found[graph]}; wanted 0+")
    return found


def check_total(name: str, lengths: np.ndarray, rows: int) -> None:
    """Lengths add up to the rows there are."""
    if int(lengths.sum()) != rows:
        raise GraphsError(
            f"{name}: the lengths of {len(lengths)} graphs add up to "
            f"{int(lengths.sum())}, and there are {rows} rows of values"
        )


def check_same_lengths(
    name: str, lengths: np.ndarray, other_name: str, other: np.ndarray
) -> None:
    """Two columns agree on how many rows each graph has."""
    if len(lengths) != len(other):
        raise GraphsError(
            f"{name} has {len(lengths)} graphs and {other_name} has {len(other)}"
        )
    if not np.array_equal(lengths, other):
        graph = int(np.argmax(lengths != other))
        raise GraphsError(
            f"{name}: graph {graph} has {lengths[graph]} rows, and {other_name} has "
            f"{other[graph]} for it"
        )


def check_index_column(name: str, ends: np.ndarray) -> None:
    """One integer for each edge."""
    if ends.ndim != 1 or (ends.size and ends.dtype.kind not in "iu"):
        raise GraphsError(
            f"{name} are {ends.dtype}{list(ends.shape)}; wanted integers [n_edge], "
            "indices of nodes"
        )


def check_graphs(graphs: Any, caller: str) -> None:
    """A `GraphsTuple`, and not a batch of some."""
    if not isinstance(graphs, jraph.GraphsTuple):
        raise GraphsError(
            f"{caller} got a {type(graphs).__name__}; wanted a GraphsTuple"
            + (", such as its graphs" if hasattr(graphs, "graphs") else "")
        )
    check_one_batch(graphs)


def check_one_batch(graphs: jraph.GraphsTuple) -> None:
    """Batches of several devices have one axis more, and so do their masks."""
    shape = np.shape(graphs.n_node)
    if len(shape) != 1:
        raise GraphsError(
            f"n_node has shape {list(shape)}; wanted [n_graph]; batches of several "
            "devices, stacked, go through graph_parallel or jax.vmap"
        )


def check_ends(
    name: str, ends: np.ndarray, n_edge: np.ndarray, n_node: np.ndarray
) -> None:
    """Every edge ends at a node of its own graph; `ends` count within each graph."""
    check_index_column(name, ends)
    limits = np.repeat(n_node, n_edge)
    wrong = (ends < 0) | (ends >= limits)
    if wrong.any():
        row = int(np.argmax(wrong))
        graph, edge = owner(starts_of(n_edge), row)
        raise GraphsError(
            f"{name}: graph {graph}, edge {edge} ends at node {ends[row]}, and the "
            f"graph has {n_node[graph]} nodes; indices count from 0 within each graph"
        )


def native(array: np.ndarray) -> np.ndarray:
    """In this machine's byte order, as jax takes no other."""
    if array.dtype.isnative:
        return array
    return array.astype(array.dtype.newbyteorder("="))


def check_values(
    name: str, values: np.ndarray, starts: np.ndarray, *, nan: bool = False
) -> np.ndarray:
    """Features without NaN, 64 bits narrowed to 32 where that loses nothing.

    With x64 on, widths are kept. Rounding a float64 is no loss; an integer beyond int32
    and a float beyond float32 are.
    """
    values = native(values)
    # jax's kinds: NumPy takes bfloat16 for raw bytes.
    is_float = jax.dtypes.issubdtype(values.dtype, np.floating)
    is_integer = jax.dtypes.issubdtype(values.dtype, np.integer)
    known = is_float or is_integer or values.dtype == np.bool_
    if not known or values.dtype.itemsize > 8:
        raise GraphsError(
            f"{name} are {values.dtype}; wanted numbers of up to 64 bits, or booleans"
        )
    if is_float and not nan and np.isnan(values).any():
        graph, row = _first(np.isnan(values), starts)
        raise GraphsError(
            f"{name}: graph {graph}, row {row} holds NaN; fill it in, or say nan=True "
            "to keep it"
        )
    return _narrow(name, values, starts)


def _narrow(name: str, values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """The 32-bit array that jax makes of a 64-bit one, unless that loses values."""
    if values.dtype.itemsize != 8 or jax.config.jax_enable_x64:
        return values
    if values.dtype.kind == "f":
        with np.errstate(over="ignore"):
            small = values.astype(np.float32)
        lost = np.isinf(small) & np.isfinite(values)
    elif values.dtype.kind == "i":
        small = values.astype(np.int32)
        lost = small != values
    elif values.dtype.kind == "u":
        small = values.astype(np.uint32)
        lost = small != values
    else:
        return values
    if lost.any():
        graph, row = _first(lost, starts)
        value = values.reshape(len(values), -1)[starts[graph] + row]
        worst = value[np.argmax(np.abs(value.astype(np.float64)))]
        raise GraphsError(
            f"{name}: graph {graph}, row {row} holds {worst}, which {small.dtype} "
            "cannot hold; renumber it, or turn jax_enable_x64 on"
        )
    return small


def _first(wrong: np.ndarray, starts: np.ndarray) -> tuple[int, int]:
    rows = wrong.reshape(len(wrong), -1).any(axis=1)
    return owner(starts, int(np.argmax(rows)))


def index_dtype(total: int) -> type[np.signedinteger]:
    """int32, and int64 where a set of graphs has more nodes than int32 counts."""
    return np.int32 if total <= _INT32.max else np.int64


def rows_of(tree: Any, name: str) -> int | None:
    """The number of rows that all leaves of a field share, or None without leaves."""
    counts = {np.shape(leaf)[:1] for leaf in jax.tree.leaves(tree)}
    if len(counts) > 1 or () in counts:
        raise GraphsError(
            f"{name}: leaves have {sorted(counts)} rows; wanted one number for all"
        )
    return counts.pop()[0] if counts else None


def validate(graphs: jraph.GraphsTuple, *, nan: bool = False) -> None:
    """Checks that a `GraphsTuple` is what jraph's networks take it for.

    jraph checks nothing: an index out of range is clamped in a gather and dropped in a
    sum, so that a network trains on other edges than the data has. Call this once on
    what comes from files. It copies the arrays to the host.

    Args:
      graphs: with indices that count through all graphs, as jraph has them.
      nan: whether NaN is allowed in features.

    Raises:
      GraphsError: if lengths do not add up, an edge leaves its graph, or a feature is
        NaN; the text names graph and edge.

    Example:
      >>> import jraph_kit
      >>> jraph_kit.validate(jraph_kit.get_fully_connected_graph(3, 2))
    """
    check_graphs(graphs, "validate")
    n_node = check_lengths("n_node", graphs.n_node)
    n_edge = check_lengths("n_edge", graphs.n_edge)
    if len(n_node) != len(n_edge):
        raise GraphsError(f"n_node has {len(n_node)} graphs and n_edge {len(n_edge)}")
    node_starts, edge_starts = starts_of(n_node), starts_of(n_edge)
    each = np.arange(len(n_node) + 1)
    fields = {
        "nodes": (graphs.nodes, node_starts),
        "edges": (graphs.edges, edge_starts),
        "globals": (graphs.globals, each),
        "senders": (graphs.senders, edge_starts),
        "receivers": (graphs.receivers, edge_starts),
    }
    for name, (tree, starts) in fields.items():
        rows = rows_of(tree, name)
        if rows is not None:
            check_total(name, np.diff(starts), rows)
        for leaf in jax.tree.leaves(tree):
            check_values(name, np.asarray(leaf), starts, nan=nan)
    for name in ("senders", "receivers"):
        ends = getattr(graphs, name)
        if ends is None:
            if n_edge.any():
                raise GraphsError(f"{name} are None, and n_edge says {n_edge.sum()}")
        else:
            ends = np.asarray(ends)
            check_index_column(name, ends)
            # Of uint64 and int64 NumPy makes floats.
            ends = ends.astype(np.int64) if ends.dtype.kind == "u" else ends
            local = ends - np.repeat(node_starts[:-1], n_edge)
            check_ends(name, local, n_edge, n_node)

"""Graphs as flat columns: what Arrow's list columns hold, to `GraphsTuple` and back.

A set of graphs, however many, is one `jraph.GraphsTuple` of NumPy arrays without
padding. Its rows are those of the columns; only senders and receivers change, from
indices within each graph to indices through all of them.
"""

from collections.abc import Mapping
from typing import Any

import jax
import jraph
import numpy as np

from jraph_kit._checks import (
    as_array,
    as_indices,
    check_ends,
    check_flat,
    check_lengths,
    check_same_lengths,
    check_total,
    check_values,
    index_dtype,
    starts_of,
)
from jraph_kit._errors import GraphsError
from jraph_kit._host import checked_host, host_graphs

Column = Any
"""The tuple (values, lengths), or an array [n_graph, rows, ...] of graphs of one size.

A list of two lists is such an array.
"""


def from_columns(
    *,
    senders: Column,
    receivers: Column,
    nodes: Column | Mapping[str, Column] | None = None,
    n_node: Any = None,
    edges: Column | Mapping[str, Column] | None = None,
    globals: Any = None,  # noqa: A002 (jraph's name)
    nan: bool = False,
) -> jraph.GraphsTuple:
    """Makes one `GraphsTuple` of all graphs whose rows lie in flat columns.

    A column is a tuple (values, lengths): the rows of all graphs one after the other,
    and how many each graph has; Arrow's list columns are that, and so is what
    `arrow_jax` gives for them. Where every graph has as many rows, an array
    [n_graph, rows, ...] will do. Nothing loops over graphs, and features are not
    copied unless they are narrowed.

    Args:
      senders: column of integers, the node within its graph that each edge leaves.
      receivers: column of integers, the node within its graph where each edge ends.
      nodes: column of features [n, ...], or several by name.
      n_node: integers [n_graph]; wanted where `nodes` is None, checked otherwise.
      edges: column of features, or several by name.
      globals: array [n_graph, ...] or a pytree of such.
      nan: whether NaN is allowed in features.

    Returns:
      NumPy arrays; indices and lengths are int32, those of nodes int64 where there are
      more than 2**31 - 1, and indices count through all graphs. 64-bit features are
      narrowed unless x64 is on.

    Raises:
      GraphsError: if lengths do not add up or differ between columns, an edge leaves
        its graph, a feature is NaN, or a 64-bit value does not fit into 32.

    Example:
      >>> import numpy as np
      >>> graphs = from_columns(
      ...     nodes=(np.ones((5, 2)), [2, 3]),
      ...     senders=([0, 0, 1], [1, 2]),
      ...     receivers=([1, 1, 2], [1, 2]),
      ... )
      >>> graphs.senders
      array([0, 2, 3], dtype=int32)
    """
    ends, n_edge = _pair("senders", senders)
    others, other_lengths = _pair("receivers", receivers)
    check_same_lengths("senders", n_edge, "receivers", other_lengths)
    node_values, node_lengths = _features("nodes", nodes, n_node, nan=nan)
    if len(node_lengths) != len(n_edge):
        raise GraphsError(
            f"nodes have {len(node_lengths)} graphs and senders have {len(n_edge)}"
        )
    edge_values, _ = _features("edges", edges, n_edge, nan=nan)
    each = np.arange(len(n_edge) + 1)

    def checked(leaf: Any) -> np.ndarray:
        found = np.asarray(leaf)
        if found.ndim == 0 or len(found) != len(n_edge):
            raise GraphsError(
                f"globals have shape {list(found.shape)}, and there are {len(n_edge)} "
                "graphs; wanted one row for each"
            )
        return check_values("globals", found, each, nan=nan)

    starts = starts_of(node_lengths)
    dtype = index_dtype(int(starts[-1]))
    shift = np.repeat(starts[:-1].astype(dtype), n_edge)
    for name, found in (("senders", ends), ("receivers", others)):
        check_ends(name, found, n_edge, node_lengths)
    return host_graphs(
        nodes=node_values,
        edges=edge_values,
        senders=ends.astype(dtype) + shift,
        receivers=others.astype(dtype) + shift,
        globals=jax.tree.map(checked, globals),
        n_node=node_lengths.astype(dtype),
        n_edge=n_edge.astype(index_dtype(int(n_edge.sum()))),
    )


def to_columns(graphs: jraph.GraphsTuple) -> dict[str, Any]:
    """Gives the flat columns of graphs, the inverse of `from_columns`.

    Args:
      graphs: without padding; see `unpad`.

    Returns:
      `nodes` and `edges` as (values, lengths), or a dict of such by name; `senders` and
      `receivers` counting within each graph; `globals` and `n_node` as arrays. What is
      None is left out. `from_columns(**columns)` gives the graphs again.

    Raises:
      GraphsError: if lengths do not add up to the rows there are, or features are
        neither an array nor a dict of arrays.

    Example:
      >>> import jraph_kit
      >>> to_columns(jraph_kit.get_fully_connected_graph(2, 2))["senders"]
      (array([0, 1, 0, 1, 0, 1, 0, 1], dtype=int32), array([4, 4], dtype=int32))
    """
    host = checked_host(graphs, "to_columns", with_ends=True)
    n_node, n_edge = host.n_node, host.n_edge
    shift = np.repeat(starts_of(n_node)[:-1], n_edge).astype(host.senders.dtype)

    def column(name: str, tree: Any, lengths: np.ndarray) -> Any:
        check_flat(name, tree)
        if _named(tree):
            return {key: (values, lengths) for key, values in tree.items()}
        return tree, lengths

    columns = {"n_node": host.n_node, "globals": host.globals}
    columns |= {
        "senders": column("senders", host.senders - shift, n_edge),
        "receivers": column("receivers", host.receivers - shift, n_edge),
    }
    for name, tree, lengths in (
        ("nodes", host.nodes, n_node),
        ("edges", host.edges, n_edge),
    ):
        if tree is not None:
            columns[name] = column(name, tree, lengths)
    return {name: found for name, found in columns.items() if found is not None}


def _named(column: Any) -> bool:
    return isinstance(column, Mapping)


def _pair(name: str, column: Column) -> tuple[np.ndarray, np.ndarray]:
    """A column as values and int64 lengths."""
    if isinstance(column, tuple) and len(column) == 2:
        values, lengths = as_indices(name, column[0]), check_lengths(name, column[1])
        check_total(name, lengths, len(values))
        return values, lengths
    values = as_array(name, column)
    if values.ndim < 2:
        raise GraphsError(
            f"{name}: found an array of shape {list(values.shape)}; wanted the pair "
            "(values, lengths), or an array [n_graph, rows, ...]"
        )
    lengths = np.full(len(values), values.shape[1], np.int64)
    return values.reshape(-1, *values.shape[2:]), lengths


def _features(
    name: str, columns: Any, lengths: Any, *, nan: bool
) -> tuple[Any, np.ndarray]:
    """One or several columns of features, which agree on the lengths."""
    wanted = None if lengths is None else check_lengths(f"n_{name[:-1]}", lengths)
    if columns is None:
        if wanted is None:
            raise GraphsError(f"{name} are None; then give n_{name[:-1]}")
        return None, wanted
    found = {}
    for key, column in (columns if _named(columns) else {"": columns}).items():
        label = f"{name}[{key!r}]" if key else name
        values, own = _pair(label, column)
        if wanted is not None:
            check_same_lengths(label, own, f"the count of {name}", wanted)
        wanted = own
        found[key] = check_values(label, values, starts_of(own), nan=nan)
    if wanted is None:
        raise GraphsError(f"{name} is an empty mapping; wanted columns, or None")
    return (found if _named(columns) else found[""]), wanted

"""`GraphsTuple`s of NumPy arrays, which is what a set of graphs on the host is."""

from typing import Any

import jax
import jraph
import numpy as np

from jraph_kit._checks import (
    check_graphs,
    check_index_column,
    check_lengths,
    check_total,
    index_dtype,
    native,
    rows_of,
)
from jraph_kit._errors import GraphsError


def host_graphs(**fields: Any) -> jraph.GraphsTuple:
    """A `GraphsTuple` of fields by name; jraph's types speak of jax arrays only."""
    return jraph.GraphsTuple(**fields)


def to_host(tree: Any) -> Any:
    """The same tree of NumPy arrays; those that are such already are not copied."""
    return jax.tree.map(lambda leaf: native(np.asarray(leaf)), tree)


def checked_host(graphs: Any, caller: str, *, with_ends: bool = False) -> Any:
    """A `GraphsTuple` of NumPy arrays; its rows add up and its edges end at nodes.

    Which graph an edge belongs to is left to `validate`. Lengths and ends narrower than
    32 bits, in which sums would wrap, are widened.
    """
    check_graphs(graphs, caller)
    if any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(graphs)):
        raise GraphsError(f"{caller} runs on the host; call it outside of jit")
    host = to_host(graphs)
    n_node = check_lengths("n_node", host.n_node)
    n_edge = check_lengths("n_edge", host.n_edge)
    if len(n_node) != len(n_edge):
        raise GraphsError(f"n_node has {len(n_node)} graphs and n_edge {len(n_edge)}")
    most = int(n_node.sum())
    changed = {"n_node": _wide(host.n_node, most), "n_edge": _wide(host.n_edge, 0)}
    each = {"nodes": n_node, "globals": np.ones_like(n_node)}
    for name in ("nodes", "edges", "globals", "senders", "receivers"):
        rows = rows_of(getattr(host, name), name)
        if rows is not None:
            check_total(name, each.get(name, n_edge), rows)
    for name in ("senders", "receivers"):
        ends = getattr(host, name)
        if ends is None:
            if with_ends or n_edge.any():
                raise GraphsError(
                    f"{name} are None; where there are no edges, give empty arrays of "
                    "integers, and zeros for n_edge"
                )
            continue
        check_index_column(name, ends)
        if ends.size and not 0 <= int(ends.min()) <= int(ends.max()) < most:
            edge = int(np.argmax((ends < 0) | (ends >= most)))
            raise GraphsError(
                f"{name}: edge {edge} ends at node {ends[edge]}, and there are {most} "
                "nodes"
            )
        changed[name] = _wide(ends, most)
    return host._replace(**changed)


def _wide(values: np.ndarray, most: int) -> np.ndarray:
    """As they are if int32 or int64; of other integers the one that holds `most`."""
    kept = values.dtype in {np.dtype(np.int32), np.dtype(np.int64)}
    return values if kept else values.astype(index_dtype(most))

"""Edges that are added or put in order before graphs are batched."""

from typing import Any

import jax
import jraph
import numpy as np

from jraph_kit._errors import GraphsError
from jraph_kit._host import checked_host, host_graphs


def add_self_edges(graphs: jraph.GraphsTuple, *, fill: Any = 0) -> jraph.GraphsTuple:
    """Adds an edge from every node to itself, on the host.

    Attention networks (`GAT`, `GATv2`) want them: without, a node does not see itself.

    Args:
      graphs: one or several, without padding.
      fill: the features of the new edges.

    Returns:
      The graphs with n_node more edges, which come behind the others of their graph.

    Raises:
      GraphsError: if edges are integers, and `fill` is none that they can hold.

    Example:
      >>> import jraph_kit
      >>> add_self_edges(jraph_kit.from_coo([0], [1], n_node=2)).senders
      array([0, 0, 1], dtype=int32)
    """
    host = checked_host(graphs, "add_self_edges", with_ends=True)
    n_nodes = int(host.n_node.sum())
    every = np.arange(len(host.n_node))
    numbers = [np.repeat(every, host.n_edge), np.repeat(every, host.n_node)]
    order = np.argsort(np.concatenate(numbers), kind="stable")
    loops = np.arange(n_nodes, dtype=host.senders.dtype)

    def longer(leaf: np.ndarray) -> np.ndarray:
        value = _cast(fill, leaf.dtype)
        new = np.empty((n_nodes, *leaf.shape[1:]), leaf.dtype)
        new[:] = value
        return np.concatenate([leaf, new])[order]

    return host_graphs(
        **host._asdict()
        | {
            "edges": jax.tree.map(longer, host.edges),
            "senders": np.concatenate([host.senders, loops])[order],
            "receivers": np.concatenate([host.receivers, loops])[order],
            "n_edge": host.n_edge + host.n_node,
        }
    )


def _cast(fill: Any, dtype: np.dtype) -> np.ndarray:
    """The fill as the edges' dtype; of a float only rounding is lost."""
    with np.errstate(invalid="ignore"):
        found = np.asarray(fill).astype(dtype)
    if dtype.kind in "iub" and (found != np.asarray(fill)).any():
        raise GraphsError(
            f"fill is {fill!r}, and edges are {dtype}, which cannot hold it; give "
            "another fill, or edges of floats"
        )
    return found


def sort_edges(graphs: jraph.GraphsTuple) -> jraph.GraphsTuple:
    """Puts edges in the order of their receivers, on the host.

    Sums over sorted edges are faster on GPU and TPU: tell networks by
    `layout=EdgeLayout(receivers_are_sorted=True)`. Padding and batching keep the order.

    Args:
      graphs: one or several, without padding.

    Returns:
      The graphs; edges of one receiver keep their order.

    Example:
      >>> import jraph_kit
      >>> sort_edges(jraph_kit.from_coo([0, 1], [1, 0], n_node=2)).receivers
      array([0, 1], dtype=int32)
    """
    host = checked_host(graphs, "sort_edges", with_ends=True)
    order = np.argsort(host.receivers, kind="stable")
    return host_graphs(
        **host._asdict()
        | {
            "edges": jax.tree.map(lambda leaf: leaf[order], host.edges),
            "senders": host.senders[order],
            "receivers": host.receivers[order],
        }
    )

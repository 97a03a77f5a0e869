"""Graphs in which every node sends to every node."""

from typing import Any

import jax.numpy as jnp
import jraph
import numpy as np

from jraph_kit._checks import rows_of
from jraph_kit._errors import GraphsError


def get_fully_connected_graph(
    n_node_per_graph: int,
    n_graph: int,
    node_features: Any = None,
    global_features: Any = None,
    add_self_edges: bool = True,  # noqa: FBT001, FBT002 (jraph's signature)
) -> jraph.GraphsTuple:
    """Makes graphs of one size in which every node sends to every node.

    For sets, as of particles, where all interact. Works under `jit`, where the numbers
    are static. Receivers ascend.

    Args:
      n_node_per_graph: nodes of each graph.
      n_graph: how many graphs.
      node_features: [n_graph * n_node_per_graph, ...], a pytree of such, or None.
      global_features: [n_graph, ...], a pytree of such, or None.
      add_self_edges: whether nodes send to themselves as well.

    Returns:
      A `GraphsTuple` without edge features.

    Raises:
      GraphsError: if features have another number of rows, or a number is negative.

    Example:
      >>> get_fully_connected_graph(2, 1, add_self_edges=False).senders
      Array([1, 0], dtype=int32)
    """
    n, g = n_node_per_graph, n_graph
    if n < 0 or g < 0:
        raise GraphsError(f"{n} nodes a graph and {g} graphs; wanted 0 or more")
    for name, tree, wanted in (
        ("node_features", node_features, n * g),
        ("global_features", global_features, g),
    ):
        found = rows_of(tree, name)
        if found not in (None, wanted):
            raise GraphsError(
                f"{name} have {found} rows, and {g} graphs of {n} nodes want {wanted}"
            )
    pairs = np.indices((n, n)).reshape(2, -1)
    if not add_self_edges:
        pairs = pairs[:, pairs[0] != pairs[1]]
    shifted = pairs[:, None] + n * np.arange(g)[:, None]
    receivers, senders = shifted.reshape(2, -1).astype(np.int32)
    return jraph.GraphsTuple(
        nodes=node_features,
        edges=None,
        senders=jnp.asarray(senders),
        receivers=jnp.asarray(receivers),
        globals=global_features,
        n_node=jnp.full(g, n, jnp.int32),
        n_edge=jnp.full(g, pairs.shape[1], jnp.int32),
    )

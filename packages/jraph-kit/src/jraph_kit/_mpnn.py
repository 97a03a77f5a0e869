"""Message passing as in quantum chemistry: several rounds with the same functions."""

from collections.abc import Callable
from typing import Any

import jax
import jraph

from jraph_kit._checks import check_count
from jraph_kit._graph_network import Network
from jraph_kit._layout import (
    Aggregate,
    EdgeLayout,
    at_receivers,
    at_senders,
    count_nodes,
    graph_of_nodes,
    to_graphs,
    to_receivers,
)
from jraph_kit._segments import segment_sum


def MPNN(  # noqa: N802 (as jraph's networks)
    message_fn: Callable[[Any, Any, Any], Any],
    update_node_fn: Callable[[Any, Any], Any],
    readout_fn: Callable[[Any], Any] | None = None,
    *,
    steps: int = 1,
    aggregate_edges_fn: Aggregate = segment_sum,
    aggregate_nodes_fn: Aggregate = segment_sum,
    layout: EdgeLayout = EdgeLayout(),  # noqa: B008 (frozen)
) -> Network:
    """Makes a message passing network: m_v = sum of M(h_v, h_u, e), h_v = U(h_v, m_v).

    Args:
      message_fn: M, (receivers' nodes, senders' nodes, edges) -> messages.
      update_node_fn: U, (nodes, aggregated messages) -> nodes.
      readout_fn: (nodes) -> rows whose aggregate over each graph become `globals`; None
        leaves those alone.
      steps: rounds of M and U, with the same parameters.
      aggregate_edges_fn: of each node's messages.
      aggregate_nodes_fn: of the rows read out.
      layout: how edges lie.

    Returns:
      A function from `GraphsTuple` to `GraphsTuple`.

    Raises:
      GraphsError: if `steps` is negative.

    Example:
      >>> import jraph_kit, jax.numpy as jnp
      >>> graph = jraph_kit.get_fully_connected_graph(2, 1, jnp.ones((2, 1)))
      >>> net = MPNN(lambda h_v, h_u, e: h_u, lambda h, m: h + m, lambda h: h, steps=2)
      >>> net(graph).globals.tolist()
      [[18.0]]

    References:
      Gilmer et al., Neural message passing for quantum chemistry, 2017, equations 1 to
      3, https://arxiv.org/abs/1704.01212
    """
    check_count("steps", steps, least=0)

    def apply(graph: jraph.GraphsTuple) -> jraph.GraphsTuple:
        n = count_nodes(graph)
        h = graph.nodes
        for _ in range(steps):
            sent = at_senders(graph, h, layout)
            messages = message_fn(at_receivers(graph, h), sent, graph.edges)
            m = to_receivers(aggregate_edges_fn, graph, messages, n, layout)
            h = update_node_fn(h, m)
        graph = graph._replace(nodes=h)
        if readout_fn is None:
            return graph
        numbers = graph_of_nodes(graph, n, jax.tree.leaves(h)[0], layout)
        told = layout.by_node
        pooled = to_graphs(aggregate_nodes_fn, graph, readout_fn(h), numbers, told)
        return graph._replace(globals=pooled)

    return apply

"""Networks whose nodes choose which neighbours to listen to: GAT and GATv2."""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import jraph

from jraph_kit._extremes import segment_softmax
from jraph_kit._graph_network import Network
from jraph_kit._layout import (
    EdgeLayout,
    at_receivers,
    at_senders,
    count_nodes,
    to_receivers,
)
from jraph_kit._segments import segment_sum

_ANY = EdgeLayout()


def _joined_heads(nodes: jax.Array) -> jax.Array:
    """Leaky relu, and all heads side by side; jraph's default."""
    # Not -1, which no rows leave undetermined.
    width = math.prod(nodes.shape[1:])
    return jax.nn.leaky_relu(nodes).reshape(nodes.shape[0], width)


def GAT(  # noqa: N802 (jraph's name)
    attention_query_fn: Callable[[Any], Any],
    attention_logit_fn: Callable[..., Any],
    node_update_fn: Callable[[Any], Any] | None = None,
    *,
    layout: EdgeLayout = _ANY,
) -> Network:
    """Makes a graph attention layer.

    Nodes do not see themselves unless the graph has edges for that: `add_self_edges`.

    Args:
      attention_query_fn: (nodes) -> queries [n_node, ...], such as with axes for heads
        and features.
      attention_logit_fn: (senders' queries, receivers' queries, edges) -> logits that
        broadcast against queries, [n_edge, heads, 1].
      node_update_fn: (attended nodes) -> nodes; by default leaky relu, and heads side
        by side.
      layout: how edges lie.

    Returns:
      A function from `GraphsTuple` to `GraphsTuple`.

    Example:
      >>> import jraph_kit
      >>> graph = jraph_kit.get_fully_connected_graph(2, 1, jnp.ones((2, 1)))
      >>> net = GAT(lambda n: n, lambda s, r, e: s + r, lambda n: n)
      >>> net(graph).nodes.tolist()
      [[1.0], [1.0]]

    References:
      Velickovic et al., Graph attention networks, 2018, equations 1 to 5,
      https://arxiv.org/abs/1710.10903
    """
    update = _joined_heads if node_update_fn is None else node_update_fn

    def apply(graph: jraph.GraphsTuple) -> jraph.GraphsTuple:
        count_nodes(graph)
        queries = attention_query_fn(graph.nodes)
        sent = at_senders(graph, queries, layout)
        logits = attention_logit_fn(sent, at_receivers(graph, queries), graph.edges)
        return graph._replace(nodes=update(_attended(graph, logits, sent, layout)))

    return apply


def GATv2(  # noqa: N802 (as jraph's networks)
    sender_fn: Callable[[Any], Any],
    receiver_fn: Callable[[Any], Any],
    attention_logit_fn: Callable[[Any, Any], Any],
    node_update_fn: Callable[[Any], Any] | None = None,
    *,
    negative_slope: float = 0.2,
    layout: EdgeLayout = _ANY,
) -> Network:
    """Makes a graph attention layer whose ranking of neighbours depends on the node.

    In `GAT` all nodes rank their neighbours alike. Here the logits are
    a(leaky_relu(W_s x_u + W_r x_v)), with the nonlinearity inside.

    Args:
      sender_fn: W_s, (nodes) -> [n_node, heads, features]; also what is summed up.
      receiver_fn: W_r, (nodes) -> the same shape.
      attention_logit_fn: a, (features of each edge's ends, edges) -> logits
        [n_edge, heads, 1].
      node_update_fn: (attended nodes) -> nodes; by default leaky relu, and heads side
        by side.
      negative_slope: of the leaky relu.
      layout: how edges lie.

    Returns:
      A function from `GraphsTuple` to `GraphsTuple`.

    Example:
      >>> import jraph_kit
      >>> graph = jraph_kit.get_fully_connected_graph(2, 1, jnp.ones((2, 1)))
      >>> net = GATv2(lambda n: n, lambda n: n, lambda x, e: x, lambda n: n)
      >>> net(graph).nodes.tolist()
      [[1.0], [1.0]]

    References:
      Brody et al., How attentive are graph attention networks?, 2022, equation 7,
      https://arxiv.org/abs/2105.14491
    """
    update = _joined_heads if node_update_fn is None else node_update_fn

    def apply(graph: jraph.GraphsTuple) -> jraph.GraphsTuple:
        count_nodes(graph)
        sent = at_senders(graph, sender_fn(graph.nodes), layout)
        received = at_receivers(graph, receiver_fn(graph.nodes))
        features = jax.nn.leaky_relu(sent + received, negative_slope)
        logits = attention_logit_fn(features, graph.edges)
        return graph._replace(nodes=update(_attended(graph, logits, sent, layout)))

    return apply


def _attended(
    graph: jraph.GraphsTuple, logits: Any, sent: jax.Array, layout: EdgeLayout
) -> jax.Array:
    """Each node's neighbours, weighted by the softmax over its edges."""
    n = count_nodes(graph)
    weights = to_receivers(segment_softmax, graph, logits, n, layout)
    return to_receivers(segment_sum, graph, jnp.multiply(sent, weights), n, layout)

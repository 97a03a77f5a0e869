"""The graph network of Battaglia et al., and networks that are cases of it."""

from collections.abc import Callable
from typing import Any

import jax
import jraph

from jraph_kit._errors import GraphsError
from jraph_kit._extremes import segment_softmax
from jraph_kit._layout import (
    Aggregate,
    EdgeLayout,
    at_receivers,
    at_senders,
    check_globals,
    count_nodes,
    graph_of_edges,
    graph_of_nodes,
    to_graphs,
    to_receivers,
    to_senders,
)
from jraph_kit._rows import take_rows
from jraph_kit._segments import segment_sum

Network = Callable[[jraph.GraphsTuple], jraph.GraphsTuple]
_Update = Callable[..., Any]
_ANY = EdgeLayout()


def GraphNetwork(  # noqa: N802, PLR0917 (jraph's name and signature)
    update_edge_fn: _Update | None,
    update_node_fn: _Update | None,
    update_global_fn: _Update | None = None,
    aggregate_edges_for_nodes_fn: Aggregate = segment_sum,
    aggregate_nodes_for_globals_fn: Aggregate = segment_sum,
    aggregate_edges_for_globals_fn: Aggregate = segment_sum,
    attention_logit_fn: _Update | None = None,
    attention_normalize_fn: Aggregate = segment_softmax,
    attention_reduce_fn: _Update | None = None,
    *,
    layout: EdgeLayout = _ANY,
) -> Network:
    """Makes a network that updates edges, then nodes, then globals.

    Every update is a function of arrays with a row for each edge, node or graph; any
    library's layers will do. Features may be pytrees. None leaves features as they are.

    Args:
      update_edge_fn: (edges, senders' nodes, receivers' nodes, globals) -> edges.
      update_node_fn: (nodes, sent edges, received edges, globals) -> nodes.
      update_global_fn: (nodes, edges, globals) -> globals, the first two aggregated.
      aggregate_edges_for_nodes_fn: such as `segment_mean`; so the next two.
      aggregate_nodes_for_globals_fn: aggregates nodes within each graph.
      aggregate_edges_for_globals_fn: aggregates edges within each graph.
      attention_logit_fn: (edges, senders' nodes, receivers' nodes, globals) -> logits.
      attention_normalize_fn: of the logits of each receiver's edges.
      attention_reduce_fn: (edges, weights) -> edges.
      layout: how edges lie.

    Returns:
      A function from `GraphsTuple` to `GraphsTuple`.

    Raises:
      GraphsError: if there is a logit without a reduce function, or the reverse; on
        call, if nodes have no features, or globals not one row for each graph.

    Example:
      >>> import jraph_kit, jax.numpy as jnp
      >>> graph = jraph_kit.get_fully_connected_graph(2, 1, jnp.ones((2, 3)))
      >>> net = GraphNetwork(None, lambda n, s, r, g: n + 1)
      >>> net(graph).nodes.shape
      (2, 3)

    References:
      Battaglia et al., Relational inductive biases, deep learning, and graph networks,
      2018, algorithm 1, https://arxiv.org/abs/1806.01261
    """
    if (attention_logit_fn is None) != (attention_reduce_fn is None):
        raise GraphsError(
            "one of attention_logit_fn and attention_reduce_fn is None; give both or "
            "neither"
        )

    def apply(graph: jraph.GraphsTuple) -> jraph.GraphsTuple:
        n = count_nodes(graph)
        check_globals(graph)
        nodes, edges, globals_ = graph.nodes, graph.edges, graph.globals
        node_numbers = graph_of_nodes(graph, n, jax.tree.leaves(nodes)[0], layout)
        edge_numbers = graph_of_edges(graph, node_numbers, layout)
        sent = at_senders(graph, nodes, layout)
        received = at_receivers(graph, nodes)
        for_edges = jax.tree.map(lambda g: take_rows(g, edge_numbers), globals_)
        if update_edge_fn is not None:
            edges = update_edge_fn(edges, sent, received, for_edges)
        if attention_logit_fn is not None and attention_reduce_fn is not None:
            logits = attention_logit_fn(edges, sent, received, for_edges)
            weights = to_receivers(attention_normalize_fn, graph, logits, n, layout)
            edges = attention_reduce_fn(edges, weights)
        if update_node_fn is not None:
            out = to_senders(aggregate_edges_for_nodes_fn, graph, edges, n, layout)
            into = to_receivers(aggregate_edges_for_nodes_fn, graph, edges, n, layout)
            for_nodes = jax.tree.map(lambda g: take_rows(g, node_numbers), globals_)
            nodes = update_node_fn(nodes, out, into, for_nodes)
        if update_global_fn is not None:
            of_nodes = to_graphs(
                aggregate_nodes_for_globals_fn,
                graph,
                nodes,
                node_numbers,
                layout.by_node,
            )
            of_edges = to_graphs(
                aggregate_edges_for_globals_fn,
                graph,
                edges,
                edge_numbers,
                layout.by_edge,
            )
            globals_ = update_global_fn(of_nodes, of_edges, globals_)
        return graph._replace(nodes=nodes, edges=edges, globals=globals_)

    return apply


def InteractionNetwork(  # noqa: N802 (jraph's name)
    update_edge_fn: _Update,
    update_node_fn: _Update,
    aggregate_edges_for_nodes_fn: Aggregate = segment_sum,
    include_sent_messages_in_node_update: bool = False,  # noqa: FBT001, FBT002
    *,
    layout: EdgeLayout = _ANY,
) -> Network:
    """Makes a network in which nodes act on each other along edges, without globals.

    Args:
      update_edge_fn: (edges, senders' nodes, receivers' nodes) -> edges.
      update_node_fn: (nodes, received edges) -> nodes; with sent messages, (nodes, sent
        edges, received edges) -> nodes.
      aggregate_edges_for_nodes_fn: such as `segment_mean`.
      include_sent_messages_in_node_update: whether a node sees what it sends, too.
      layout: how edges lie.

    Returns:
      A function from `GraphsTuple` to `GraphsTuple`.

    Example:
      >>> import jraph_kit, jax.numpy as jnp
      >>> graph = jraph_kit.get_fully_connected_graph(2, 1, jnp.ones((2, 1)))
      >>> InteractionNetwork(lambda e, s, r: s, lambda n, r: n + r)(graph).nodes
      Array([[3.],
             [3.]], dtype=float32)

    References:
      Battaglia et al., Interaction networks for learning about objects, relations and
      physics, 2016, https://arxiv.org/abs/1612.00222
    """

    def node(nodes: Any, sent: Any, received: Any, globals_: Any) -> Any:
        del globals_
        if include_sent_messages_in_node_update:
            return update_node_fn(nodes, sent, received)
        return update_node_fn(nodes, received)

    return GraphNetwork(
        lambda e, s, r, _: update_edge_fn(e, s, r),
        node,
        aggregate_edges_for_nodes_fn=aggregate_edges_for_nodes_fn,
        layout=layout,
    )


def RelationNetwork(  # noqa: N802 (jraph's name)
    update_edge_fn: _Update,
    update_global_fn: _Update,
    aggregate_edges_for_globals_fn: Aggregate = segment_sum,
    *,
    layout: EdgeLayout = _ANY,
) -> Network:
    """Makes a network that answers about a graph from all its pairs of nodes.

    Args:
      update_edge_fn: (senders' nodes, receivers' nodes) -> edges.
      update_global_fn: (aggregated edges) -> globals.
      aggregate_edges_for_globals_fn: such as `segment_mean`.
      layout: how edges lie.

    Returns:
      A function from `GraphsTuple` to `GraphsTuple`.

    Example:
      >>> import jraph_kit, jax.numpy as jnp
      >>> graph = jraph_kit.get_fully_connected_graph(2, 1, jnp.ones((2, 1)))
      >>> RelationNetwork(lambda s, r: s * r, lambda e: e)(graph).globals
      Array([[4.]], dtype=float32)

    References:
      Santoro et al., A simple neural network module for relational reasoning, 2017,
      https://arxiv.org/abs/1706.01427
    """
    return GraphNetwork(
        lambda _, s, r, __: update_edge_fn(s, r),
        None,
        lambda _, e, __: update_global_fn(e),
        aggregate_edges_for_globals_fn=aggregate_edges_for_globals_fn,
        layout=layout,
    )


def DeepSets(  # noqa: N802 (jraph's name)
    update_node_fn: _Update,
    update_global_fn: _Update,
    aggregate_nodes_for_globals_fn: Aggregate = segment_sum,
    *,
    layout: EdgeLayout = _ANY,
) -> Network:
    """Makes a network of sets: graphs whose edges, if any, are not looked at.

    Args:
      update_node_fn: (nodes, globals) -> nodes.
      update_global_fn: (aggregated nodes) -> globals.
      aggregate_nodes_for_globals_fn: such as `segment_max`.
      layout: how edges lie; only whether nodes are sharded matters.

    Returns:
      A function from `GraphsTuple` to `GraphsTuple`.

    Example:
      >>> import jraph_kit, jax.numpy as jnp
      >>> sets = jraph_kit.get_fully_connected_graph(3, 1, jnp.ones((3, 1)))
      >>> DeepSets(lambda n, g: 2 * n, lambda n: n)(sets).globals
      Array([[6.]], dtype=float32)

    References:
      Zaheer et al., Deep sets, 2017, https://arxiv.org/abs/1703.06114
    """

    def apply(graph: jraph.GraphsTuple) -> jraph.GraphsTuple:
        n = count_nodes(graph)
        check_globals(graph)
        numbers = graph_of_nodes(graph, n, jax.tree.leaves(graph.nodes)[0], layout)
        for_nodes = jax.tree.map(lambda g: take_rows(g, numbers), graph.globals)
        nodes = update_node_fn(graph.nodes, for_nodes)
        pooled = to_graphs(
            aggregate_nodes_for_globals_fn, graph, nodes, numbers, layout.by_node
        )
        return graph._replace(nodes=nodes, globals=update_global_fn(pooled))

    return apply

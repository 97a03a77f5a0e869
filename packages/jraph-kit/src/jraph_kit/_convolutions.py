"""Networks whose nodes take in their neighbours' features: GCN, GIN, GraphSAGE."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import jraph
from jax import lax

from jraph_kit._errors import GraphsError
from jraph_kit._graph_network import Network
from jraph_kit._layout import (
    Aggregate,
    EdgeLayout,
    at_senders,
    count_nodes,
    edge_ends,
    to_receivers,
    to_senders,
)
from jraph_kit._rows import everywhere
from jraph_kit._segments import _accumulator, _float, segment_mean, segment_sum

_ANY = EdgeLayout()


def GraphConvolution(  # noqa: N802 (jraph's name)
    update_node_fn: Callable[[Any], Any],
    aggregate_nodes_fn: Aggregate = segment_sum,
    add_self_edges: bool = False,  # noqa: FBT001, FBT002 (jraph's signature)
    symmetric_normalization: bool = True,  # noqa: FBT001, FBT002
    *,
    layout: EdgeLayout = _ANY,
) -> Network:
    """Makes a graph convolution (GCN): D^-1/2 A D^-1/2 f(X).

    No activation follows; put one between layers. Integers that f gives are normalised
    in float32.

    Args:
      update_node_fn: f, (nodes) -> nodes; a linear layer in the paper.
      aggregate_nodes_fn: of the neighbours' rows.
      add_self_edges: whether A is A + I, as in the paper; False as in jraph.
      symmetric_normalization: whether to divide by the roots of the sender's number of
        outgoing and the receiver's number of incoming edges.
      layout: how edges lie.

    Returns:
      A function from `GraphsTuple` to `GraphsTuple`.

    Raises:
      GraphsError: on call, if nodes have no features, or self edges are wanted for
        sharded edges and another aggregate than `segment_sum`.

    Example:
      >>> import jraph_kit
      >>> graph = jraph_kit.from_coo([0], [1], n_node=2, nodes=jnp.ones((2, 1)))
      >>> GraphConvolution(lambda x: x, add_self_edges=True)(graph).nodes
      Array([[0.70710677],
             [1.2071068 ]], dtype=float32)

    References:
      Kipf and Welling, Semi-supervised classification with graph convolutional
      networks, 2017, equation 2, https://arxiv.org/abs/1609.02907
    """
    summed = aggregate_nodes_fn is segment_sum
    if add_self_edges and layout.axis_name is not None and not summed:
        raise GraphsError(
            "self edges cannot be added to edges on several devices with this "
            "aggregate; call jraph_kit.add_self_edges on the graphs before"
        )

    def apply(graph: jraph.GraphsTuple) -> jraph.GraphsTuple:
        n = count_nodes(graph)
        wired, lies = graph, layout
        senders, receivers = edge_ends(graph)
        if add_self_edges and not summed:
            # On every device: the longer arrays may not divide among them.
            loops = jnp.arange(n, dtype=senders.dtype)
            senders = jnp.concatenate([everywhere(senders), loops])
            receivers = jnp.concatenate([everywhere(receivers), loops])
            wired = graph._replace(senders=senders, receivers=receivers)
            lies = EdgeLayout()
        alone = 1 if add_self_edges and summed else 0

        def roots(count: Any, leaf: jax.Array) -> jax.Array:
            """One over the root of each node's number of edges, beside its features."""
            ones = jnp.ones_like(senders, dtype=jnp.int32)
            degree = count(segment_sum, wired, ones, n, lies) + alone
            degree = jnp.maximum(degree, 1).astype(jnp.float32)
            root = lax.rsqrt(degree).astype(leaf.dtype)
            return root.reshape(root.shape + (1,) * (leaf.ndim - 1))

        def convolved(leaf: jax.Array) -> jax.Array:
            if symmetric_normalization:
                leaf = _float(leaf)
                leaf = leaf * roots(to_senders, leaf)
            rows = at_senders(wired, leaf, lies)
            out = to_receivers(aggregate_nodes_fn, wired, rows, n, lies)
            out = out + leaf if alone else out
            return out * roots(to_receivers, out) if symmetric_normalization else out

        return graph._replace(
            nodes=jax.tree.map(convolved, update_node_fn(graph.nodes))
        )

    return apply


def GIN(  # noqa: N802 (as jraph's networks)
    update_node_fn: Callable[[Any], Any],
    *,
    epsilon: Any = 0.0,
    layout: EdgeLayout = _ANY,
) -> Network:
    """Makes a graph isomorphism layer: f((1 + epsilon) x_v + sum of neighbours' x_u).

    Nodes of integers are taken as float32.

    Args:
      update_node_fn: f, (nodes) -> nodes; a perceptron of two layers in the paper.
      epsilon: how much more a node counts than a neighbour; a number, or a parameter.
      layout: how edges lie.

    Returns:
      A function from `GraphsTuple` to `GraphsTuple`.

    Example:
      >>> import jraph_kit
      >>> graph = jraph_kit.from_coo([0], [1], n_node=2, nodes=jnp.ones((2, 1)))
      >>> GIN(lambda x: x)(graph).nodes.tolist()
      [[1.0], [2.0]]

    References:
      Xu et al., How powerful are graph neural networks?, 2019, equation 4.1,
      https://arxiv.org/abs/1810.00826
    """

    def apply(graph: jraph.GraphsTuple) -> jraph.GraphsTuple:
        n = count_nodes(graph)
        rows = at_senders(graph, graph.nodes, layout)
        summed = to_receivers(segment_sum, graph, rows, n, layout)

        def mixed(x: jax.Array, neighbours: jax.Array) -> jax.Array:
            x = _float(x)
            return x * jnp.asarray(1 + epsilon, x.dtype) + neighbours.astype(x.dtype)

        mix = jax.tree.map(mixed, graph.nodes, summed)
        return graph._replace(nodes=update_node_fn(mix))

    return apply


def GraphSAGE(  # noqa: N802 (as jraph's networks)
    update_node_fn: Callable[[Any, Any], Any],
    *,
    message_fn: Callable[[Any], Any] | None = None,
    aggregate_nodes_fn: Aggregate = segment_mean,
    normalize: bool = False,
    layout: EdgeLayout = _ANY,
) -> Network:
    """Makes a GraphSAGE layer: f(x_v, mean of neighbours' x_u).

    Means, unlike sums, are estimated without bias from a sample of neighbours.

    Args:
      update_node_fn: f, (nodes, aggregated neighbours) -> nodes.
      message_fn: (nodes) -> what they send; with `segment_max` the paper's pooling.
      aggregate_nodes_fn: of the neighbours' rows.
      normalize: whether results are scaled to length 1, as in the paper.
      layout: how edges lie.

    Returns:
      A function from `GraphsTuple` to `GraphsTuple`.

    Example:
      >>> import jraph_kit
      >>> graph = jraph_kit.from_coo([0], [1], n_node=2, nodes=jnp.ones((2, 1)))
      >>> GraphSAGE(lambda x, neighbours: x + neighbours)(graph).nodes.tolist()
      [[1.0], [2.0]]

    References:
      Hamilton et al., Inductive representation learning on large graphs, 2017,
      algorithm 1, https://arxiv.org/abs/1706.02216
    """

    def scaled(x: jax.Array) -> jax.Array:
        wide = _float(x)
        out = wide.dtype
        wide = wide.astype(_accumulator(out))  # squares of 300 are beyond float16
        squares = jnp.sum(jnp.square(wide), axis=-1, keepdims=True)
        least = jnp.asarray(1e-12, wide.dtype)
        return (wide * lax.rsqrt(jnp.maximum(squares, least))).astype(out)

    def apply(graph: jraph.GraphsTuple) -> jraph.GraphsTuple:
        n = count_nodes(graph)
        told = graph.nodes if message_fn is None else message_fn(graph.nodes)
        rows = at_senders(graph, told, layout)
        neighbours = to_receivers(aggregate_nodes_fn, graph, rows, n, layout)
        nodes = update_node_fn(graph.nodes, neighbours)
        return graph._replace(nodes=jax.tree.map(scaled, nodes) if normalize else nodes)

    return apply

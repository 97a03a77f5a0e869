"""jraph's masks and `zero_out_padding`, right also for batches without padding.

Each takes jraph's arguments and one more, `n_real`: the number of real graphs, which a
`Batch` holds. Without it the padding is told as in jraph: it is the last graph that has
nodes. Unlike in jraph that graph is real if it has an edge that padding cannot have, as
those of padding all go from its first node to itself. What is left to guess is a batch
without padding whose last graph has no edges, or such loops alone: it is taken for
padding, and wants `n_real`.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import jraph

from jraph_kit._checks import check_one_batch
from jraph_kit._masks import edge_mask, graph_mask, node_mask


def _real(graphs: jraph.GraphsTuple, n_real: Any) -> Any:
    """The number of real graphs: those before the padding, which its shape tells."""
    if n_real is not None:
        return n_real
    check_one_batch(graphs)
    n_node = jnp.asarray(graphs.n_node).astype(jnp.int32)
    numbers = jnp.arange(n_node.shape[0], dtype=jnp.int32)
    last = jnp.max(jnp.where(n_node > 0, numbers, 0), initial=0)
    if graphs.senders is None or graphs.receivers is None:
        return last
    first = jnp.sum(jnp.where(numbers < last, n_node, 0), dtype=jnp.int32)
    loop = (jnp.asarray(graphs.senders).astype(jnp.int32) == first) & (
        jnp.asarray(graphs.receivers).astype(jnp.int32) == first
    )
    real = jnp.any(~loop & ~edge_mask(graphs, last))
    return last + real.astype(jnp.int32)


def get_graph_padding_mask(
    padded_graph: jraph.GraphsTuple, *, n_real: Any = None
) -> jax.Array:
    """Tells real graphs from padding.

    Args:
      padded_graph: the batch.
      n_real: int [], how many graphs are real; None to tell by the last graph.

    Returns:
      bool [n_graph].

    Example:
      >>> import jraph_kit
      >>> three = jraph_kit.get_fully_connected_graph(2, 3)
      >>> get_graph_padding_mask(three, n_real=3)
      Array([ True,  True,  True], dtype=bool)
    """
    return graph_mask(padded_graph, _real(padded_graph, n_real))


def get_node_padding_mask(
    padded_graph: jraph.GraphsTuple, *, n_real: Any = None
) -> jax.Array:
    """Tells nodes of real graphs from padding.

    Args:
      padded_graph: the batch, with node features.
      n_real: int [], how many graphs are real; None to tell by the last graph.

    Returns:
      bool [n_node].

    Raises:
      GraphsError: if there are no node features to take the number of nodes from.

    Example:
      >>> import jraph_kit
      >>> two = jraph_kit.get_fully_connected_graph(1, 2, jnp.ones((2, 3)))
      >>> get_node_padding_mask(two, n_real=2)
      Array([ True,  True], dtype=bool)
    """
    return node_mask(padded_graph, _real(padded_graph, n_real))


def get_edge_padding_mask(
    padded_graph: jraph.GraphsTuple, *, n_real: Any = None
) -> jax.Array:
    """Tells edges of real graphs from padding.

    Args:
      padded_graph: the batch.
      n_real: int [], how many graphs are real; None to tell by the last graph.

    Returns:
      bool [n_edge].

    Example:
      >>> import jraph_kit
      >>> two = jraph_kit.get_fully_connected_graph(1, 2)
      >>> get_edge_padding_mask(two, n_real=1)
      Array([ True, False], dtype=bool)
    """
    return edge_mask(padded_graph, _real(padded_graph, n_real))


def zero_out_padding(
    graph: jraph.GraphsTuple, *, n_real: Any = None
) -> jraph.GraphsTuple:
    """Sets the features of padding to zero, NaN and infinities too.

    jraph multiplies by the mask, which keeps NaN. Put it before a network whose padding
    may hold anything: the gradient of a product with NaN is NaN, even times zero.

    Args:
      graph: the batch; fields that are None stay so.
      n_real: int [], how many graphs are real; None to tell by the last graph.

    Returns:
      The batch with real values as they were.

    Example:
      >>> import jraph_kit
      >>> two = jraph_kit.get_fully_connected_graph(1, 2, jnp.full((2,), jnp.nan))
      >>> zero_out_padding(two, n_real=1).nodes
      Array([nan,  0.], dtype=float32)
    """
    real = _real(graph, n_real)

    def kept(tree: Any, mask: Callable[..., jax.Array]) -> Any:
        if not jax.tree.leaves(tree):
            return tree
        rows = mask(graph, real)

        def one(leaf: Any) -> jax.Array:
            leaf = jnp.asarray(leaf)
            beside = rows.reshape(rows.shape + (1,) * (leaf.ndim - 1))
            return jnp.where(beside, leaf, jnp.zeros((), leaf.dtype))

        return jax.tree.map(one, tree)

    return graph._replace(
        nodes=kept(graph.nodes, node_mask),
        edges=kept(graph.edges, edge_mask),
        globals=kept(graph.globals, graph_mask),
    )


def with_zero_out_padding_outputs(
    graph_net: Callable[[jraph.GraphsTuple], jraph.GraphsTuple],
) -> Callable[..., jraph.GraphsTuple]:
    """Wraps a network so that its outputs are zero on padding.

    Args:
      graph_net: from `GraphsTuple` to `GraphsTuple`.

    Returns:
      A function of the graphs and, keyword-only, `n_real`.

    Example:
      >>> import jraph_kit
      >>> two = jraph_kit.get_fully_connected_graph(1, 2, jnp.ones(2))
      >>> with_zero_out_padding_outputs(lambda graph: graph)(two).nodes
      Array([1., 0.], dtype=float32)
    """

    @functools.wraps(graph_net)
    def wrapped(graph: jraph.GraphsTuple, *, n_real: Any = None) -> jraph.GraphsTuple:
        return zero_out_padding(graph_net(graph), n_real=n_real)

    return wrapped

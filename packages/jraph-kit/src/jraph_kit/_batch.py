"""A padded batch that knows how many of its graphs are real, and its masks.

A `GraphsTuple` alone cannot say whether its last graph is padding: sizes [3, 2] may be
two graphs, or one and its padding. `Batch` keeps the number beside it.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import jax
import jraph
import numpy as np

from jraph_kit._checks import check_count, index_dtype, starts_of
from jraph_kit._errors import GraphsError, OversizeError
from jraph_kit._host import checked_host, host_graphs
from jraph_kit._masks import edge_mask, graph_mask, node_mask


class Batch(NamedTuple):
    """Graphs, padded or not, with the number of real ones: a pytree for `jit`.

    Attributes:
      graphs: real graphs first. Then, in jraph's way, one graph of all padding nodes
        and edges, and graphs without rows. Or no padding at all.
      n_real: int32 [], how many graphs are real; under `jit`, numbers of another type
        are another trace.

    Example:
      >>> import jax.numpy as jnp, jraph_kit
      >>> batch = Batch(jraph_kit.get_fully_connected_graph(2, 3), n_real=jnp.int32(3))
      >>> batch.graph_mask
      Array([ True,  True,  True], dtype=bool)
    """

    graphs: jraph.GraphsTuple
    n_real: Any

    @property
    def graph_mask(self) -> jax.Array:
        """Bool [n_graph], True for real graphs."""
        return graph_mask(self.graphs, self.n_real)

    @property
    def node_mask(self) -> jax.Array:
        """Bool [n_node], True for nodes of real graphs."""
        return node_mask(self.graphs, self.n_real)

    @property
    def edge_mask(self) -> jax.Array:
        """Bool [n_edge], True for edges of real graphs."""
        return edge_mask(self.graphs, self.n_real)


def batch(graphs: Iterable[jraph.GraphsTuple]) -> jraph.GraphsTuple:
    """Joins graphs on the host into one `GraphsTuple` without padding.

    For a whole data set, flat columns and `batches` are far faster than a list.

    Args:
      graphs: an iterable of at least one, with the same fields.

    Returns:
      NumPy arrays; indices are shifted to count through all graphs.

    Raises:
      GraphsError: if the list is empty, or fields differ; the text names the graph.

    Example:
      >>> import jraph_kit
      >>> triangle = jraph_kit.from_coo([0, 1, 2], [1, 2, 0], n_node=3)
      >>> batch([triangle, triangle]).senders
      array([0, 1, 2, 3, 4, 5], dtype=int32)
    """
    found = [graphs] if isinstance(graphs, jraph.GraphsTuple) else list(graphs)
    for i, one in enumerate(found):
        if not isinstance(one, jraph.GraphsTuple):
            raise GraphsError(
                f"graph {i} is a {type(one).__name__}; wanted a list of GraphsTuples"
            )
    if not found:
        raise GraphsError("batch got no graphs; wanted one or more")
    graphs = [checked_host(one, "batch") for one in found]
    kinds = [
        jax.tree.map(lambda leaf: (leaf.dtype.name, *leaf.shape[1:]), one)
        for one in graphs
    ]
    for i, kind in enumerate(kinds):
        if kind != kinds[0]:
            raise GraphsError(
                f"graph {i} has the fields {kind}, and graph 0 has {kinds[0]} (dtype, "
                "and shape of a row); give all of them the same"
            )
    joined = jax.tree.map(lambda *leaves: np.concatenate(leaves), *graphs)
    if joined.senders is None:
        return joined
    starts = starts_of(np.array([np.sum(one.n_node) for one in graphs], np.int64))
    counts = [int(np.sum(one.n_edge)) for one in graphs]
    shift = np.repeat(starts[:-1], counts)
    dtype = index_dtype(int(starts[-1]))
    return joined._replace(
        senders=(joined.senders + shift).astype(dtype),
        receivers=(joined.receivers + shift).astype(dtype),
    )


def unbatch(graph: jraph.GraphsTuple | Batch) -> list[jraph.GraphsTuple]:
    """Splits into graphs of their own, on the host; of a `Batch` only the real ones.

    Args:
      graph: one or several.

    Returns:
      A list of `GraphsTuple` of one graph each, as NumPy arrays.

    Example:
      >>> import jraph_kit
      >>> pair = jraph_kit.get_fully_connected_graph(2, 2)
      >>> [one.senders.tolist() for one in unbatch(pair)]
      [[0, 1, 0, 1], [0, 1, 0, 1]]
    """
    whole = unpad(graph) if isinstance(graph, Batch) else graph
    host = checked_host(whole, "unbatch")
    nodes, edges = starts_of(host.n_node), starts_of(host.n_edge)

    def cut(tree: Any, start: int, stop: int) -> Any:
        return jax.tree.map(lambda leaf: leaf[start:stop], tree)

    def part(i: int) -> jraph.GraphsTuple:
        ends = cut((host.senders, host.receivers), edges[i], edges[i + 1])
        first = index_dtype(int(nodes[-1]))(nodes[i])
        senders, receivers = jax.tree.map(lambda leaf: leaf - first, ends)
        return host_graphs(
            nodes=cut(host.nodes, nodes[i], nodes[i + 1]),
            edges=cut(host.edges, edges[i], edges[i + 1]),
            senders=senders,
            receivers=receivers,
            globals=cut(host.globals, i, i + 1),
            n_node=host.n_node[i : i + 1],
            n_edge=host.n_edge[i : i + 1],
        )

    return [part(i) for i in range(len(host.n_node))]


def pad(graphs: jraph.GraphsTuple, *, n_node: int, n_edge: int, n_graph: int) -> Batch:
    """Pads to a size with zeros, in jraph's way, and remembers how many are real.

    An exact fit is left as it is, and its arrays are not copied. Otherwise there is one
    graph more at least, which holds the padding edges and so needs a node.

    Args:
      graphs: without padding.
      n_node: nodes of the result.
      n_edge: edges of the result.
      n_graph: graphs of the result.

    Returns:
      A `Batch` of NumPy arrays.

    Raises:
      OversizeError: if the graphs do not fit; the text says by how much.
      GraphsError: if rows do not add up, or an edge ends at no node; so for `unpad`,
        `batch` and `unbatch`.

    Example:
      >>> import jraph_kit
      >>> graph = jraph_kit.from_coo([0], [1], n_node=2)
      >>> pad(graph, n_node=4, n_edge=3, n_graph=2).graphs.receivers
      array([1, 2, 2], dtype=int32)
    """
    for name, value in (("n_node", n_node), ("n_edge", n_edge), ("n_graph", n_graph)):
        check_count(name, value, least=0)
    host = checked_host(graphs, "pad")
    real = (int(host.n_node.sum()), int(host.n_edge.sum()), len(host.n_node))
    wanted = (n_node, n_edge, n_graph)
    n_real = np.int32(real[2])
    if real == wanted:
        return Batch(host, n_real)
    least = (real[0] + 1, real[1], real[2] + 1)
    if any(have > want for have, want in zip(least, wanted, strict=True)):
        raise OversizeError(
            f"(nodes, edges, graphs) are {real}, and the size to pad to is {wanted}; "
            f"wanted {least} or more, as padding is a graph with a node"
        )
    more = [want - have for want, have in zip(wanted, real, strict=True)]

    def longer(tree: Any, rows: int, fill: int = 0) -> Any:
        def one(leaf: np.ndarray) -> np.ndarray:
            tail = np.full((rows, *leaf.shape[1:]), fill, leaf.dtype)
            return np.concatenate([leaf, tail])

        return jax.tree.map(one, tree)

    first = np.zeros(more[2], np.int32)
    counts = []
    for lengths, extra in ((host.n_node, more[0]), (host.n_edge, more[1])):
        first[0] = extra
        counts.append(np.concatenate([lengths, first.astype(lengths.dtype)]))
    padded = host_graphs(
        nodes=longer(host.nodes, more[0]),
        edges=longer(host.edges, more[1]),
        senders=longer(host.senders, more[1], real[0]),
        receivers=longer(host.receivers, more[1], real[0]),
        globals=longer(host.globals, more[2]),
        n_node=counts[0],
        n_edge=counts[1],
    )
    return Batch(padded, n_real)


def unpad(padded: Batch) -> jraph.GraphsTuple:
    """Gives the real graphs of a batch, on the host; the inverse of `pad`.

    Args:
      padded: one batch.

    Returns:
      A `GraphsTuple` of NumPy arrays.

    Example:
      >>> import jraph_kit
      >>> graph = jraph_kit.from_coo([0], [1], n_node=2)
      >>> unpad(pad(graph, n_node=4, n_edge=3, n_graph=2)).receivers
      array([1], dtype=int32)
    """
    if not isinstance(padded, Batch):
        raise GraphsError(
            f"unpad got a {type(padded).__name__}; wanted a Batch, which says how many "
            "graphs are real: Batch(graphs, n_real)"
        )
    host = checked_host(padded.graphs, "unpad")
    n = check_count("n_real", padded.n_real, least=0)
    if n > len(host.n_node):
        raise GraphsError(f"n_real is {n}, and there are {len(host.n_node)} graphs")
    nodes, edges = int(host.n_node[:n].sum()), int(host.n_edge[:n].sum())

    def first(rows: int) -> Callable[[np.ndarray], np.ndarray]:
        return lambda leaf: leaf[:rows]

    return host_graphs(
        nodes=jax.tree.map(first(nodes), host.nodes),
        edges=jax.tree.map(first(edges), host.edges),
        senders=jax.tree.map(first(edges), host.senders),
        receivers=jax.tree.map(first(edges), host.receivers),
        globals=jax.tree.map(first(n), host.globals),
        n_node=host.n_node[:n],
        n_edge=host.n_edge[:n],
    )

"""How a graph's edges lie, in order and over devices, and what follows for networks.

Networks move features along edges in the same few ways; here is each of them for every
layout, so that a network is written once.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jraph
from jax import lax

from jraph_kit._checks import rows_of
from jraph_kit._errors import GraphsError
from jraph_kit._rows import graph_numbers, spread, take_rows, wide_integers

Aggregate = Callable[..., jax.Array]
"""(rows, segment ids, number of segments) -> segments, such as `segment_sum`."""


class EdgeLayout(NamedTuple):
    """How the edges of a graph lie, for networks to know.

    The default is any order, on one device or sharded under `jit`. The axes are for
    networks inside `jax.shard_map`; `edge_sharded` and `node_sharded` set them.

    Attributes:
      receivers_are_sorted: whether receivers ascend, as `sort_edges` makes them.
      axis_name: the axis over which edges are spread, or None.
      nodes_are_sharded: whether nodes are spread over it too, each device's edges
        ending at its own nodes. Senders then count through all nodes, receivers
        through the device's.

    Example:
      >>> EdgeLayout(receivers_are_sorted=True).axis_name is None
      True
    """

    receivers_are_sorted: bool = False
    axis_name: str | None = None
    nodes_are_sharded: bool = False

    @property
    def by_receiver(self) -> dict[str, Any]:
        """What an aggregation over receivers is told."""
        told: dict[str, Any] = {}
        if self.receivers_are_sorted:
            told["indices_are_sorted"] = True
        return told if self.nodes_are_sharded else told | self.by_edge

    @property
    def by_edge(self) -> dict[str, Any]:
        """What an aggregation over all edges is told."""
        return {} if self.axis_name is None else {"axis_name": self.axis_name}

    @property
    def by_node(self) -> dict[str, Any]:
        """What an aggregation over all nodes is told."""
        return self.by_edge if self.nodes_are_sharded else {}


def count_nodes(graph: jraph.GraphsTuple) -> int:
    """The number of nodes (of this device), known under `jit` by their features."""
    n = rows_of(graph.nodes, "nodes")
    if n is None:
        raise GraphsError(
            "nodes are None, and this network wants node features; where there are "
            "none, give it jnp.ones((number of nodes, 1))"
        )
    return n


def edge_ends(graph: jraph.GraphsTuple) -> tuple[jax.Array, jax.Array]:
    """Senders and receivers, which networks along edges cannot do without."""
    if graph.senders is None or graph.receivers is None:
        raise GraphsError(
            "senders or receivers are None, and this network goes along edges; where "
            "there are none, give it empty arrays of integers"
        )
    senders, receivers = jnp.asarray(graph.senders), jnp.asarray(graph.receivers)
    if senders.ndim != 1 or senders.shape != receivers.shape:
        raise GraphsError(
            f"senders have shape {list(senders.shape)} and receivers "
            f"{list(receivers.shape)}; wanted both [n_edge]"
        )
    return wide_integers(senders), wide_integers(receivers)


def check_globals(graph: jraph.GraphsTuple) -> None:
    """There is one row for each graph; a gather would clamp to those there are."""
    rows, n_graph = rows_of(graph.globals, "globals"), graph.n_node.shape[0]
    if rows not in (None, n_graph):
        raise GraphsError(
            f"globals have {rows} rows, and there are {n_graph} graphs; wanted one row "
            "for each"
        )


def _varies_over(x: Any) -> frozenset[str]:
    """Inside `jax.shard_map`, the axes over which devices have different values."""
    kind = jax.typeof(x)
    known = getattr(kind, "mat", None)  # vma up to jax 0.10
    return kind.vma if known is None else known.varying


def check_layout(graph: jraph.GraphsTuple, layout: EdgeLayout) -> None:
    """Edges of one graph that are spread over an axis are known to be."""
    if graph.senders is None:
        return
    axes = _varies_over(graph.senders) - _varies_over(graph.n_node)
    axes -= {layout.axis_name}
    if axes:
        raise GraphsError(
            f"senders are spread over {sorted(axes)} and n_node is not, so that these "
            "are edges of one graph, and the network's layout does not say so; give "
            "the network the layout that the function gets: layout=layout"
        )


def at_senders(graph: jraph.GraphsTuple, nodes: Any, layout: EdgeLayout) -> Any:
    """For each edge, the row of the node that it leaves."""
    check_layout(graph, layout)
    senders, _ = edge_ends(graph)

    def rows(leaf: jax.Array) -> jax.Array:
        if layout.nodes_are_sharded:
            leaf = lax.all_gather(leaf, layout.axis_name, tiled=True)
        return take_rows(leaf, senders)

    return jax.tree.map(rows, nodes)


def at_receivers(graph: jraph.GraphsTuple, nodes: Any) -> Any:
    """For each edge, the row of the node where it ends."""
    _, receivers = edge_ends(graph)
    return jax.tree.map(lambda leaf: take_rows(leaf, receivers), nodes)


def to_receivers(
    aggregate: Aggregate,
    graph: jraph.GraphsTuple,
    edges: Any,
    n: int,
    layout: EdgeLayout,
) -> Any:
    """For each node, the rows of the edges that end there, aggregated."""
    _, receivers = edge_ends(graph)

    def rows(leaf: jax.Array) -> jax.Array:
        out = aggregate(leaf, receivers, n, **layout.by_receiver)
        return _beside(out, jax.tree.leaves(graph.nodes)[0])

    return jax.tree.map(rows, edges)


def to_senders(
    aggregate: Aggregate,
    graph: jraph.GraphsTuple,
    edges: Any,
    n: int,
    layout: EdgeLayout,
) -> Any:
    """For each node, the rows of the edges that leave it, aggregated."""
    senders, _ = edge_ends(graph)

    def rows(leaf: jax.Array) -> jax.Array:
        if not layout.nodes_are_sharded:
            out = aggregate(leaf, senders, n, **layout.by_edge)
            return _beside(out, jax.tree.leaves(graph.nodes)[0])
        everywhere = n * lax.axis_size(layout.axis_name)
        whole = aggregate(leaf, senders, everywhere, **layout.by_edge)
        return own_rows(whole, n, layout)

    return jax.tree.map(rows, edges)


def to_graphs(
    aggregate: Aggregate,
    graph: jraph.GraphsTuple,
    tree: Any,
    numbers: jax.Array,
    told: dict[str, Any],
) -> Any:
    """For each graph, its rows of nodes or edges, aggregated."""
    n = graph.n_node.shape[0]

    def rows(leaf: jax.Array) -> jax.Array:
        return _beside(aggregate(leaf, numbers, n, **told), graph.n_node)

    return jax.tree.map(rows, tree)


def _beside(x: jax.Array, rows: Any) -> jax.Array:
    """Moves rows to where those of another array lie, if types say where they do."""
    out = spread(jnp.asarray(rows), x) if x.shape[:1] == rows.shape[:1] else None
    return x if out is None else jax.sharding.reshard(x, out)


def own_rows(whole: jax.Array, n: int, layout: EdgeLayout) -> jax.Array:
    """This device's n rows of an array that all devices have."""
    start = lax.axis_index(layout.axis_name) * n
    return lax.dynamic_slice_in_dim(whole, start, n)


def graph_of_nodes(
    graph: jraph.GraphsTuple, n: int, like: jax.Array, layout: EdgeLayout
) -> jax.Array:
    """The number of each node's graph, int32 [n], ascending."""
    check_layout(graph, layout)
    if not layout.nodes_are_sharded:
        return graph_numbers(graph.n_node, n, like=like)
    everywhere = n * lax.axis_size(layout.axis_name)
    return own_rows(graph_numbers(graph.n_node, everywhere), n, layout)


def graph_of_edges(
    graph: jraph.GraphsTuple, node_numbers: jax.Array | None, layout: EdgeLayout
) -> jax.Array:
    """The number of each edge's graph, int32 [n_edge]."""
    if layout.axis_name is None or node_numbers is None:
        senders, _ = edge_ends(graph)
        return graph_numbers(graph.n_edge, senders.shape[0], like=senders)
    # n_edge counts the edges of all devices; where an edge ends, its graph is known.
    _, receivers = edge_ends(graph)
    taken = take_rows(node_numbers, receivers)
    # Edges that make up the number for all devices end at no node.
    none = jnp.full((), graph.n_node.shape[0], taken.dtype)
    return jnp.where(receivers < node_numbers.shape[0], taken, none)

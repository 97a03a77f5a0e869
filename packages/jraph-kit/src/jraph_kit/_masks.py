"""Which rows of a batch belong to real graphs, and to which."""

from typing import Any

import jax
import jax.numpy as jnp
import jraph

from jraph_kit._checks import check_one_batch, rows_of
from jraph_kit._errors import GraphsError
from jraph_kit._rows import (
    explicit_sharding,
    on_any_mesh,
    row_sharding,
    wide_integers,
)


def _first_rows(count: jax.Array, rows: int, like: Any) -> jax.Array:
    """Bool [rows], True for the first `count`, sharded as the rows of `like`."""
    mask = jnp.arange(rows, dtype=jnp.int32) < count
    lies = explicit_sharding(like)
    if lies is None:
        return mask
    spec = jax.sharding.PartitionSpec(lies.spec[0])
    return jax.sharding.reshard(mask, jax.sharding.NamedSharding(lies.mesh, spec))


def graph_mask(graphs: jraph.GraphsTuple, n_real: Any) -> jax.Array:
    """Bool [n_graph], True for the first n_real graphs."""
    check_one_batch(graphs)
    real = jnp.asarray(n_real)
    if real.ndim or not jnp.issubdtype(real.dtype, jnp.integer):
        raise GraphsError(
            f"n_real is {real.dtype}{list(real.shape)}; wanted an integer"
        )
    like = jnp.asarray(graphs.n_node)
    return _first_rows(real.astype(jnp.int32), like.shape[0], like)


def _real_nodes(graphs: jraph.GraphsTuple, n_real: Any) -> jax.Array:
    # In int32 also with x64, and where lengths are bytes.
    lengths = jnp.asarray(graphs.n_node).astype(jnp.int32)
    real = graph_mask(graphs, n_real)
    return jnp.sum(jnp.where(real, lengths, jnp.int32(0)), dtype=jnp.int32)


def node_mask(graphs: jraph.GraphsTuple, n_real: Any) -> jax.Array:
    """Bool [n_node], True for the nodes of the first n_real graphs."""
    count = _real_nodes(graphs, n_real)
    rows = rows_of(graphs.nodes, "nodes")
    if rows is None:
        raise GraphsError(
            "nodes are None, so their number is unknown under jit; give the graphs "
            "node features, such as jnp.zeros((number of nodes, 0))"
        )
    return _first_rows(count, rows, jnp.asarray(jax.tree.leaves(graphs.nodes)[0]))


def edge_mask(graphs: jraph.GraphsTuple, n_real: Any) -> jax.Array:
    """Bool [n_edge], True for the edges that leave a node of the first n_real graphs.

    Told by senders, not by n_edge: edges that `spread_nodes` adds lie between others.
    """
    count = _real_nodes(graphs, n_real)
    senders = _senders(graphs)
    return (senders >= 0) & (senders < count.astype(senders.dtype))


def edge_graph_numbers(graphs: jraph.GraphsTuple) -> jax.Array:
    """The number of the graph that each edge leaves, int32 [n_edge]."""

    def numbers(lengths: jax.Array, senders: jax.Array) -> jax.Array:
        ends = jnp.cumsum(lengths.astype(senders.dtype))
        return jnp.searchsorted(ends, senders, side="right").astype(jnp.int32)

    senders, lengths = _senders(graphs), jnp.asarray(graphs.n_node)
    return on_any_mesh(numbers, row_sharding(senders, lengths), lengths, senders)


def _senders(graphs: jraph.GraphsTuple) -> jax.Array:
    if graphs.senders is None:
        raise GraphsError(
            "senders are None; where there are no edges, give empty arrays of integers"
        )
    return wide_integers(jnp.asarray(graphs.senders))

"""Losses over some of the nodes, edges or graphs, also under padding and on devices.

A mean over a batch that is spread over devices is not the mean of the devices' means,
as they hold different numbers of rows. Here sums and counts are added up first. Under
`jit` with sharded arrays that needs nothing; inside `jax.shard_map` name the axis.
"""

from typing import Any

import jax
import jax.numpy as jnp
import jraph
from jax import lax

from jraph_kit._batch import Batch
from jraph_kit._errors import GraphsError
from jraph_kit._masks import edge_graph_numbers, edge_mask, graph_mask, node_mask
from jraph_kit._rows import graph_numbers
from jraph_kit._segments import (
    _accumulator,
    _Axis,
    _float,
    _ids,
    segment_mean,
    segment_sum,
)


def masked_mean(values: Any, mask: Any, *, axis_name: _Axis = None) -> jax.Array:
    """Averages the rows where a mask is True.

    Rows where it is False do not matter, NaN included, and get no gradient.

    Args:
      values: [n, ...], one loss a row; other axes are averaged too.
      mask: bool [n].
      axis_name: inside `jax.shard_map`, the axis over which rows are spread.

    Returns:
      A scalar, float32 or wider; 0 where no row is chosen.

    Raises:
      GraphsError: if there is not one loss a row, or the mask is not of booleans, one a
        row; so do the other losses.

    Example:
      >>> masked_mean([1.0, jnp.nan, 3.0], [True, False, True])
      Array(2., dtype=float32)
    """
    values, mask = _float(values), _booleans(mask)
    if values.shape[: mask.ndim] != mask.shape:
        raise GraphsError(
            f"losses have shape {list(values.shape)}, and the mask "
            f"{list(mask.shape)}; wanted one loss a row, not yet averaged"
        )
    values = values.astype(_accumulator(values.dtype))
    beside = mask.reshape(mask.shape + (1,) * (values.ndim - mask.ndim))
    total = jnp.sum(jnp.where(beside, values, jnp.zeros((), values.dtype)))
    count = jnp.sum(mask.astype(values.dtype)) * (values.size // max(mask.size, 1))
    if axis_name is not None:
        total, count = lax.psum((total, count), axis_name)
    return total / jnp.maximum(count, 1)


def _booleans(mask: Any, shape: tuple[int, ...] | None = None) -> jax.Array:
    """A mask: of numbers it is unclear whether they are weights."""
    found = jnp.asarray(mask)
    if found.shape == (0,):  # of an empty list jax makes floats
        found = found.astype(jnp.bool_)
    if found.dtype != jnp.bool_ or shape not in (None, found.shape):
        rows = "" if shape is None else f" of shape {list(shape)}"
        raise GraphsError(
            f"mask is {found.dtype}{list(found.shape)}; wanted booleans{rows}, such as "
            "mask > 0"
        )
    return found


def _both(mask: jax.Array, chosen: Any) -> jax.Array:
    return mask if chosen is None else mask & _booleans(chosen, mask.shape)


def _real(batch: Batch | jraph.GraphsTuple) -> tuple[jraph.GraphsTuple, Any]:
    if isinstance(batch, Batch):
        return batch.graphs, batch.n_real
    return batch, batch.n_node.shape[0]


def _mean(
    losses: Any,
    mask: jax.Array,
    numbers: jax.Array | None,
    graphs: jraph.GraphsTuple,
    axis_name: _Axis,
) -> jax.Array:
    """Over rows, or with graph numbers over graphs that have some."""
    if numbers is None:
        return masked_mean(losses, mask, axis_name=axis_name)
    n = graphs.n_node.shape[0]
    means = partition_means(losses, numbers, n, mask=mask)
    some = segment_sum(mask, numbers, n) > 0
    return masked_mean(means, some, axis_name=axis_name)


def node_loss(
    losses: Any,
    batch: Batch | jraph.GraphsTuple,
    *,
    mask: Any = None,
    per_graph: bool = False,
    axis_name: _Axis = None,
) -> jax.Array:
    """Averages a loss over nodes of real graphs.

    For the training nodes of one large graph, give their mask.

    Args:
      losses: [n_node, ...], one a node.
      batch: the graphs; a `GraphsTuple` is taken to have no padding.
      mask: bool [n_node], which nodes count; None for all.
      per_graph: whether to average within each graph first, so that large graphs do
        not count more; graphs without such nodes are left out.
      axis_name: inside `jax.shard_map`, the axis over which batches are spread.

    Returns:
      A scalar, float32 or wider; 0 where no node is chosen.

    Example:
      >>> import jraph_kit
      >>> two = jraph_kit.get_fully_connected_graph(1, 2, jnp.ones((2, 3)))
      >>> node_loss([4.0, 6.0], Batch(two, 1))
      Array(4., dtype=float32)
    """
    graphs, n_real = _real(batch)
    chosen = _both(node_mask(graphs, n_real), mask)
    rows = chosen.shape[0]
    numbers = graph_numbers(graphs.n_node, rows, like=chosen) if per_graph else None
    return _mean(losses, chosen, numbers, graphs, axis_name)


def edge_loss(
    losses: Any,
    batch: Batch | jraph.GraphsTuple,
    *,
    mask: Any = None,
    per_graph: bool = False,
    axis_name: _Axis = None,
) -> jax.Array:
    """Averages a loss over edges of real graphs.

    Args:
      losses: [n_edge, ...], one an edge.
      batch: the graphs; a `GraphsTuple` is taken to have no padding.
      mask: bool [n_edge], which edges count; None for all.
      per_graph: whether to average within each graph first.
      axis_name: inside `jax.shard_map`, the axis over which batches are spread.

    Returns:
      A scalar, float32 or wider; 0 where no edge is chosen.

    Example:
      >>> import jraph_kit
      >>> two = jraph_kit.get_fully_connected_graph(1, 2)
      >>> edge_loss([4.0, 6.0], two, mask=[False, True])
      Array(6., dtype=float32)
    """
    graphs, n_real = _real(batch)
    chosen = _both(edge_mask(graphs, n_real), mask)
    numbers = edge_graph_numbers(graphs) if per_graph else None
    return _mean(losses, chosen, numbers, graphs, axis_name)


def graph_loss(
    losses: Any,
    batch: Batch | jraph.GraphsTuple,
    *,
    mask: Any = None,
    axis_name: _Axis = None,
) -> jax.Array:
    """Averages a loss over real graphs.

    Args:
      losses: [n_graph, ...], one a graph.
      batch: the graphs; a `GraphsTuple` is taken to have no padding.
      mask: bool [n_graph], which graphs count; None for all.
      axis_name: inside `jax.shard_map`, the axis over which batches are spread.

    Returns:
      A scalar, float32 or wider; 0 where no graph is chosen.

    Example:
      >>> import jraph_kit
      >>> two = jraph_kit.get_fully_connected_graph(1, 2)
      >>> graph_loss([4.0, jnp.nan], Batch(two, 1))
      Array(4., dtype=float32)
    """
    graphs, n_real = _real(batch)
    chosen = _both(graph_mask(graphs, n_real), mask)
    return masked_mean(losses, chosen, axis_name=axis_name)


def partition_means(
    values: Any,
    partition: Any,
    n_partitions: int,
    *,
    mask: Any = None,
    axis_name: _Axis = None,
) -> jax.Array:
    """Averages rows within each part of a partition, all parts at once.

    Such as the losses of training, validation and test nodes: number the parts 0, 1
    and 2, and give -1 to what is in none.

    Args:
      values: [n, ...], one loss a row; other axes are averaged too.
      partition: integers [n], each row's part.
      n_partitions: how many parts.
      mask: bool [n], rows that count, such as `batch.node_mask`; None for all.
      axis_name: inside `jax.shard_map`, the axis over which rows are spread.

    Returns:
      [n_partitions], float32 or wider; 0 where a part is empty.

    Example:
      >>> partition_means([1.0, 3.0, 9.0, 5.0], jnp.array([0, 0, -1, 1]), 2)
      Array([2., 5.], dtype=float32)
    """
    values, parts = _float(values), _ids(partition)
    wide = values.astype(_accumulator(values.dtype))
    rows = wide.mean(axis=tuple(range(1, wide.ndim)))
    if mask is not None:
        none = jnp.full((), n_partitions, parts.dtype)
        parts = jnp.where(_booleans(mask, parts.shape), parts, none)
    return segment_mean(rows, parts, n_partitions, axis_name=axis_name)

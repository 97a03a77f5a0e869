"""Graphs over devices: one batch each, or one large graph with its edges spread.

The functions wrap `jax.shard_map`, so that what moves between devices is what is said
here, whatever the mesh.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, Literal

import jax
import jraph
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from jraph_kit._batch import Batch
from jraph_kit._checks import check_count
from jraph_kit._errors import GraphsError
from jraph_kit._host import checked_host, host_graphs
from jraph_kit._layout import EdgeLayout

_Function = Callable[[Any, jraph.GraphsTuple, EdgeLayout], jraph.GraphsTuple]


def graph_parallel(
    function: Callable[[Any, Batch], Any], mesh: Mesh, *, axis: str = "data"
) -> Callable[[Any, Batch], Any]:
    """Gives each device a padded batch of its own.

    Nothing moves between devices but what the function reduces: let it end in losses
    with `axis_name=axis`. The gradient by the parameters is then added up by one more
    reduction.

    Args:
      function: (parameters, batch) -> values that are the same on all devices.
      mesh: the devices.
      axis: of the mesh, over which batches are spread.

    Returns:
      A function of parameters, which every device has, and of a batch whose leaves have
      a first axis of the mesh axis's size, as `batches(n_devices=...)` makes it.

    Raises:
      GraphsError: if the mesh has no such axis; on call, if the first axis of a leaf is
        not as long as the mesh's.

    Example:
      >>> import jax.numpy as jnp, jraph_kit
      >>> mesh = jax.make_mesh((1,), ("data",), devices=jax.devices()[:1])
      >>> loss = graph_parallel(
      ...     lambda w, b: jraph_kit.node_loss(w * b.graphs.nodes, b, axis_name="data"),
      ...     mesh,
      ... )
      >>> graph = jraph_kit.from_coo([0], [1], n_node=2, nodes=np.ones(2))
      >>> batch = jraph_kit.Batch(graph, np.int32(1))
      >>> jax.jit(loss)(jnp.float32(3), jax.tree.map(lambda x: x[None], batch))
      Array(3., dtype=float32)
    """
    n = _size(mesh, axis)

    def own(params: Any, stacked: Batch) -> Any:
        return function(params, jax.tree.map(lambda leaf: leaf[0], stacked))

    each, all_ = PartitionSpec(axis), PartitionSpec()
    mapped = _mapped(own, mesh, (all_, each), all_)

    def call(params: Any, stacked: Batch) -> Any:
        for leaf in jax.tree.leaves(stacked):
            if np.shape(leaf)[:1] != (n,):
                raise GraphsError(
                    f"a leaf of the batch has shape {list(np.shape(leaf))}, and the "
                    f"mesh has {n} devices along {axis!r}; wanted one batch for each: "
                    f"batches(..., n_devices={n})"
                )
        return mapped(params, stacked)

    return call


def _size(mesh: Mesh, axis: str) -> int:
    if axis not in mesh.shape:
        raise GraphsError(f"axis is {axis!r}, and the mesh has {mesh.axis_names}")
    return mesh.shape[axis]


def _mapped(
    function: Callable[..., Any], mesh: Mesh, in_specs: tuple[Any, Any], out_specs: Any
) -> Callable[[Any, Any], Any]:
    """`jax.shard_map` that also moves its arguments to where they are wanted."""
    inner = jax.shard_map(function, mesh=mesh, in_specs=in_specs, out_specs=out_specs)
    if AxisType.Explicit not in mesh.axis_types:
        return inner

    def placed(spec: PartitionSpec, tree: Any) -> Any:
        return jax.sharding.reshard(tree, NamedSharding(mesh, spec))

    def call(params: Any, graphs: Any) -> Any:
        moved = jax.tree.map(placed, in_specs, (params, graphs))
        return inner(*moved)

    return call


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False)
class Spread:
    """A graph whose rows divide among devices: a pytree for `jit`.

    Edges are no longer in the order of the graph: `edge_ids` leads back. Losses over
    edges count no rows that were added.

    Attributes:
      graphs: with rows added that belong to no graph: their senders and receivers are
        out of range, so that they are dropped from every sum.
      edge_ids: integers, the number that each edge had, -1 for rows added.
      n_devices: among how many.
      rows: which rows are spread, "edges" or "nodes", each with its edges.
    """

    graphs: jraph.GraphsTuple
    edge_ids: Any
    n_devices: int = dataclasses.field(metadata={"static": True})
    rows: Literal["edges", "nodes"] = dataclasses.field(metadata={"static": True})


def _longer(tree: Any, rows: np.ndarray) -> Any:
    """Leaves with the given rows; zeros where the row is -1."""

    def taken(leaf: np.ndarray) -> np.ndarray:
        out = np.zeros((len(rows), *leaf.shape[1:]), leaf.dtype)
        out[rows >= 0] = leaf[rows[rows >= 0]]
        return out

    return jax.tree.map(taken, tree)


def spread_edges(graphs: jraph.GraphsTuple, n_devices: int) -> Spread:
    """Makes the number of edges divide among devices, on the host, for `edge_sharded`.

    Args:
      graphs: one large graph, or several, without padding.
      n_devices: among how many.

    Returns:
      The graphs, edges in their order, less than `n_devices` rows added.

    Raises:
      GraphsError: if `n_devices` is less than 1, rows do not add up, or an edge ends at
        no node.

    Example:
      >>> import jraph_kit
      >>> spread_edges(jraph_kit.from_coo([0], [1], n_node=2), 2).graphs.receivers
      array([1, 2], dtype=int32)
    """
    check_count("n_devices", n_devices)
    host = checked_host(graphs, "spread_edges", with_ends=True)
    n_edge, n_node = len(host.senders), int(host.n_node.sum())
    ids = np.full(-(-n_edge // n_devices) * n_devices, -1)
    ids[:n_edge] = np.arange(n_edge)
    ends = {
        name: np.where(ids >= 0, _longer(getattr(host, name), ids), n_node)
        for name in ("senders", "receivers")
    }
    ends = {name: found.astype(np.int32) for name, found in ends.items()}
    spread = ends | {"edges": _longer(host.edges, ids)}
    return Spread(host._replace(**spread), ids, n_devices, "edges")


def spread_nodes(graphs: jraph.GraphsTuple, n_devices: int) -> Spread:
    """Gives each device a run of nodes and the edges that end there, on the host.

    Devices have as many rows as the one with the most edges; where some nodes have far
    more than others, shuffle the nodes first.

    Args:
      graphs: one large graph, or several, without padding.
      n_devices: among how many.

    Returns:
      The graphs for `node_sharded`: senders count through all nodes, receivers through
      the device's own.

    Raises:
      GraphsError: if `n_devices` is less than 1, rows do not add up, or an edge ends at
        no node.

    Example:
      >>> import jraph_kit
      >>> spread_nodes(jraph_kit.from_coo([0, 1], [1, 0], n_node=2), 2).graphs.receivers
      array([0, 0], dtype=int32)
    """
    check_count("n_devices", n_devices)
    host = checked_host(graphs, "spread_nodes", with_ends=True)
    n_node = int(host.n_node.sum())
    own = -(-n_node // n_devices)
    order = np.argsort(host.receivers, kind="stable")
    device = host.receivers[order] // max(own, 1)
    counts = np.bincount(device, minlength=n_devices)
    most = int(counts.max(initial=0))
    place = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    ids = np.full(n_devices * most, -1)
    ids[device * most + place] = order
    real = ids >= 0
    senders = np.where(real, _longer(host.senders, ids), own * n_devices)
    receivers = np.where(real, _longer(host.receivers, ids) % max(own, 1), own)
    nodes = np.full(own * n_devices, -1)
    nodes[:n_node] = np.arange(n_node)
    spread = {
        "nodes": _longer(host.nodes, nodes),
        "edges": _longer(host.edges, ids),
        "senders": senders.astype(np.int32),
        "receivers": receivers.astype(np.int32),
    }
    return Spread(host._replace(**spread), ids, n_devices, "nodes")


def edge_sharded(
    function: _Function, mesh: Mesh, *, axis: str = "data"
) -> Callable[[Any, Spread], jraph.GraphsTuple]:
    """Runs a network with the edges of one large graph spread over devices.

    Every device has all nodes and globals, and updates its own edges. Each aggregation
    of edges is one all-reduce over nodes or graphs.

    Args:
      function: (parameters, graph, layout) -> graph, made of networks that are given
        the layout.
      mesh: the devices.
      axis: of the mesh, over which edges are spread.

    Returns:
      A function of parameters and what `spread_edges` gives, to the graph.

    Raises:
      GraphsError: if the mesh has no such axis; on call, if the graph was spread in
        another way, or a network was not given the layout.

    Example:
      >>> import jraph_kit
      >>> mesh = jax.make_mesh((1,), ("data",), devices=jax.devices()[:1])
      >>> net = edge_sharded(
      ...     lambda _, graph, layout: jraph_kit.GIN(lambda x: x, layout=layout)(graph),
      ...     mesh,
      ... )
      >>> graph = jraph_kit.from_coo([0], [1], n_node=2, nodes=np.ones((2, 1)))
      >>> jax.jit(net)((), spread_edges(graph, 1)).nodes.tolist()
      [[1.0], [2.0]]
    """
    return _sharded(function, mesh, EdgeLayout(axis_name=axis))


def node_sharded(
    function: _Function, mesh: Mesh, *, axis: str = "data"
) -> Callable[[Any, Spread], jraph.GraphsTuple]:
    """Runs a network with nodes and edges of one large graph spread over devices.

    Each device updates its own nodes, from edges that are its own too. What is gathered
    from all devices is the nodes that send, once for each layer; the memory for them is
    the price. Networks that aggregate at senders (`GraphNetwork` with an update that
    uses sent edges, and `GraphConvolution`'s degrees) need one all-reduce more.

    Args:
      function: (parameters, graph, layout) -> graph, made of networks that are given
        the layout.
      mesh: the devices.
      axis: of the mesh, over which nodes and edges are spread.

    Returns:
      A function of parameters and what `spread_nodes` gives, to the graph.

    Raises:
      GraphsError: if the mesh has no such axis; on call, if the graph was spread in
        another way, or a network was not given the layout.

    Example:
      >>> import jraph_kit
      >>> mesh = jax.make_mesh((1,), ("data",), devices=jax.devices()[:1])
      >>> net = node_sharded(
      ...     lambda _, graph, layout: jraph_kit.GIN(lambda x: x, layout=layout)(graph),
      ...     mesh,
      ... )
      >>> graph = jraph_kit.from_coo([0], [1], n_node=2, nodes=np.ones((2, 1)))
      >>> jax.jit(net)((), spread_nodes(graph, 1)).nodes.tolist()
      [[1.0], [2.0]]
    """
    layout = EdgeLayout(axis_name=axis, nodes_are_sharded=True)
    return _sharded(function, mesh, layout)


def _sharded(
    function: _Function, mesh: Mesh, layout: EdgeLayout
) -> Callable[[Any, Spread], jraph.GraphsTuple]:
    assert layout.axis_name is not None  # noqa: S101 (the callers set it)
    n = _size(mesh, layout.axis_name)
    rows = "nodes" if layout.nodes_are_sharded else "edges"
    each, all_ = PartitionSpec(layout.axis_name), PartitionSpec()
    lies = host_graphs(
        nodes=each if layout.nodes_are_sharded else all_,
        edges=each,
        senders=each,
        receivers=each,
        globals=all_,
        n_node=all_,
        n_edge=all_,
    )
    mapped = _mapped(
        lambda params, graph: function(params, graph, layout), mesh, (all_, lies), lies
    )

    def call(params: Any, spread: Spread) -> jraph.GraphsTuple:
        if not isinstance(spread, Spread) or spread.rows != rows:
            kind = type(spread).__name__
            kind += f" of {spread.rows}" if isinstance(spread, Spread) else ""
            raise GraphsError(
                f"the graph is a {kind}; wanted what spread_{rows}(graph, {n}) gives"
            )
        # Edges of more parts are whole on fewer devices; nodes number by the part.
        if spread.n_devices % n if rows == "edges" else spread.n_devices != n:
            raise GraphsError(
                f"the graph is spread for {spread.n_devices} devices, and the mesh has "
                f"{n} along {layout.axis_name!r}; type spread_{rows}(graph, {n})"
            )
        return mapped(params, spread.graphs)

    return call

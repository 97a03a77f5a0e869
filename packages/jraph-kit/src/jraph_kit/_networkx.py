"""One graph from networkx, and back; needs the extra `networkx`."""

from collections.abc import Mapping, Sequence
from typing import Any

import jraph
import numpy as np

from jraph_kit._adjacency import from_coo
from jraph_kit._checks import check_flat
from jraph_kit._errors import GraphsError, require


def from_networkx(
    graph: Any,
    *,
    nodes: Sequence[str] | str | None = None,
    edges: Sequence[str] | str | None = None,
    globals: Any = None,  # noqa: A002 (jraph's name)
) -> jraph.GraphsTuple:
    """Makes a `GraphsTuple` from a networkx graph of any of its four kinds.

    Nodes are numbered in the order of `graph.nodes`. An undirected edge becomes two
    edges, one each way; a loop stays one.

    Args:
      graph: a `networkx.Graph`, `DiGraph`, `MultiGraph` or `MultiDiGraph`.
      nodes: the attribute that holds each node's features, or several, which then are
        a dict of arrays.
      edges: the same for edges.
      globals: features [1, ...], or None.

    Returns:
      One graph, as NumPy arrays.

    Raises:
      GraphsError: if a node or an edge lacks an attribute, or values differ in shape.
      ImportError: if networkx is not installed.

    Example:
      >>> import networkx as nx
      >>> from_networkx(nx.path_graph(3)).senders
      array([0, 1, 1, 2], dtype=int32)
    """
    require("networkx", extra="networkx")
    numbers = {node: i for i, node in enumerate(graph.nodes)}
    found = list(graph.edges(data=True))
    pairs = np.array([(numbers[u], numbers[v]) for u, v, _ in found], np.int64)
    pairs = pairs.reshape(-1, 2)
    values = [data for _, _, data in found]
    if not graph.is_directed():
        twice = np.flatnonzero(pairs[:, 0] != pairs[:, 1])
        places = np.concatenate([np.arange(len(pairs)), twice])
        order = np.argsort(places, kind="stable")
        pairs = np.concatenate([pairs, pairs[twice, ::-1]])[order]
        doubled = [*values, *(values[i] for i in twice)]
        values = [doubled[i] for i in order]
    names = [(u, v) for u, v in pairs.tolist()]
    return from_coo(
        pairs[:, 0],
        pairs[:, 1],
        n_node=len(numbers),
        nodes=_attributes("node", nodes, list(graph.nodes.values()), list(numbers)),
        edges=_attributes("edge", edges, values, names),
        globals=globals,
    )


def _attributes(kind: str, keys: Any, rows: list[Any], names: list[Any]) -> Any:
    if keys is None:
        return None
    if not isinstance(keys, str):
        return {key: _attributes(kind, key, rows, names) for key in keys}
    for row, name in zip(rows, names, strict=True):
        if keys not in row:
            raise GraphsError(
                f"{kind} {name!r} has no attribute {keys!r}; it has {list(row)}"
            )
    shapes = [np.shape(row[keys]) for row in rows]
    for shape, name in zip(shapes, names, strict=True):
        if shape != shapes[0]:
            raise GraphsError(
                f"{kind} {name!r} has {keys!r} of shape {list(shape)}, and the first "
                f"has {list(shapes[0])}"
            )
    return np.asarray([row[keys] for row in rows])


def to_networkx(graph: jraph.GraphsTuple) -> Any:
    """Gives a networkx `MultiDiGraph` with the features as attributes.

    Args:
      graph: one or several, which then are parts of one networkx graph. A feature that
        is a dict gives one attribute a name, any other the attribute `"features"`.

    Returns:
      A `networkx.MultiDiGraph`; its graph attributes hold `globals`.

    Raises:
      GraphsError: if features are neither an array nor a dict of arrays.
      ImportError: if networkx is not installed.

    Example:
      >>> import jraph_kit
      >>> to_networkx(jraph_kit.from_coo([0, 1], [1, 0], n_node=2)).number_of_edges()
      2
    """
    networkx = require("networkx", extra="networkx")
    out = networkx.MultiDiGraph()
    rows = range(int(np.sum(graph.n_node)))
    out.add_nodes_from(zip(rows, _rows("nodes", graph.nodes, len(rows)), strict=True))
    senders, receivers = np.asarray(graph.senders), np.asarray(graph.receivers)
    features = _rows("edges", graph.edges, len(senders))
    ends = zip(senders.tolist(), receivers.tolist(), features, strict=True)
    out.add_edges_from(ends)
    if graph.globals is not None:
        out.graph["globals"] = graph.globals
    return out


def _rows(name: str, tree: Any, n: int) -> list[dict[str, Any]]:
    if tree is None:
        return [{} for _ in range(n)]
    check_flat(name, tree)
    columns = tree if isinstance(tree, Mapping) else {"features": tree}
    arrays = {name: np.asarray(column) for name, column in columns.items()}
    return [{name: array[i] for name, array in arrays.items()} for i in range(n)]

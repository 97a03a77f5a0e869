"""One graph from its adjacency (pairs, compressed rows, a matrix), and back.

The convention is A[sender, receiver]: row i of the matrix has what node i sends.
"""

from typing import Any

import jax
import jraph
import numpy as np

from jraph_kit._checks import check_count, check_lengths
from jraph_kit._columns import from_columns
from jraph_kit._errors import GraphsError


def from_coo(
    senders: Any,
    receivers: Any,
    *,
    n_node: int,
    nodes: Any = None,
    edges: Any = None,
    globals: Any = None,  # noqa: A002 (jraph's name)
) -> jraph.GraphsTuple:
    """Makes one graph from the two ends of each edge.

    Args:
      senders: integers [n_edge] in [0, n_node).
      receivers: integers [n_edge] in [0, n_node).
      n_node: the number of nodes.
      nodes: features [n_node, ...], a dict of such, or None.
      edges: features [n_edge, ...], a dict of such, or None.
      globals: features [1, ...], a pytree of such, or None.

    Returns:
      A `GraphsTuple` of one graph, as NumPy arrays.

    Raises:
      GraphsError: if an edge ends outside the graph or rows do not add up.

    Example:
      >>> from_coo([0, 1], [1, 0], n_node=2).n_edge
      array([2], dtype=int32)
    """

    def column(tree: Any, rows: int) -> Any:
        if isinstance(tree, dict):
            return {name: column(leaf, rows) for name, leaf in tree.items()}
        return None if tree is None else (tree, [rows])

    check_count("n_node", n_node, least=0)
    senders, receivers = np.atleast_1d(senders), np.atleast_1d(receivers)
    return from_columns(
        senders=(senders, [len(senders)]),
        receivers=(receivers, [len(receivers)]),
        nodes=column(nodes, n_node),
        n_node=[n_node],
        edges=column(edges, len(senders)),
        globals=globals,
    )


def to_coo(graph: jraph.GraphsTuple) -> tuple[np.ndarray, np.ndarray]:
    """Gives the two ends of each edge, counted through all graphs.

    Args:
      graph: one or several.

    Returns:
      senders and receivers, integers [n_edge].

    Example:
      >>> to_coo(from_coo([0, 1], [1, 0], n_node=2))
      (array([0, 1], dtype=int32), array([1, 0], dtype=int32))
    """
    return np.asarray(graph.senders), np.asarray(graph.receivers)


def from_csr(
    indptr: Any,
    indices: Any,
    data: Any = None,
    *,
    nodes: Any = None,
    globals: Any = None,  # noqa: A002 (jraph's name)
) -> jraph.GraphsTuple:
    """Makes one graph from compressed rows, such as SciPy's `csr_array` holds.

    Args:
      indptr: integers [n_node + 1], where each sender's edges start.
      indices: integers [n_edge], the receivers.
      data: edge features [n_edge, ...], or None.
      nodes: features [n_node, ...], a dict of such, or None.
      globals: features [1, ...], a pytree of such, or None.

    Returns:
      A `GraphsTuple` of one graph, edges in the order of the rows.

    Raises:
      GraphsError: if `indptr` does not rise from 0 to the number of indices.

    Example:
      >>> from_csr([0, 1, 2], [1, 0]).senders
      array([0, 1], dtype=int32)
    """
    indptr, indices = np.asarray(indptr), np.asarray(indices)
    if indptr.ndim != 1 or len(indptr) < 1 or indptr.dtype.kind not in "iu":
        raise GraphsError(
            f"indptr is {indptr.dtype}{list(indptr.shape)}; wanted integers "
            "[n_node + 1]"
        )
    degrees = check_lengths("indptr, as differences", np.diff(indptr.astype(np.int64)))
    if indptr[0] != 0 or indptr[-1] != len(indices):
        raise GraphsError(
            f"indptr goes from {indptr[0]} to {indptr[-1]}; wanted 0 to the number of "
            f"indices, {len(indices)}"
        )
    senders = np.repeat(np.arange(len(degrees)), degrees)
    return from_coo(
        senders, indices, n_node=len(degrees), edges=data, nodes=nodes, globals=globals
    )


def to_csr(graph: jraph.GraphsTuple) -> tuple[np.ndarray, np.ndarray, Any]:
    """Gives compressed rows by sender: where each node's edges start and where they go.

    Args:
      graph: one or several; nodes count through all of them.

    Returns:
      indptr [n_node + 1], indices [n_edge] and the edge features in that order (None
      where there are none). Edges of one sender keep their order.

    Example:
      >>> to_csr(from_coo([1, 0], [0, 1], n_node=2))[:2]
      (array([0, 1, 2]), array([1, 0], dtype=int32))
    """
    senders, receivers = to_coo(graph)
    order = np.argsort(senders, kind="stable")
    n_node = int(np.sum(graph.n_node))
    indptr = np.zeros(n_node + 1, np.int64)
    np.cumsum(np.bincount(senders, minlength=n_node), out=indptr[1:])
    data = jax.tree.map(lambda leaf: np.asarray(leaf)[order], graph.edges)
    return indptr, receivers[order], data


def from_dense(
    adjacency: Any,
    *,
    nodes: Any = None,
    globals: Any = None,  # noqa: A002 (jraph's name)
) -> jraph.GraphsTuple:
    """Makes one graph of the entries of a matrix that are not zero.

    Args:
      adjacency: [n_node, n_node], booleans, or weights that become `edges` [n_edge].
      nodes: features [n_node, ...], a dict of such, or None.
      globals: features [1, ...], a pytree of such, or None.

    Returns:
      A `GraphsTuple` of one graph, edges by rows.

    Raises:
      GraphsError: if the matrix is not square.

    Example:
      >>> from_dense([[0.0, 0.5], [0.0, 0.0]]).edges
      array([0.5], dtype=float32)
    """
    matrix = np.asarray(adjacency)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise GraphsError(f"adjacency has shape {list(matrix.shape)}; wanted a square")
    senders, receivers = np.nonzero(matrix)
    weights = None if matrix.dtype == np.bool_ else matrix[senders, receivers]
    return from_coo(
        senders,
        receivers,
        n_node=len(matrix),
        edges=weights,
        nodes=nodes,
        globals=globals,
    )


def to_dense(graph: jraph.GraphsTuple) -> np.ndarray:
    """Gives the adjacency matrix, block by block where there are several graphs.

    Args:
      graph: whose `edges` are one number each, or None for ones.

    Returns:
      [n_node, n_node] of the weights' dtype, booleans without weights. Weights of
      parallel edges add up.

    Raises:
      GraphsError: if edges have more than one number, or integers add up to more than
        their dtype holds.

    Example:
      >>> to_dense(from_coo([0, 1], [1, 1], n_node=2))
      array([[False,  True],
             [False,  True]])
    """
    senders, receivers = to_coo(graph)
    n_node = int(np.sum(graph.n_node))
    if graph.edges is None:
        matrix = np.zeros((n_node, n_node), np.bool_)
        matrix[senders, receivers] = True
        return matrix
    leaves = jax.tree.leaves(graph.edges)
    shapes = [tuple(np.shape(leaf)) for leaf in leaves]
    if shapes != [senders.shape]:
        raise GraphsError(
            f"edges have shapes {shapes}; wanted one number for each of "
            f"{len(senders)} edges; choose with graph._replace(edges=...)"
        )
    weights = np.asarray(leaves[0])
    # Narrow floats are added up in wider ones, and integers to see whether they fit.
    exact = weights.dtype.kind in "iu"
    wide = np.int64 if exact else np.result_type(weights.dtype, np.float32)
    wide = np.bool_ if weights.dtype == np.bool_ else wide
    matrix = np.zeros((n_node, n_node), wide)
    np.add.at(matrix, (senders, receivers), weights.astype(wide))
    found = matrix.astype(weights.dtype)
    if exact and (found != matrix).any():
        row, column = np.argwhere(found != matrix)[0]
        raise GraphsError(
            f"the edges from node {row} to node {column} add up to "
            f"{matrix[row, column]}, which {weights.dtype} cannot hold; widen them: "
            "graph._replace(edges=edges.astype(...))"
        )
    return found

import numpy as np
import pytest

import jraph_kit as jk
from jraph_kit import (
    GraphsError,
    batch,
    from_coo,
    from_csr,
    from_dense,
    to_coo,
    to_csr,
    to_dense,
)


@pytest.fixture
def matrix():
    rng = np.random.default_rng(0)
    return (rng.random((5, 5)) * (rng.random((5, 5)) < 0.4)).astype("float32")


def test_dense_there_and_back(matrix):
    np.testing.assert_array_equal(to_dense(from_dense(matrix)), matrix)
    graph = from_dense(matrix > 0)
    assert graph.edges is None
    np.testing.assert_array_equal(to_dense(graph), matrix > 0)


def test_csr_there_and_back(matrix):
    indptr, indices, data = to_csr(from_dense(matrix))
    for i in range(5):
        row = slice(indptr[i], indptr[i + 1])
        np.testing.assert_array_equal(indices[row], np.flatnonzero(matrix[i]))
        np.testing.assert_array_equal(data[row], matrix[i][matrix[i] > 0])
    np.testing.assert_array_equal(to_dense(from_csr(indptr, indices, data)), matrix)


def test_coo_there_and_back():
    graph = from_coo([2, 0], [1, 1], n_node=4, nodes={"x": np.zeros((4, 1))})
    senders, receivers = to_coo(graph)
    assert (senders.tolist(), receivers.tolist()) == ([2, 0], [1, 1])
    assert graph.nodes["x"].shape == (4, 1)


def test_several_graphs_are_blocks(matrix):
    graph = from_dense(matrix)
    found = to_dense(batch([graph, graph]))
    np.testing.assert_array_equal(found[5:, 5:], matrix)
    assert not found[:5, 5:].any()


def test_weights_of_parallel_edges_add_up():
    weights = np.array([1.0, 2.0], "float32")
    assert to_dense(from_coo([0, 0], [1, 1], n_node=2, edges=weights))[0, 1] == 3


def test_errors_say_what_was_found():
    with pytest.raises(GraphsError, match=r"adjacency has shape \[2, 3\]"):
        from_dense(np.zeros((2, 3)))
    with pytest.raises(GraphsError, match="indptr goes from 0 to 3; wanted 0 to"):
        from_csr([0, 3], [0])
    with pytest.raises(GraphsError, match="graph 1 has length -1"):
        from_csr([0, 2, 1], [0])
    with pytest.raises(GraphsError, match="indptr is float64"):
        from_csr([0.0, 1.0], [0])
    with pytest.raises(GraphsError, match="wanted one number for each of 1 edges"):
        to_dense(from_coo([0], [0], n_node=1, edges=np.zeros((1, 2))))
    with pytest.raises(GraphsError, match="add up to 3, and there are 2 rows"):
        from_coo([0], [0], n_node=3, nodes=(np.zeros((2, 1))))


def test_sums_of_parallel_edges_fit_or_are_refused():
    graph = jk.from_coo([0, 0], [1, 1], n_node=2, edges=np.array([200, 55], "uint8"))
    assert jk.to_dense(graph)[0, 1] == 255
    text = r"node 0 to node 1 add up to 400, which uint8 cannot hold; widen"
    with pytest.raises(jk.GraphsError, match=text):
        jk.to_dense(graph._replace(edges=np.array([200, 200], "uint8")))
    many = jk.from_coo(
        np.zeros(300, int), np.ones(300, int), n_node=2, edges=np.ones(300, "float16")
    )
    tenths = many._replace(edges=np.full(300, 0.1, "float16"))
    assert jk.to_dense(tenths)[0, 1] == np.float16(300 * float(np.float16(0.1)))
    assert jk.to_dense(graph._replace(edges=np.array([True, True])))[0, 1]


def test_features_are_named():
    with pytest.raises(TypeError, match="unexpected keyword argument 'n_node'"):
        jk.from_dense([[0.0]], n_node=1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'edges'"):
        jk.from_csr([0, 0], [], edges=[])

import jax
import numpy as np
import pytest

import jraph_kit as jk


@pytest.mark.parametrize("loops", [True, False])
@pytest.mark.parametrize(("n", "g"), [(3, 2), (1, 3), (0, 2), (2, 0)])
def test_every_node_sends_to_every_node_of_its_graph(n, g, loops):
    graph = jk.get_fully_connected_graph(n, g, add_self_edges=loops)
    wanted = np.kron(np.eye(g), np.ones((n, n)) - (not loops) * np.eye(n)) > 0
    np.testing.assert_array_equal(jk.to_dense(graph), wanted)
    assert graph.n_node.tolist() == [n] * g
    assert graph.n_edge.tolist() == [n * (n - (not loops))] * g
    assert (np.diff(graph.receivers) >= 0).all()
    jk.validate(graph)


def test_works_under_jit():
    made = jax.jit(lambda x: jk.get_fully_connected_graph(2, 3, {"x": x}))
    graph = made(np.ones((6, 1), "float32"))
    assert graph.nodes["x"].shape == (6, 1)


def test_features_must_have_a_row_each():
    with pytest.raises(jk.GraphsError, match=r"node_features have 5 rows.*want 6"):
        jk.get_fully_connected_graph(2, 3, np.ones(5))
    with pytest.raises(jk.GraphsError, match="global_features have 2 rows"):
        jk.get_fully_connected_graph(2, 3, None, np.ones(2))
    with pytest.raises(jk.GraphsError, match="-1 nodes a graph"):
        jk.get_fully_connected_graph(-1, 3)

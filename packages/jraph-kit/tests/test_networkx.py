import networkx as nx
import numpy as np
import pytest

from jraph_kit import GraphsError, from_networkx, to_dense, to_networkx

KINDS = [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph]


@pytest.mark.parametrize("kind", KINDS)
def test_edges_are_those_of_networkx(kind):
    graph = kind()
    graph.add_edges_from([("a", "b"), ("b", "c"), ("c", "c")])
    wanted = nx.to_numpy_array(graph) > 0
    np.testing.assert_array_equal(to_dense(from_networkx(graph)), wanted)
    loops = int(wanted.trace())
    found = from_networkx(graph)
    assert int((found.senders == found.receivers).sum()) == loops


def test_features_go_with_their_edge_in_both_directions():
    graph = nx.Graph()
    graph.add_node("x", z=[1.0, 2.0])
    graph.add_node("y", z=[3.0, 4.0])
    graph.add_edge("x", "x", w=4.0)
    graph.add_edge("x", "y", w=5.0)
    graph.add_edge("y", "y", w=6.0)
    found = from_networkx(graph, nodes="z", edges=["w"])
    np.testing.assert_array_equal(found.nodes, [[1, 2], [3, 4]])
    assert found.edges["w"].tolist() == [4.0, 5.0, 5.0, 6.0]
    assert list(zip(found.senders, found.receivers, strict=True)) == [
        (0, 0),
        (0, 1),
        (1, 0),
        (1, 1),
    ]


def test_networkx_there_and_back():
    graph = from_networkx(nx.karate_club_graph(), edges="weight")
    again = from_networkx(to_networkx(graph), edges="features")
    np.testing.assert_array_equal(to_dense(again), to_dense(graph))


def test_a_missing_attribute_is_named():
    graph = nx.path_graph(2)
    graph.nodes[0]["z"] = 1.0
    with pytest.raises(GraphsError, match=r"node 1 has no attribute 'z'; it has \[\]"):
        from_networkx(graph, nodes="z")
    graph.nodes[1]["z"] = [1.0, 2.0]
    with pytest.raises(GraphsError, match=r"node 1 has 'z' of shape \[2\]"):
        from_networkx(graph, nodes="z")


def test_no_nodes_at_all():
    assert from_networkx(nx.Graph()).n_node.tolist() == [0]

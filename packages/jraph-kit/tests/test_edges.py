import numpy as np
import pytest

import jraph_kit as jk


def test_self_edges_come_behind_those_of_their_graph(some_graphs):
    graphs = some_graphs(6)
    found = jk.add_self_edges(graphs, fill=7)
    jk.validate(found)
    for one, before in zip(jk.unbatch(found), jk.unbatch(graphs), strict=True):
        n, e = int(before.n_node[0]), int(before.n_edge[0])
        assert one.n_edge.tolist() == [n + e]
        np.testing.assert_array_equal(one.senders[:e], before.senders)
        np.testing.assert_array_equal(one.senders[e:], np.arange(n))
        np.testing.assert_array_equal(one.receivers[e:], np.arange(n))
        assert (one.edges["kind"][e:] == 7).all()
        np.testing.assert_array_equal(one.edges["length"][:e], before.edges["length"])


def test_sorted_edges_are_the_same_edges(some_graphs):
    graphs = some_graphs(6)
    found = jk.sort_edges(graphs)
    jk.validate(found)
    assert (np.diff(found.receivers) >= 0).all()

    def edges(of):
        columns = of.senders, of.receivers, of.edges["kind"], of.edges["length"][:, 0]
        return sorted(zip(*columns, strict=True))

    assert edges(found) == edges(graphs)
    again = jk.sort_edges(found)
    np.testing.assert_array_equal(again.senders, found.senders)


def test_features_of_self_edges_are_of_the_edges_dtype():
    graph = jk.from_coo([0], [1], n_node=2, edges=[5])
    for fill in (0.5, np.nan, 2**40, -(2**40)):
        with pytest.raises(
            jk.GraphsError, match=r"fill is .*, and edges are int32, wh"
        ):
            jk.add_self_edges(graph, fill=fill)
    assert jk.add_self_edges(graph, fill=2.0).edges.tolist() == [5, 2, 2]
    floats = jk.from_coo([0], [1], n_node=2, edges=[[5.0, 6.0]])
    assert jk.add_self_edges(floats, fill=0.1).edges[1, 0] == np.float32(0.1)
    assert np.isnan(jk.add_self_edges(floats, fill=np.nan).edges[1]).all()

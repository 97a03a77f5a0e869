"""Layouts over devices are tested with the networks that use them."""

import pickle

import jax
import numpy as np
import pytest
from nets import graphs_of

import jraph_kit as jk
from jraph_kit._layout import count_nodes, graph_of_edges, graph_of_nodes


def test_a_layout_is_a_setting():
    layout = jk.EdgeLayout(receivers_are_sorted=True)
    assert pickle.loads(pickle.dumps(layout)) == layout
    assert hash(layout) != hash(jk.EdgeLayout())


def test_aggregations_are_told_what_is_known():
    assert jk.EdgeLayout().by_receiver == {}
    spread = jk.EdgeLayout(axis_name="data", receivers_are_sorted=True)
    assert spread.by_receiver == {"indices_are_sorted": True, "axis_name": "data"}
    assert spread.by_node == {}
    owned = spread._replace(nodes_are_sharded=True)
    assert owned.by_receiver == {"indices_are_sorted": True}
    assert owned.by_node == owned.by_edge == {"axis_name": "data"}


@pytest.mark.parametrize("axis_name", [None, "data"])
def test_rows_know_their_graph(axis_name):
    graphs = jax.tree.map(jax.numpy.asarray, graphs_of(4))
    layout = jk.EdgeLayout(axis_name=axis_name)
    nodes = graph_of_nodes(graphs, count_nodes(graphs), graphs.nodes, layout)
    edges = graph_of_edges(graphs, nodes, layout)
    each = np.arange(4)
    np.testing.assert_array_equal(nodes, np.repeat(each, graphs.n_node))
    np.testing.assert_array_equal(edges, np.repeat(each, graphs.n_edge))


def test_an_edge_has_one_end():
    nodes = np.zeros((2, 1), "float32")
    graph = jk.from_coo([0], [1], n_node=2, nodes=nodes)
    for ends in (np.zeros((1, 1), int), np.zeros(3, int)):
        with pytest.raises(jk.GraphsError, match=r"senders have shape .*; wanted both"):
            jk.GIN(lambda x: x)(graph._replace(senders=ends))

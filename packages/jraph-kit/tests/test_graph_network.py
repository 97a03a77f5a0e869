"""What the laws do not say: updates left out, pytrees, sets without edges, errors."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from nets import graphs_of

import jraph_kit as jk


def test_what_is_not_updated_stays():
    graphs = graphs_of(2)
    out = jk.GraphNetwork(None, None)(graphs)
    assert out.nodes is graphs.nodes
    assert out.edges is graphs.edges


def test_features_may_be_pytrees_or_none():
    graphs = graphs_of(2)
    tree = graphs._replace(nodes={"x": graphs.nodes, "one": graphs.nodes[:, 0]})
    tree = tree._replace(edges=None, globals=None)

    def node(nodes, sent, received, globals_):
        assert (sent, received, globals_) == (None, None, None)
        return jax.tree.map(jnp.negative, nodes)

    out = jk.GraphNetwork(None, node)(tree)
    np.testing.assert_array_equal(out.nodes["one"], -graphs.nodes[:, 0])


def test_interaction_networks_may_see_what_they_send():
    graph = jk.from_coo([0], [1], n_node=2, nodes=np.ones((2, 1), "float32"))
    out = jk.InteractionNetwork(
        lambda e, s, r: s,
        lambda n, s, r: s - r,
        include_sent_messages_in_node_update=True,
    )(graph)
    assert out.nodes.tolist() == [[1], [-1]]


def test_deep_sets_need_no_edges():
    graphs = graphs_of(2)._replace(edges=None, senders=None, receivers=None)
    out = jk.DeepSets(lambda n, g: n, lambda n: n)(graphs)
    wanted = [part.sum(0) for part in np.split(graphs.nodes, [graphs.n_node[0]])]
    np.testing.assert_allclose(out.globals, np.stack(wanted), rtol=1e-6)


def test_half_an_attention_is_an_error():
    with pytest.raises(jk.GraphsError, match="give both or neither"):
        jk.GraphNetwork(None, None, attention_logit_fn=lambda *a: a[0])


def test_networks_ask_for_node_features():
    graph = jk.from_coo([0], [1], n_node=2)
    with pytest.raises(jk.GraphsError, match="this network wants node features"):
        jk.GraphNetwork(None, None)(graph)
    lonely = graph._replace(nodes=np.ones((2, 1)), senders=None, receivers=None)
    with pytest.raises(jk.GraphsError, match="this network goes along edges"):
        jk.GIN(lambda x: x)(lonely)


def test_a_row_of_globals_for_each_graph_is_wanted():
    graphs = jk.get_fully_connected_graph(2, 1, np.ones((2, 1)), np.ones((1, 1)))
    wrong = graphs._replace(globals=np.ones((2, 1)))
    for net in (
        jk.GraphNetwork(None, lambda n, s, r, g: n + g),
        jk.DeepSets(lambda n, g: n + g, lambda n: n),
    ):
        with pytest.raises(
            jk.GraphsError, match="globals have 2 rows, and there are 1"
        ):
            net(wrong)

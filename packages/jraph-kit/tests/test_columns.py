import hypothesis
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import strategies as st

import jraph_kit
import jraph_kit as jk
from jraph_kit import GraphsError, from_columns, to_columns

SENDERS = ([0, 1, 0], [2, 1])
RECEIVERS = ([1, 0, 0], [2, 1])


def two(**changed):
    """Two graphs, of 2 nodes and 2 edges, and of 1 node and 1 edge."""
    columns = {"senders": SENDERS, "receivers": RECEIVERS, "n_node": [2, 1]}
    return from_columns(**columns | changed)


def test_indices_count_through_all_graphs():
    graphs = two(nodes=(np.arange(6.0).reshape(3, 2), [2, 1]))
    assert graphs.senders.tolist() == [0, 1, 2]
    assert graphs.receivers.tolist() == [1, 0, 2]
    assert graphs.n_node.tolist() == [2, 1]
    assert graphs.n_edge.tolist() == [2, 1]
    assert {a.dtype for a in (graphs.senders, graphs.n_node)} == {np.dtype("int32")}


@hypothesis.given(st.integers(0, 12), st.integers(0, 5))
def test_columns_of_graphs_give_the_graphs_again(n, seed):
    rng = np.random.default_rng(seed)
    n_node = rng.integers(1, 5, n)
    n_edge = rng.integers(0, 4, n)
    ends = rng.integers(0, np.repeat(n_node, n_edge))
    features = rng.normal(size=(n_node.sum(), 2)).astype("float32")
    columns = {
        "nodes": {"x": (features, n_node)},
        "senders": (ends, n_edge),
        "receivers": (ends[::-1] * 0, n_edge),
        "globals": rng.normal(size=(n, 1)).astype("float32"),
    }
    graphs = from_columns(**columns)
    again = to_columns(graphs)
    np.testing.assert_array_equal(again["senders"][0], ends)
    np.testing.assert_array_equal(again["nodes"]["x"][0], features)
    np.testing.assert_array_equal(again["nodes"]["x"][1], n_node)
    twice = from_columns(**again)
    for field in ("senders", "receivers", "n_node", "n_edge", "globals"):
        np.testing.assert_array_equal(getattr(twice, field), getattr(graphs, field))
    assert "edges" not in again


def test_arrays_of_equal_lengths_are_columns():
    graphs = from_columns(
        nodes=np.zeros((2, 3, 4), "float32"),
        senders=np.array([[0, 2], [1, 1]]),
        receivers=np.array([[0, 2], [1, 1]]),
    )
    assert graphs.nodes.shape == (6, 4)
    assert graphs.senders.tolist() == [0, 2, 4, 4]


def test_graphs_without_edges_and_no_graphs_at_all():
    lonely = from_columns(senders=([], [0, 0]), receivers=([], [0, 0]), n_node=[1, 2])
    assert lonely.senders.shape == (0,)
    none = from_columns(senders=([], []), receivers=([], []), n_node=[])
    assert none.n_node.shape == (0,)
    jraph_kit.validate(none)


def test_features_are_narrowed_only_where_nothing_is_lost():
    graphs = two(nodes={"x": (np.ones((3, 1)), [2, 1]), "id": ([1, 2, 3], [2, 1])})
    assert graphs.nodes["x"].dtype == np.float32
    assert graphs.nodes["id"].dtype == np.int32


def test_infinities_are_values():
    assert two(globals=np.array([np.inf, 0.0])).globals.tolist() == [np.inf, 0]


def test_features_of_32_bits_are_not_copied():
    values = np.zeros((3, 2), "float32")
    assert two(nodes=(values, [2, 1])).nodes is values


def test_nan_is_kept_on_demand():
    graphs = two(globals=np.array([[np.nan], [1.0]]), nan=True)
    assert np.isnan(graphs.globals[0, 0])


BAD = {
    "receivers: graph 1, edge 0 ends at node 4, and the graph has 1 nodes": {
        "receivers": ([1, 0, 4], [2, 1])
    },
    "senders: graph 0, edge 1 ends at node -1": {"senders": ([0, -1, 0], [2, 1])},
    "senders: graph 0 has 2 rows, and receivers has 1": {
        "receivers": ([1, 0, 0], [1, 2])
    },
    "the lengths of 2 graphs add up to 3, and there are 2 rows": {
        "senders": ([0, 1], [2, 1])
    },
    "senders has 2 graphs and receivers has 1": {"receivers": ([0, 0, 0], [3])},
    "senders: graph 1 has length -1": {"senders": ([0, 1, 0], [4, -1])},
    "senders: lengths are float64": {"senders": ([0, 1, 0], [2.0, 1.0])},
    "senders are float64": {"senders": ([0.0, 1.0, 0.0], [2, 1])},
    "nodes: graph 0 has 1 rows, and the count of nodes has 2": {
        "nodes": (np.zeros((3, 1)), [1, 2])
    },
    "nodes['x']: graph 1, row 0 holds NaN": {
        "nodes": {"x": (np.array([0.0, 1.0, np.nan]), [2, 1])}
    },
    "edges: graph 0, row 1 holds 3000000000, which int32 cannot hold": {
        "edges": ([0, 3_000_000_000, 0], [2, 1])
    },
    "edges: graph 1, row 0 holds 1e+39, which float32 cannot hold": {
        "edges": ([0.0, 0.0, 1e39], [2, 1])
    },
    "edges: graph 0 has 1 rows, and the count of edges has 2": {
        "edges": ([0, 0, 0], [1, 2])
    },
    "globals have shape [3, 1], and there are 2 graphs": {"globals": np.zeros((3, 1))},
    "nodes are None; then give n_node": {"n_node": None},
    "nodes is an empty mapping": {"nodes": {}, "n_node": None},
    "nodes have 3 graphs and senders have 2": {"n_node": [2, 1, 1]},
    "senders: found an array of shape [3]; wanted the pair": {
        "senders": np.array([0, 1, 0])
    },
    "nodes are <U1; wanted numbers": {"nodes": (["a", "b", "c"], [2, 1]), "nan": True},
    "nodes are [('a', '<f4')]; wanted numbers": {
        "nodes": (np.zeros(3, [("a", "f4")]), [2, 1])
    },
    "nodes: graph 1, row 0 holds NaN": {
        "nodes": (jnp.array([0, 1, jnp.nan], "bfloat16"), [2, 1])
    },
    "senders: setting an array element": {"senders": [[0, 1, 0], [2, 1]]},
}


@pytest.mark.parametrize("text", BAD)
def test_errors_name_the_column_the_graph_and_the_row(text):
    with pytest.raises(GraphsError) as caught:
        two(**BAD[text])
    assert text in str(caught.value)


def test_to_columns_says_where_padding_does_not_belong():
    padded = two()._replace(nodes=np.zeros((5, 1)))
    with pytest.raises(GraphsError, match="nodes: the lengths of 2 graphs add up to 3"):
        to_columns(padded)


def test_an_edge_has_one_end():
    two = np.zeros((2, 1), int)
    with pytest.raises(jk.GraphsError, match=r"senders are int64\[2, 1\]; wanted int"):
        jk.from_coo(two, two, n_node=2)
    with pytest.raises(jk.GraphsError, match=r"receivers are int64\[2, 1\]; wanted"):
        jk.from_columns(senders=([0, 0], [2]), receivers=(two, [2]), n_node=[1])


def test_lengths_beyond_int32_are_kept():
    assert jk.from_coo([], [], n_node=2**40).n_node.tolist() == [2**40]
    assert jk.from_coo([2**32], [0], n_node=2**40).senders.tolist() == [2**32]


def test_what_is_no_column_is_said():
    for wrong in (1.0, (5, [1]), ([0.0], 1), ([[1.0], [1.0, 2.0]], [2])):
        with pytest.raises(
            jk.GraphsError, match=r"nodes.*; wanted (an array|the pair)"
        ):
            jk.from_columns(senders=([0], [1]), receivers=([0], [1]), nodes=wrong)
    with pytest.raises(jk.GraphsError, match=r"nodes:.*; wanted an array, a dict"):
        jk.from_coo([0], [0], n_node=2, nodes=(np.ones((2, 1)), np.ones((2, 3))))
    with pytest.raises(
        jk.GraphsError, match=r"nodes are .*; wanted numbers of up to 64"
    ):
        jk.from_coo([0], [0], n_node=1, nodes=np.ones((1, 1), np.longdouble))


def test_columns_of_other_trees_are_refused():
    a, b = np.ones((2, 1)), np.zeros((2, 3))
    for nodes, kind in (((a, b), "tuple"), ({"x": {"y": a}}, "dict")):
        graph = jk.from_coo([0], [1], n_node=2)._replace(nodes=nodes)
        for function in (jk.to_columns, jk.to_networkx):
            with pytest.raises(jk.GraphsError, match=f"nodes hold a {kind}; wanted an"):
                function(graph)

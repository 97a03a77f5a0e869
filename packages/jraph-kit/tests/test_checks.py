import jax
import numpy as np
import pytest

from jraph_kit import GraphsError, from_columns, get_fully_connected_graph, validate
from jraph_kit._checks import index_dtype, owner, rows_of, starts_of


def graphs(**changed):
    ends = ([0, 1, 0], [2, 1])
    made = from_columns(senders=ends, receivers=ends, nodes=(np.zeros((3, 1)), [2, 1]))
    return made._replace(**changed)


def test_what_from_columns_makes_is_valid(some_graphs):
    validate(some_graphs(20))
    validate(jax.tree.map(jax.numpy.asarray, some_graphs(20)))
    validate(get_fully_connected_graph(3, 2))


BAD = {
    "receivers: graph 1, edge 0 ends at node -2": {"receivers": np.array([0, 1, 0])},
    "senders: graph 0, edge 0 ends at node 2": {"senders": np.array([2, 1, 2])},
    "nodes: the lengths of 2 graphs add up to 3": {"nodes": np.zeros((4, 1))},
    "senders: the lengths of 2 graphs add up to 2": {"n_edge": np.array([1, 1])},
    "n_node has 2 graphs and n_edge 1": {"n_edge": np.array([3])},
    "nodes: leaves have": {"nodes": (np.zeros(3), np.zeros(2))},
    "globals: graph 1, row 0 holds NaN": {"globals": np.array([0, np.nan], "float32")},
}


@pytest.mark.parametrize("text", BAD)
def test_the_text_names_graph_and_edge(text):
    with pytest.raises(GraphsError) as caught:
        validate(graphs(**BAD[text]))
    assert text in str(caught.value)


def test_unsigned_ends_are_indices():
    validate(graphs(senders=np.array([0, 1, 2], np.uint64)))
    with pytest.raises(GraphsError, match="graph 1, edge 0 ends at node -1, and"):
        validate(graphs(senders=np.array([0, 1, 1], np.uint64)))


def test_nan_is_allowed_on_demand():
    validate(graphs(nodes=np.full((3, 1), np.nan, "float32")), nan=True)


def test_wide_values_stay_wide_with_x64():
    with jax.enable_x64(new_val=True):
        made = from_columns(
            senders=([0], [1]), receivers=([0], [1]), nodes=([2**40], [1])
        )
    assert made.nodes.dtype == np.int64


def test_owner_skips_graphs_without_rows():
    assert owner(starts_of(np.array([0, 2, 0, 1])), 2) == (3, 0)


def test_indices_are_int32_until_nodes_pass_it():
    assert index_dtype(2**31 - 1) is np.int32
    assert index_dtype(2**31) is np.int64


def test_rows_of_a_field_without_leaves_are_unknown():
    assert rows_of(None, "nodes") is None
    with pytest.raises(GraphsError, match="wanted one number for all"):
        rows_of(np.float32(1), "nodes")


def test_the_shape_of_ends_is_checked():
    for ends in (np.zeros((3, 1), int), np.zeros((2, 3), int)):
        with pytest.raises(GraphsError, match=r"senders.*wanted|senders: the lengths"):
            validate(graphs(senders=ends))
    with pytest.raises(GraphsError, match="validate got a int; wanted a GraphsTuple"):
        validate(3)
    with pytest.raises(GraphsError, match="senders are None, and n_edge says 3"):
        validate(graphs(senders=None))

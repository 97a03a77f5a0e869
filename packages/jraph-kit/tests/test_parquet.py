import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import jraph_kit as jk
from jraph_kit._parquet import read_structure

SENDERS, RECEIVERS = [[0, 1], [], [2]], [[1, 0], [], [0]]
NODES = [[0.5, 1.5], [2.5], [3.5, 4.5, 5.5]]
PAIRS = {"senders": SENDERS, "receivers": RECEIVERS}
INDEX = [list(pair) for pair in zip(SENDERS, RECEIVERS, strict=True)]
INT32 = pa.list_(pa.int32())


@pytest.fixture
def written(tmp_path):
    def write(columns):
        path = tmp_path / "graphs.parquet"
        pq.write_table(pa.table(columns), path)
        return path

    return write


@pytest.mark.parametrize(
    "columns",
    [
        PAIRS | {"nodes": NODES},
        PAIRS | {"num_nodes": [2, 1, 3]},
        {"edge_index": INDEX, "x": NODES},
        {"edge_index": pa.array(INDEX, pa.list_(INT32, 2)), "n_node": [2, 1, 3]},
        {
            "senders": pa.array(SENDERS, pa.large_list(pa.int64())),
            "receivers": RECEIVERS,
        }
        | {"node_feat": [[[1], [2]], [[3]], [[4], [5], [6]]]},
    ],
    ids=["lists", "counts", "edge_index", "fixed pairs", "large lists"],
)
def test_layouts_that_are_about(columns, written):
    found = read_structure([written(columns)])
    assert found.n_node.tolist() == [2, 1, 3]
    assert found.n_edge.tolist() == [2, 0, 1]
    assert found.senders.tolist() == [0, 1, 5]
    assert found.receivers.tolist() == [1, 0, 3]


def test_columns_by_name_and_several_files(written):
    path = written({"u": SENDERS, "v": RECEIVERS, "atoms": NODES})
    found = read_structure([path, path], nodes="atoms", senders="u", receivers="v")
    assert found.n_node.tolist() == [2, 1, 3, 2, 1, 3]


def test_without_nodes_they_are_counted_up_to_the_largest_index(written):
    assert read_structure([written(PAIRS)]).n_node.tolist() == [2, 0, 3]


def test_graphs_of_one_size_are_fixed_lists(written):
    fixed = pa.array([[0, 1], [1, 0]], pa.list_(pa.int32(), 2))
    nodes = pa.array([[1.0, 2.0]] * 2, pa.list_(pa.float32(), 2))
    found = read_structure(
        [written({"senders": fixed, "receivers": fixed, "nodes": nodes})]
    )
    assert found.n_node.tolist() == found.n_edge.tolist() == [2, 2]


BAD = {
    "has no column 'senders'; it has ['a']": {"a": [1]},
    "senders: row 1 is null": {"senders": [[0], None], "receivers": [[0], [0]]},
    "senders is int64; wanted a list": {"senders": [0], "receivers": [[0]]},
    "senders is list<element: int64> with 1 nulls": PAIRS
    | {"senders": [[0, None], [], [2]]},
    "receivers is list<element: double> with 0 nulls": PAIRS
    | {"receivers": [[0.5, 1.0], [], [0.0]]},
    "edge_index: row 1 has 1 lists": {"edge_index": [[[0], [0]], [[0]]]},
    "x is string; wanted the number of nodes": PAIRS | {"x": ["a", "b", "c"]},
    "receivers: graph 2, edge 0 ends at node 9": PAIRS
    | {"receivers": [[1, 0], [], [9]], "n_node": [2, 1, 3]},
}


@pytest.mark.parametrize("text", BAD)
def test_errors_say_what_was_found(text, written):
    with pytest.raises(jk.GraphsError) as caught:
        read_structure([written(BAD[text])])
    assert text in str(caught.value)


def test_what_is_no_parquet_file_is_not_read(tmp_path):
    path = tmp_path / "words.parquet"
    path.write_text("words")
    with pytest.raises(jk.GraphsError, match=r"cannot read .*words\.parquet"):
        read_structure([path])
    whole = tmp_path / "whole.parquet"
    pq.write_table(pa.table({"senders": [[0]], "receivers": [[0]]}), whole)
    with pytest.raises(jk.GraphsError, match=r"cannot read .*words\.parquet"):
        read_structure([whole, path])


def test_no_graphs(written):
    empty = pa.array([], INT32)
    found = read_structure(
        [written({"senders": empty, "receivers": empty, "nodes": empty})]
    )
    np.testing.assert_array_equal(found.n_node, np.zeros(0))


def test_lists_that_are_no_pairs_are_refused(written):
    flipped = pa.array([[[0, 1], [1, 0]]] * 2, pa.list_(pa.list_(pa.int32(), 2), 2))
    assert len(read_structure([written({"edge_index": flipped})]).n_edge) == 2
    four = pa.array([[[0, 1]] * 4] * 2, pa.list_(INT32, 4))
    with pytest.raises(jk.GraphsError, match=r"edge_index: row 0 has 4 lists; wanted"):
        read_structure([written({"edge_index": four, "n_node": [2, 2]})])
    for kind in (pa.list_(INT32), pa.list_(INT32, 2)):
        null = pa.array([[[0, 1], None]], kind)
        with pytest.raises(jk.GraphsError, match="edge_index has 1 null lists"):
            read_structure([written({"edge_index": null})])


def test_a_column_may_be_named_twice(written):
    path = written({"senders": [[0, 1], []], "receivers": [[1, 0], []]})
    assert read_structure([path], nodes="senders").n_node.tolist() == [2, 0]
    with pytest.raises(jk.GraphsError, match="both column 'senders'"):
        read_structure([path], receivers="senders")

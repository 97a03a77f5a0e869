import numpy as np
import pytest

import jraph_kit as jk

SENDERS, RECEIVERS = np.array([4, 0, 3, 1, 4]), np.array([2, 2, 0, 2, 0])


@pytest.fixture
def store():
    weights = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    return jk.CSRStore.from_edges(SENDERS, RECEIVERS, n_node=5, weights=weights)


def test_edges_lie_by_receiver_and_know_their_number(store):
    for node in range(5):
        at = slice(store.indptr[node], store.indptr[node + 1])
        (edges,) = np.nonzero(node == RECEIVERS)
        np.testing.assert_array_equal(store.edge_ids[at], edges)
        np.testing.assert_array_equal(store.senders[at], SENDERS[edges])
        np.testing.assert_array_equal(store.weights[at], edges + 1)
    assert store.n_node == 5


def test_a_saved_store_is_mapped_and_the_same(store, tmp_path, assert_same):
    for written in (store, store._replace(weights=None)):
        written.save(tmp_path / "graph")
        found = jk.CSRStore.open(tmp_path / "graph")
        assert isinstance(found.senders, np.memmap)
        assert_same(found, written)


def test_a_mapped_store_is_saved_where_it_lies(store, tmp_path, assert_same):
    store.save(tmp_path)
    found = jk.CSRStore.open(tmp_path)
    found.save(tmp_path)
    assert_same(jk.CSRStore.open(tmp_path), store)
    assert_same(found, store)


def test_half_a_store_is_none(store, tmp_path, monkeypatch):
    store.save(tmp_path)

    def full(path, array):
        del array
        raise OSError(f"no space for {path}")

    monkeypatch.setattr(np, "save", full)
    with pytest.raises(OSError, match="no space"):
        store.save(tmp_path)
    with pytest.raises(jk.GraphsError, match="holds no graph store"):
        jk.CSRStore.open(tmp_path)


def test_a_store_without_edges(tmp_path, assert_same):
    store = jk.CSRStore.from_edges([], [], n_node=3)
    store.save(tmp_path)
    assert_same(jk.CSRStore.open(tmp_path), store)


def test_a_graphs_tuple_is_stored(some_graphs):
    graphs = some_graphs(4)
    store = jk.CSRStore.from_graph(graphs)
    np.testing.assert_array_equal(graphs.senders[store.edge_ids], store.senders)
    assert store.n_node == len(graphs.nodes)


BAD = {
    "senders: graph 0, edge 1 ends at node 9": {"senders": [0, 9]},
    "there are 2 senders and 1 receivers": {"receivers": [0]},
    "weights have shape [1]; wanted [2]": {"weights": [1.0]},
    "weights: edge 1 has 0.0; wanted positive": {"weights": [1.0, 0.0]},
    "weights: edge 0 has inf": {"weights": [np.inf, 1.0]},
    "weights: edge 1 has nan; wanted": {"weights": [1.0, np.nan]},
}


@pytest.mark.parametrize("text", BAD)
def test_errors_say_what_was_found(text):
    edges = {"senders": [0, 1], "receivers": [1, 0], "n_node": 2} | BAD[text]
    with pytest.raises(jk.GraphsError) as caught:
        jk.CSRStore.from_edges(**edges)
    assert text in str(caught.value)


def test_what_is_no_store_is_not_opened(store, tmp_path):
    with pytest.raises(jk.GraphsError, match=r"holds no graph store .* CSRStore\.save"):
        jk.CSRStore.open(tmp_path)
    store.save(tmp_path)
    (tmp_path / "store.json").write_text('{"format": "other"}')
    with pytest.raises(jk.GraphsError, match=r"has \{'format': 'other'\}; wanted"):
        jk.CSRStore.open(tmp_path)
    (tmp_path / "store.json").write_text('{"format": []}')
    with pytest.raises(jk.GraphsError, match="wanted"):
        jk.CSRStore.open(tmp_path)
    store.save(tmp_path)
    np.save(tmp_path / "senders.npy", store.senders[:3])
    with pytest.raises(jk.GraphsError, match=r"senders: .* 5, and there are 3 rows"):
        jk.CSRStore.open(tmp_path)
    (tmp_path / "senders.npy").unlink()
    with pytest.raises(jk.GraphsError, match=r"holds no graph store .* CSRStore\.save"):
        jk.CSRStore.open(tmp_path)
    (tmp_path / "store.json").write_text("[1")
    with pytest.raises(jk.GraphsError, match="holds no graph store"):
        jk.CSRStore.open(tmp_path)


def test_an_edge_has_one_end():
    with pytest.raises(jk.GraphsError, match=r"senders are int64\[2, 2\]; wanted int"):
        jk.CSRStore.from_edges([[0, 1], [1, 1]], [0, 1], n_node=2)


def test_weights_that_are_no_numbers_are_refused():
    for weights, text in (
        (["a", "b"], "weights: .*; wanted numbers"),
        ([1, 1e50], "edge 1 has inf; wanted positive, finite float32"),
        ([1, np.nan], "edge 1 has nan; wanted positive"),
    ):
        with pytest.raises(jk.GraphsError, match=text):
            jk.CSRStore.from_edges([0, 1], [1, 0], n_node=2, weights=weights)


def test_damaged_files_are_told(tmp_path):
    store = jk.CSRStore.from_edges([0, 1, 2], [1, 2, 0], n_node=3)
    store.save(tmp_path)
    whole = (tmp_path / "indptr.npy").read_bytes()
    for size in (0, 4, len(whole) - 8):
        (tmp_path / "indptr.npy").write_bytes(whole[:size])
        with pytest.raises(jk.GraphsError, match="holds no graph store"):
            jk.CSRStore.open(tmp_path)
    for field, values in (("indptr", [0, 3, 1, 3]), ("senders", [9, 77, 0])):
        bad = store._replace(**{field: np.array(values)})
        sampler = jk.NeighbourSampler(bad, fanouts=(2,), batch_size=3)
        with pytest.raises(jk.GraphsError, match=r"(indptr|senders).*damaged; write"):
            sampler.sample([0, 1, 2])

import hypothesis
import jax
import jraph
import numpy as np
import pytest
from hypothesis import strategies as st

import jraph_kit as jk

health = hypothesis.settings(
    suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture],
    deadline=None,
    derandomize=True,
)


@health
@hypothesis.given(
    n=st.integers(1, 7),
    seed=st.integers(0, 20),
    more=st.tuples(st.integers(1, 4), st.integers(0, 4), st.integers(1, 4)),
    exact=st.booleans(),
)
def test_unbatch_of_batch_is_the_graphs_through_any_padding(  # noqa: PLR0917
    some_graphs, assert_same, n, seed, more, exact
):
    whole = some_graphs(n, seed=seed)
    parts = jk.unbatch(whole)
    assert_same(jk.batch(parts), whole)
    have = (int(whole.n_node.sum()), int(whole.n_edge.sum()), n)
    size = have if exact else tuple(a + b for a, b in zip(have, more, strict=True))
    padded = jk.pad(whole, n_node=size[0], n_edge=size[1], n_graph=size[2])
    assert (len(padded.graphs.nodes), len(padded.graphs.senders)) == size[:2]
    assert_same(jk.unpad(padded), whole)
    for found, wanted in zip(jk.unbatch(padded), parts, strict=True):
        assert_same(found, wanted)


@health
@hypothesis.given(n=st.integers(1, 6), seed=st.integers(0, 9))
def test_padding_is_jraphs(some_graphs, n, seed):
    whole = some_graphs(n, seed=seed)
    size = {"n_node": len(whole.nodes) + 3, "n_edge": len(whole.senders) + 2}
    found = jk.pad(whole, **size, n_graph=n + 2).graphs
    wanted = jraph.pad_with_graphs(whole, **size, n_graph=n + 2)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("padded", [True, False])
def test_masks_are_true_for_real_rows(some_graphs, padded):
    whole = some_graphs(4, seed=3)
    more = 2 if padded else 0
    size = (len(whole.nodes) + more, len(whole.senders) + more, 4 + more)
    batch = jk.pad(whole, n_node=size[0], n_edge=size[1], n_graph=size[2])
    masks = jax.jit(lambda b: (b.node_mask, b.edge_mask, b.graph_mask))(batch)
    for mask, rows in zip(masks, size, strict=True):
        np.testing.assert_array_equal(mask, np.arange(rows) < rows - more)


def test_no_real_graph_at_all():
    empty = jk.from_columns(
        senders=([], []), receivers=([], []), nodes=(np.zeros((0, 1)), [])
    )
    batch = jk.pad(empty, n_node=2, n_edge=1, n_graph=2)
    assert not batch.node_mask.any()
    assert not batch.graph_mask.any()
    assert jk.unbatch(batch) == []


def test_batches_go_through_jit_and_pickle(some_graphs, assert_same):
    import pickle

    batch = jk.pad(some_graphs(3), n_node=60, n_edge=99, n_graph=9)
    assert_same(pickle.loads(pickle.dumps(batch)), batch)
    again = jax.device_get(jax.jit(lambda b: b)(batch))
    assert jax.tree.structure(again) == jax.tree.structure(batch)


def test_errors_say_what_was_found(some_graphs):
    with pytest.raises(jk.GraphsError, match="batch got no graphs"):
        jk.batch([])
    first, second = jk.unbatch(some_graphs(2))
    with pytest.raises(jk.GraphsError, match="graph 1 has the fields"):
        jk.batch([first, second._replace(edges=None)])
    for other in (np.zeros((len(second.nodes), 4), "float32"), second.nodes > 0):
        text = r"graph 1 has the fields .* \(dtype, and shape of a row\)"
        with pytest.raises(jk.GraphsError, match=text):
            jk.batch([first, second._replace(nodes=other)])
    graph = jk.from_coo([0], [1], n_node=2)
    text = r"are \(2, 1, 1\), and the size to pad to is \(2, 3, 2\); wanted \(3, 1, 2\)"
    with pytest.raises(jk.OversizeError, match=text):
        jk.pad(graph, n_node=2, n_edge=3, n_graph=2)
    with pytest.raises(jk.GraphsError, match="nodes are None, so their number is"):
        _ = jk.pad(graph, n_node=3, n_edge=3, n_graph=2).node_mask


def test_numbers_of_graphs_are_in_range(some_graphs):
    graphs = some_graphs(3)
    for n_real, text in (
        (-1, "n_real is -1; wanted"),
        (5, "n_real is 5, and there are 3"),
    ):
        for host in (jk.unpad, jk.unbatch):
            with pytest.raises(jk.GraphsError, match=text):
                host(jk.Batch(graphs, n_real))
    for size in (None, "a", 4.5):
        with pytest.raises(
            jk.GraphsError, match=f"n_node is {size!r}; wanted an integ"
        ):
            jk.pad(graphs, n_node=size, n_edge=9, n_graph=9)


def test_graphs_come_from_any_iterable(some_graphs, assert_same):
    parts = jk.unbatch(some_graphs(3))
    assert_same(jk.batch(iter(parts)), jk.batch(parts))
    assert_same(jk.batch(parts[0]), parts[0])
    with pytest.raises(
        jk.GraphsError, match="graph 1 is a int; wanted a list of Graph"
    ):
        jk.batch([parts[0], 3])

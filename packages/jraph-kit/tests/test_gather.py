import numpy as np
import pytest

import jraph_kit as jk
from jraph_kit._buckets import Shape
from jraph_kit._gather import Gatherer

SHAPE = Shape(64, 128, 9)


@pytest.mark.parametrize("numbers", [[2, 3, 4], [4, 2], [7, 7, 0], []])
def test_what_is_taken_is_the_graphs(numbers, some_graphs, assert_same):
    graphs = some_graphs(8)
    parts = jk.unbatch(graphs)
    numbers = np.array(numbers, int)
    (found,) = Gatherer(graphs).take(
        numbers, np.array([0, len(numbers)]), [SHAPE], None
    )
    jk.validate(found)
    batch = jk.Batch(found, np.int32(len(numbers)))
    for one, i in zip(jk.unbatch(batch), numbers, strict=True):
        assert_same(one, parts[i])
    rows = int(graphs.n_node[numbers].sum()), int(graphs.n_edge[numbers].sum())
    assert not found.nodes[rows[0] :].any()
    assert (found.senders[rows[1] :] == rows[0]).all()
    assert found.n_node.sum() == SHAPE.n_node
    assert found.n_edge.sum() == SHAPE.n_edge


def test_devices_get_a_batch_each(some_graphs, assert_same):
    graphs = some_graphs(8)
    gatherer = Gatherer(graphs)
    numbers, cuts = np.array([5, 1, 0, 3]), np.array([0, 1, 1, 4])
    (stacked,) = gatherer.take(numbers, cuts, [SHAPE], 3)
    singly = gatherer.take(numbers, cuts, [SHAPE] * 3, None)
    for d, one in enumerate(singly):
        part = type(one)(*(None if x is None else x for x in stacked))
        import jax

        assert_same(jax.tree.map(lambda leaf, d=d: leaf[d], part), one)


def test_rows_must_be_as_many_as_the_lengths_say(some_graphs):
    graphs = some_graphs(3)
    with pytest.raises(
        jk.GraphsError, match="nodes: the lengths of 3 graphs add up to"
    ):
        Gatherer(graphs._replace(nodes=graphs.nodes[1:]))


def test_indices_beyond_int32_in_the_whole_set_are_small_in_a_batch(some_graphs):
    graphs = some_graphs(4)
    wide = graphs._replace(
        senders=graphs.senders.astype("int64"),
        receivers=graphs.receivers.astype("int64"),
    )
    ask = np.arange(4), np.array([0, 4]), [SHAPE], None
    (found,), (wanted,) = Gatherer(wide).take(*ask), Gatherer(graphs).take(*ask)
    assert found.senders.dtype == np.int32
    np.testing.assert_array_equal(found.senders, wanted.senders)

import itertools

import numpy as np
import pytest

import jraph_kit as jk
from jraph_kit._buckets import _fit


def skewed(n, seed=0):
    rng = np.random.default_rng(seed)
    n_node = np.exp(rng.uniform(np.log(5), np.log(200), n)).astype(int)
    return n_node, n_node * rng.integers(1, 6, n)


def cost_of(drawn, ends):
    """Padding every size to the least shape that holds those before it, by a loop."""
    total, start = 0, 0
    for end in ends:
        shape = drawn[:end].max(axis=0)
        total += (end - start) * int(shape[0] + 1 + shape[1])
        start = end
    return total


@pytest.mark.parametrize("seed", range(5))
def test_no_choice_of_shapes_is_better(seed):
    rng = np.random.default_rng(seed)
    drawn = np.sort(rng.integers(1, 50, (8, 3)), axis=0)
    drawn[:, 1] = rng.integers(0, 90, 8)  # edges do not ascend with nodes
    costs, choices = _fit(drawn, 5, 1)
    for k in range(1, 6):
        ways = (
            (*inner, 8)
            for m in range(k)
            for inner in itertools.combinations(range(1, 8), m)
        )
        assert costs[k - 1] == min(cost_of(drawn, ends) for ends in ways)
        assert len(choices[k - 1]) <= k


@pytest.mark.parametrize("batch_size", [1, 4, 32])
def test_more_shapes_waste_less_and_the_fewest_that_do_are_taken(batch_size):
    sizes = skewed(500)
    wastes = [
        jk.Buckets.fit(sizes, batch_size=batch_size, max_shapes=k, waste=0.0)
        for k in range(1, 9)
    ]
    found = [b.expected_waste for b in wastes]
    assert found == sorted(found, reverse=True)
    assert [len(b.shapes) for b in wastes] == list(range(1, 9))
    for k in range(1, 8):
        limit = (found[k - 1] + found[k]) / 2
        fewest = jk.Buckets.fit(sizes, batch_size=batch_size, waste=limit)
        assert len(fewest.shapes) == k + 1
        assert fewest.expected_waste <= limit


@pytest.mark.parametrize("shuffled", [True, False])
def test_what_is_expected_is_what_comes(shuffled, some_graphs):
    graphs = some_graphs(800, most=40)
    buckets = jk.Buckets.fit(graphs, batch_size=16, waste=0.08, shuffled=shuffled)
    found = jk.batches(graphs, buckets, seed=5 if shuffled else None)
    assert found.waste.total == pytest.approx(buckets.expected_waste, abs=0.02)
    assert found.waste.total < 0.12


def test_the_largest_shape_holds_every_graph():
    sizes = np.array([5] * 99 + [1000]), np.array([0] * 50 + [10] * 49 + [7])
    for batch_size in (1, 8):
        buckets = jk.Buckets.fit(sizes, batch_size=batch_size, max_shapes=2)
        assert (buckets.index(*sizes, 1) < len(buckets.shapes)).all()


def test_index_is_the_smallest_shape_that_holds_it():
    buckets = jk.Buckets([(8, 10, 3), (8, 20, 3), (16, 20, 5)], batch_size=4)
    rng = np.random.default_rng(0)
    sizes = rng.integers(0, [18, 24, 6], (200, 3))
    found = buckets.index(*sizes.T)
    for size, k in zip(sizes, found, strict=True):
        room = [(n - 1, e, g - 1) for n, e, g in buckets.shapes]
        fits = [all(a <= b for a, b in zip(size, r, strict=True)) for r in room]
        assert k == (fits.index(True) if any(fits) else 3)


def test_the_same_sizes_give_the_same_buckets():
    assert jk.Buckets.fit(skewed(300)) == jk.Buckets.fit(skewed(300))


def test_capacities_are_multiples():
    for shape in jk.Buckets.fit(skewed(300), multiple=128, waste=0.05).shapes:
        assert shape.n_node % 128 == shape.n_edge % 128 == 0


def test_graphs_of_one_size_waste_almost_nothing():
    buckets = jk.Buckets.fit(([9] * 64, [12] * 64), batch_size=8, multiple=1)
    assert buckets.shapes == ((73, 96, 9),)
    assert buckets.expected_waste == pytest.approx(1 / 169)


BAD = {
    "there are no graphs": {"sizes": ([], [])},
    "max_shapes is 0; wanted an integer, 1 or more": {"max_shapes": 0},
    "batch_size is 'a'; wanted an integer, 1 or more": {"batch_size": "a"},
    "batch_size is 0": {"batch_size": 0},
    "batch_size is 2.5": {"batch_size": 2.5},
    "multiple is 0": {"multiple": 0},
    "waste is 20; wanted a share from 0 to 1": {"waste": 20},
    "n_node has 2 graphs and n_edge has 1": {"sizes": ([1, 2], [1])},
    "n_edge: graph 0 has length -1": {"sizes": ([1], [-1])},
}


@pytest.mark.parametrize("text", BAD)
def test_errors_of_fit(text):
    with pytest.raises(jk.GraphsError) as caught:
        jk.Buckets.fit(**{"sizes": ([1], [1])} | BAD[text])
    assert text in str(caught.value)


def test_errors_of_shapes():
    with pytest.raises(jk.GraphsError, match="shapes that ascend"):
        jk.Buckets([(8, 10, 3), (16, 9, 3)], batch_size=2)
    with pytest.raises(jk.GraphsError, match="padding is a graph with a node"):
        jk.Buckets([(8, 10, 1)], batch_size=2)
    with pytest.raises(jk.GraphsError, match="there are no shapes"):
        jk.Buckets([], batch_size=2)
    with pytest.raises(jk.GraphsError, match=r"batch_size is 2\.5"):
        jk.Buckets([(8, 10, 3)], batch_size=2.5)


def test_shapes_that_rounding_makes_alike_are_one():
    buckets = jk.Buckets.fit(([2], [2]), waste=np.float32(0.1))
    assert buckets.shapes == ((8, 8, 2),)


def test_sizes_and_shapes_are_what_they_should_be(some_graphs):
    graphs = some_graphs(2)
    table = np.array([[3, 4], [5, 6], [7, 8]])
    for wrong in (None, [graphs, graphs], jk.Batch(graphs, 2), table, 5):
        with pytest.raises(
            jk.GraphsError, match=r"sizes are a .*; wanted a GraphsTuple"
        ):
            jk.Buckets.fit(wrong)
    with pytest.raises(
        jk.GraphsError, match=r"shapes\[0\] is \(8, 8\); wanted \(n_node"
    ):
        jk.Buckets([(8, 8)], batch_size=1)
    with pytest.raises(
        jk.GraphsError, match=r"shapes\[0\].n_node is 8.9; wanted an int"
    ):
        jk.Buckets([(8.9, 8, 2)], batch_size=1)

import itertools

import numpy as np
import pytest

from jraph_kit._draws import draw_uniform, draw_weighted

N = 20_000


def sets_of(rows, places, n):
    """The places drawn for each row, as tuples."""
    cuts = np.searchsorted(rows, np.arange(n + 1))
    return [tuple(places[a:b].tolist()) for a, b in itertools.pairwise(cuts)]


@pytest.mark.parametrize("fanout", [1, 3, 8])
def test_places_are_different_and_as_many_as_there_are(fanout):
    degrees = np.random.default_rng(0).integers(0, 12, 300)
    weights = np.ones(degrees.sum())
    for draw, more in ((draw_uniform, ()), (draw_weighted, (weights,))):
        found = draw(np.random.default_rng(1), degrees, fanout, *more)
        for degree, places in zip(degrees, sets_of(*found, 300), strict=True):
            assert len(set(places)) == len(places) == min(degree, fanout)
            assert all(0 <= place < degree for place in places)
            assert list(places) == sorted(places)


def test_all_sets_are_alike_likely():
    rows, places = draw_uniform(np.random.default_rng(0), np.full(N, 5), 2)
    seen = sets_of(rows, places, N)
    ways = list(itertools.combinations(range(5), 2))
    share = np.array([seen.count(way) for way in ways]) / N
    deviation = np.sqrt(0.1 * 0.9 / N)
    np.testing.assert_allclose(share, 0.1, atol=4 * deviation)


def test_sets_are_as_likely_as_their_weights_say():
    w = np.array([1.0, 2.0, 5.0])
    rng = np.random.default_rng(0)
    seen = sets_of(*draw_weighted(rng, np.full(N, 3), 2, np.tile(w, N)), N)
    for pair in itertools.combinations(range(3), 2):
        # Either may come first, the other then from what is left.
        p = sum(
            w[a] / w.sum() * w[b] / (w.sum() - w[a])
            for a, b in itertools.permutations(pair)
        )
        deviation = np.sqrt(p * (1 - p) / N)
        assert seen.count(pair) / N == pytest.approx(p, abs=4 * deviation)


def test_nothing_to_draw_from():
    for degrees in (np.zeros(3, int), np.zeros(0, int)):
        rows, places = draw_uniform(np.random.default_rng(0), degrees, 2)
        assert len(rows) == len(places) == 0
        rows, _ = draw_weighted(np.random.default_rng(0), degrees, 2, np.zeros(0))
        assert len(rows) == 0

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arrow_jax import ArrowJaxError, Buckets, Dataset, Loader, ShapeError
from arrow_jax._block_order import Rest
from arrow_jax._buckets import BucketCutter, choose_edges


def padded(lengths, edges):
    edges = np.array(edges)
    return int(edges[np.searchsorted(edges, lengths)].sum())


@given(st.lists(st.integers(0, 12), min_size=1, max_size=12), st.integers(1, 4))
def test_edges_are_the_best_there_are(lengths, k):
    lengths = np.array(lengths)
    edges = choose_edges(lengths, max_buckets=k, waste=0.0)
    assert len(edges) <= k
    assert edges[-1] == lengths.max()
    sizes = sorted(set(lengths.tolist()))
    best = min(
        padded(lengths, [*chosen, sizes[-1]])
        for n in range(min(k, len(sizes)))
        for chosen in itertools.combinations(sizes[:-1], n)
    )
    assert padded(lengths, edges) == best


def test_no_more_edges_than_the_waste_asks_for():
    lengths = np.arange(1, 101)
    few = choose_edges(lengths, max_buckets=20, waste=0.3)
    more = choose_edges(lengths, max_buckets=20, waste=0.1)
    assert len(few) < len(more) < 20
    for edges, waste in ((few, 0.3), (more, 0.1)):
        assert 1 - lengths.sum() / padded(lengths, edges) <= waste
        fewer = choose_edges(lengths, max_buckets=len(edges) - 1, waste=0)
        assert 1 - lengths.sum() / padded(lengths, fewer) > waste


def test_many_different_lengths_are_thinned_out():
    lengths = np.random.default_rng(0).integers(0, 100_000, 20_000)
    edges = choose_edges(lengths, max_buckets=8, waste=0.0)
    assert len(edges) == 8
    assert edges[-1] == lengths.max()
    assert 1 - lengths.sum() / padded(lengths, edges) < 0.12


def test_a_block_is_sorted_and_cut():
    lengths = np.array([5, 1, 2, 9, 1, 4, 8])
    cut = BucketCutter(lengths, (2, 5, 9), 4).cut(np.arange(7), 2, Rest.SHORT)
    # By length 1 4 | 2 5 | 0 3, given by the first row of each; the last row is over.
    assert [d.rows.tolist() for d in cut.drafts] == [[0, 3], [1, 4], [2, 5], [6]]
    for rest in (Rest.WAITS, Rest.DROPPED):
        other = BucketCutter(lengths, (2, 5, 9), 4).cut(np.arange(7), 2, rest)
        assert [d.rows.tolist() for d in other.drafts] == [[0, 3], [1, 4], [2, 5]]
        assert other.pending.tolist() == [6]
    for draft in cut.drafts:
        longest = lengths[draft.rows].max()
        assert draft.length == min(e for e in (2, 5, 9) if e >= longest)


def test_padding_is_small_next_to_one_length():
    rng = np.random.default_rng(1)
    rows = [[1] * n for n in rng.integers(1, 200, 2000)]
    ds = Dataset.from_dict({"t": rows})
    loader = Loader(ds, 16, shuffle=True, ragged={"t": Buckets(max_buckets=6)})
    held = sum(b["t"].values.size for b in loader)
    used = sum(map(len, rows))
    assert len(loader.specs) <= 6
    assert 1 - used / held < 0.15
    assert 1 - used / (2000 * 199) > 0.45


def test_two_columns_share_the_edge():
    ds = Dataset.from_dict({"a": [[1], [1, 2, 3]], "b": [[1, 2], [1]]})
    form = Buckets([2, 4])
    for names in ("ab", "ba"):
        loader = Loader(ds, 1, ragged=dict.fromkeys(names, form))
        for name in names:
            shapes = [batch[name].values.shape for batch in loader]
            assert shapes == [(1, 2), (1, 4)]


def test_rows_that_are_too_long_are_told_when_the_loader_is_made():
    ds = Dataset.from_dict({"t": [[1], [1, 2, 3]]})
    with pytest.raises(
        ShapeError, match=r"'t', row 1: has 3 elements, Buckets holds 2"
    ):
        Loader(ds, 1, ragged={"t": Buckets([1, 2])})
    cut = Loader(ds, 1, ragged={"t": Buckets([1, 2], truncate=True)})
    assert [b["t"].values.tolist() for b in cut] == [[[1]], [[1, 2]]]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"edges": [2, 1]}, r"Buckets\(\[2, 1\]\): wanted lengths in ascending"),
        ({"edges": []}, "ascending"),
        ({"edges": [1, 1]}, "ascending"),
        ({"max_buckets": 0}, "at least 1 bucket"),
        ({"waste": 1.0}, r"a waste in \[0, 1\)"),
        ({"block": 0}, "at least 1 batch"),
    ],
)
def test_options_that_make_no_sense(options, text):
    with pytest.raises(ArrowJaxError, match=text):
        Buckets(**options)

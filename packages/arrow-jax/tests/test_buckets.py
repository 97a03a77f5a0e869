import itertools
import json

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


def test_thinned_out_lengths_keep_both_ends_and_their_rows():
    # 1023 lengths, every other of which is tried: 0, 2, ... 1022 hold one or two rows.
    lengths = np.arange(1023)
    edges = choose_edges(lengths, max_buckets=2, waste=0.0)
    tried = range(0, 1023, 2)
    best = min(padded(lengths, [edge, 1022]) for edge in tried)
    assert padded(lengths, edges) == best
    assert choose_edges(np.arange(512), max_buckets=512, waste=0.0) == tuple(range(512))


def test_waste_that_is_just_met_is_enough():
    # One edge holds 2 elements in 4.
    assert choose_edges(np.array([0, 2]), max_buckets=2, waste=0.5) == (2,)
    assert choose_edges(np.array([0, 2]), max_buckets=2, waste=0.49) == (0, 2)


def test_rows_of_one_length_stay_in_order():
    lengths = np.tile([3, 1], 100)
    cut = BucketCutter(lengths, (1, 3), 100).cut(np.arange(200), 2, Rest.WAITS)
    pairs = [draft.rows.tolist() for draft in cut.drafts]
    assert pairs == [[at, at + 2] for i in range(0, 200, 4) for at in (i, i + 1)]
    assert cut.pending.tolist() == []


def test_what_waits_after_a_short_batch_is_nothing():
    cut = BucketCutter(np.array([1, 1, 1]), (1,), 1).cut(np.arange(3), 2, Rest.SHORT)
    assert cut.pending.tolist() == []


def test_the_rule_is_said_in_json():
    rule = BucketCutter(np.array([1]), (2, 5), 4)
    assert json.loads(json.dumps(rule.describe())) == {"buckets": [2, 5], "block": 4}
    assert rule.block_rows(8) == 32


def test_the_least_that_options_can_be():
    form = Buckets([0, np.int64(3)], max_buckets=1, waste=0, block=np.int64(1))
    assert form == Buckets((0, 3), max_buckets=1, waste=0, block=1)
    assert json.dumps([form.edges, form.block]) == "[[0, 3], 1]"


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
        ({"edges": 5}, r"ascending order, such as Buckets\(\[64, 128, 512\]\)$"),
        ({"edges": [1, 1]}, "ascending"),
        ({"truncate": 1}, r"^Buckets\(truncate=1\): wanted a boolean$"),
        ({"max_buckets": 0}, "at least 1 bucket"),
        ({"waste": 1.0}, r"a waste in \[0, 1\)"),
        ({"block": 0}, r"1\) and at least 1 batch in a block$"),
    ],
)
def test_options_that_make_no_sense(options, text):
    with pytest.raises(ArrowJaxError, match=text):
        Buckets(**options)

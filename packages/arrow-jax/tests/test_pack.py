from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arrow_jax import ArrowJaxError, Dataset, Loader, Pack, ShapeError
from arrow_jax._block_order import Rest
from arrow_jax._pack import PackCutter, first_fit


def plain_first_fit(lengths, capacity):
    """First-fit decreasing, row by row."""
    room, bins = [], [0] * len(lengths)
    for row in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        fits = [b for b, left in enumerate(room) if left >= lengths[row]]
        if not fits:
            room.append(capacity)
            fits = [len(room) - 1]
        bins[row] = fits[0]
        room[fits[0]] -= lengths[row]
    return bins


@given(st.lists(st.integers(1, 9), max_size=40), st.integers(9, 20))
def test_against_first_fit_row_by_row(lengths, capacity):
    bins, at = first_fit(np.array(lengths, np.int64), capacity)
    assert bins.tolist() == plain_first_fit(lengths, capacity)
    taken = {}
    for home, begin, length in zip(bins, at, lengths, strict=True):
        for place in range(begin, begin + length):
            assert place < capacity
            assert taken.setdefault((home, place), True)
            taken[home, place] = False
    assert len(taken) == sum(lengths)


def test_the_emptiest_wait_for_the_next_block():
    lengths = np.array([3, 4, 4, 1, 4, 2])  # 4 | 4 | 4 | 3 1 | 2
    cut = PackCutter(lengths, 4, 1, None).cut(np.arange(6), 2, Rest.WAITS)
    assert [d.rows.tolist() for d in cut.drafts] == [[1, 2], [4, 0, 3]]
    assert cut.pending.tolist() == [5]
    cut = PackCutter(lengths, 4, 1, None).cut(np.arange(6), 2, Rest.SHORT)
    assert not len(cut.pending)
    assert cut.drafts[-1].size == 1


def test_the_emptiest_have_the_fewest_elements_and_not_rows():
    lengths = np.array([7, 6, 2, 2])  # 7 | 6 | 2 2
    cut = PackCutter(lengths, 7, 1, None).cut(np.arange(4), 2, Rest.WAITS)
    assert [d.rows.tolist() for d in cut.drafts] == [[0, 1]]
    assert cut.pending.tolist() == [2, 3]


def test_of_packed_rows_that_are_as_full_the_last_wait():
    lengths = np.full(41, 4)
    cut = PackCutter(lengths, 4, 1, None).cut(np.arange(41), 3, Rest.WAITS)
    assert cut.pending.tolist() == [39, 40]


def test_rows_that_are_dropped_are_any_and_those_that_wait_the_emptiest():
    lengths = np.array([4, 4, 1])
    left = {Rest.WAITS: set(), Rest.DROPPED: set()}
    for seed in range(0, 64 * 20, 64):
        for rest, seen in left.items():
            cut = PackCutter(lengths, 4, 1, seed).cut(np.arange(3), 2, rest)
            seen.add(tuple(cut.pending.tolist()))
    assert left == {Rest.WAITS: {(2,)}, Rest.DROPPED: {(0,), (1,), (2,)}}
    lengths = np.array([6, 6, 5, 5])  # 6 | 6 | 5 5
    cut = PackCutter(lengths, 10, 1, None).cut(np.arange(4), 2, Rest.DROPPED)
    assert cut.pending.tolist() == [2, 3]
    cut = PackCutter(lengths, 10, 1, None).cut(np.arange(4), 2, Rest.WAITS)
    assert cut.pending.tolist() == [1]


def test_a_shuffle_mixes_packed_rows_and_even_two():
    orders = set()
    for seed in range(0, 64 * 20, 64):
        cut = PackCutter(np.array([3, 2]), 4, 1, seed).cut(np.arange(2), 1, Rest.WAITS)
        orders.add(tuple(draft.rows.item() for draft in cut.drafts))
    assert orders == {(0, 1), (1, 0)}
    cut = PackCutter(np.array([3, 2]), 4, 1, None).cut(np.arange(2), 1, Rest.WAITS)
    assert [draft.rows.item() for draft in cut.drafts] == [0, 1]


@pytest.mark.parametrize(
    ("lengths", "capacity", "block", "batch_size", "wanted"),
    [
        ([2, 4, 9], 4, 3, 2, 7),  # 24 elements, 10 / 3 a row
        ([0, 0, 1], 4, 3, 2, 24),  # a row is taken to have one at least
        ([1, 2], 4, 3, 2, 16),
        ([4], 4, 1, 1, 1),
    ],
)
def test_a_block_begins_with_as_many_rows_as_fill_it(
    lengths, capacity, block, batch_size, wanted
):
    cutter = PackCutter(np.array(lengths), capacity, block, None)
    assert cutter.block_rows(batch_size) == wanted


def packed_rows(loader):
    """The rows in a run's batches, by segment."""
    found = []
    for batch in loader:
        for values, ids, positions in zip(*map(np.asarray, batch["t"]), strict=True):
            for segment in range(1, ids.max() + 1):
                inside = ids == segment
                assert positions[inside].tolist() == list(range(inside.sum()))
                found.append(values[inside].tolist())
    return found


@pytest.mark.parametrize("shuffle", [False, True])
def test_tokens_out_are_tokens_in(shuffle):
    rng = np.random.default_rng(0)
    rows = [rng.integers(1, 100, n).tolist() for n in rng.integers(0, 33, 400)]
    ds = Dataset.from_dict({"t": rows})
    loader = Loader(ds, 3, shuffle=shuffle, ragged={"t": Pack(32)})
    assert sorted(packed_rows(loader)) == sorted(row for row in rows if row)
    full = sum(map(len, rows)) / (32 * 3 * len(loader))
    assert full > 0.9


def test_splitting_keeps_every_token_in_order():
    rows = [list(range(i * 100, i * 100 + n)) for i, n in enumerate([25, 0, 3, 9, 40])]
    ds = Dataset.from_dict({"t": rows})
    loader = Loader(ds, 2, ragged={"t": Pack(8, split=True)})
    pieces = packed_rows(loader)
    assert [*chain(*pieces)] == [*chain(*rows)]
    assert max(map(len, pieces)) <= 8
    assert len(loader) == -(-77 // 16)


def test_columns_are_packed_together():
    ds = Dataset.from_dict({"t": [[1, 2], [3]], "y": [[-1, -2], [-3]]})
    form = Pack(4)
    batch = next(iter(Loader(ds, 1, ragged={"t": form, "y": form})))
    assert (batch["t"].values == -batch["y"].values).all()
    assert (batch["t"].segment_ids == batch["y"].segment_ids).all()
    bad = Dataset.from_dict({"t": [[1, 2], [3]], "y": [[1, 2], [3, 4]]})
    with pytest.raises(ShapeError, match="'t' and 'y' are packed together, but row 1 "):
        Loader(bad, 1, ragged={"t": form, "y": form})


def test_masked_elements_are_packed_with_their_masks():
    ds = Dataset.from_dict({"t": [[1, None], [3], None]})
    ds = ds.with_format("jax", nulls="mask")
    values = next(iter(Loader(ds, 1, ragged={"t": Pack(4)})))["t"].values
    assert values.values.tolist() == [[1, 0, 3, 0]]
    assert values.valid.tolist() == [[True, False, True, False]]


def test_vectors_are_packed_too():
    ds = Dataset.from_dict({"t": [np.ones((2, 3)), np.ones((1, 3))]})
    packed = next(iter(Loader(ds, 1, ragged={"t": Pack(4)})))["t"]
    assert packed.values.shape == (1, 4, 3)
    assert packed.segment_ids.tolist() == [[1, 1, 2, 0]]


def test_what_can_not_be_packed():
    ds = Dataset.from_dict({"t": [[1, 2, 3], [4]], "y": [1, 2]})
    with pytest.raises(ArrowJaxError, match=r"\['y'\] can't be in a batch of packed"):
        Loader(ds, 1, ragged={"t": Pack(4)})
    with pytest.raises(
        ShapeError, match=r"row 0: has 3 elements, Pack holds 2.*split=True"
    ):
        Loader(ds.with_format(columns=["t"]), 1, ragged={"t": Pack(2)})
    with pytest.raises(ShapeError, match="'y' can't be padded"):
        Loader(ds.with_format(columns=["y"]), 1, ragged={"y": Pack(2)})


def test_options_that_make_sense():
    assert Pack(np.int64(1), block=np.int64(1)) == Pack(1, block=1)
    assert (
        type(Pack(np.int64(1)).length) is type(Pack(1, block=np.int8(1)).block) is int
    )
    for options in (
        {"length": 0},
        {"length": 2, "block": 0},
        {"length": 2.0},
        {"length": 2, "split": 1},
        {"length": 2, "truncate": 1},
        {"length": 2, "split": True, "truncate": True},
    ):
        said = {"split": False, "block": 16, "truncate": False} | options
        with pytest.raises(ArrowJaxError) as caught:
            Pack(**options)
        assert str(caught.value) == (
            f"Pack({said['length']}, split={said['split']}, block={said['block']}, "
            f"truncate={said['truncate']}): wanted a length and a block of at least "
            "1, and at most one of split and truncate"
        )

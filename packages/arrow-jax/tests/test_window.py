import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arrow_jax import ArrowJaxError, Dataset, Loader, Window, mix
from arrow_jax._window import _BLOCK, WindowStream

sizes = st.lists(st.integers(1, 6), min_size=1, max_size=9)


def stream_of(sizes, row_groups=2, seed=3):
    return WindowStream(tuple(np.cumsum([0, *sizes]).tolist()), row_groups, seed)


@given(sizes, st.integers(1, 4), st.integers(0, 3))
def test_every_row_once_and_windows_one_after_the_other(sizes, row_groups, epoch):
    stream = stream_of(sizes, row_groups)
    rows = stream.rows(epoch, 0, stream.n)
    assert sorted(rows.tolist()) == list(range(sum(sizes)))
    groups = np.searchsorted(stream.starts, rows, side="right") - 1
    seen = []
    at = 0
    while at < len(rows):
        window = stream.together(epoch, int(groups[at]))
        n = sum(sizes[g] for g in window)
        assert set(groups[at : at + n].tolist()) == set(window)
        seen += window
        at += n
    assert sorted(seen) == list(range(len(sizes)))


@given(sizes, st.integers(1, 4), st.data())
def test_any_place_can_be_asked_for(sizes, row_groups, data):
    stream = stream_of(sizes, row_groups)
    start = data.draw(st.integers(0, stream.n))
    stop = data.draw(st.integers(start, stream.n))
    whole = stream.rows(1, 0, stream.n)
    assert stream.rows(1, start, stop).tolist() == whole[start:stop].tolist()


def test_windows_bigger_than_a_block_of_the_permutation():
    stream = stream_of([_BLOCK + 3, 2 * _BLOCK, 7], row_groups=3)
    rows = stream.rows(0, 0, stream.n)
    assert np.array_equal(np.sort(rows), np.arange(stream.n))
    assert np.array_equal(rows[5 : 2 * _BLOCK], stream.rows(0, 5, 2 * _BLOCK))


def test_epochs_and_windows_have_orders_of_their_own():
    stream = stream_of([50] * 8, row_groups=2)
    epochs = [stream.rows(e, 0, 400) for e in range(2)]
    assert not np.array_equal(*epochs)
    alone = stream_of([50] * 8, row_groups=1)
    within = [alone.rows(e, i, i + 50) % 50 for e in (0, 1) for i in (0, 50)]
    assert len({tuple(rows.tolist()) for rows in within}) == 4


def test_the_shuffle_is_a_good_one():
    """Rank correlation, and how many groups the rows of a batch come from."""
    n_groups, per = 100, 100
    stream = stream_of([per] * n_groups, row_groups=10)
    rows = stream.rows(0, 0, stream.n)
    correlation = np.corrcoef(rows, np.arange(stream.n))[0, 1]
    # Groups move as wholes, so chance alone gives about 1 / sqrt(groups).
    assert abs(correlation) < 4 / n_groups**0.5
    inside = rows[: 10 * per] % per
    assert abs(np.corrcoef(inside, np.arange(10 * per))[0, 1]) < 4 / (10 * per) ** 0.5
    batches = rows.reshape(-1, 50) // per
    spread = [len(set(batch)) for batch in batches.tolist()]
    # 50 draws from 10 groups leave out 10 * 0.9 ** 50 = 0.05 of them.
    assert np.mean(spread) > 9.8
    assert min(spread) >= 7


def test_tables_have_windows_of_chunks_and_views_have_none():
    ds = Dataset.from_dict({"x": np.arange(8)})
    rows = [int(x) for b in Loader(ds, 3, shuffle=Window(1)) for x in b["x"]]
    assert sorted(set(rows)) == list(range(8))
    for bad in (ds.select([1, 2]), mix([ds], [1])):
        with pytest.raises(
            ArrowJaxError, match=r"for files and whole tables. Use shuf"
        ):
            Loader(bad, 2, shuffle=Window(1))


@pytest.mark.parametrize("n", [0, -1, 1.5])
def test_a_window_of_nothing(n):
    with pytest.raises(ArrowJaxError, match="wanted at least 1"):
        Window(n)

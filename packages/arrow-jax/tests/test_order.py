import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arrow_jax._order import RowOrder
from arrow_jax._permutation import permute
from arrow_jax._step import Position
from arrow_jax._stream import _BLOCK, Sequential, Shuffled


def order_of(n, epochs, last, seed):
    stream = Sequential(n) if seed is None else Shuffled(n, seed)
    return RowOrder(stream, epochs, last)


def run(order, batch_size, at=Position()):  # noqa: B008
    steps = []
    while (step := order.step(at, batch_size)) is not None and len(steps) < 1000:
        steps.append(step)
        at = step.after
    return steps


def drafts(order, batch_size):
    return [step.draft for step in run(order, batch_size)]


def rows(steps):
    return [int(r) for s in steps for r in np.asarray(s.draft.rows)[: s.draft.n_real]]


def test_mask_repeats_a_real_row():
    steps = drafts(order_of(5, 2, "mask", None), 3)
    assert [list(s.rows) for s in steps] == [[0, 1, 2], [3, 4, 4]] * 2
    assert [s.n_real for s in steps] == [3, 2, 3, 2]


def test_keep_gives_a_short_batch():
    steps = drafts(order_of(5, 1, "keep", None), 3)
    assert [list(s.rows) for s in steps] == [[0, 1, 2], [3, 4]]


def test_drop_lets_epochs_follow_without_a_gap():
    steps = drafts(order_of(5, 3, "drop", None), 4)
    assert [list(s.rows) for s in steps] == [[0, 1, 2, 3], [4, 0, 1, 2], [3, 4, 0, 1]]
    assert [list(s.rows) for s in drafts(order_of(2, 3, "drop", None), 5)] == [
        [0, 1, 0, 1, 0]
    ]


@given(
    st.integers(1, 30),
    st.integers(1, 4),
    st.sampled_from(["mask", "drop", "keep"]),
    st.integers(1, 12),
    st.sampled_from([None, 3]),
)
def test_against_a_plain_list(n, epochs, last, batch_size, seed):
    order = order_of(n, epochs, last, seed)
    steps = run(order, batch_size)
    assert len(steps) == order.count(batch_size)
    plain = [
        int(r)
        for e in range(epochs)
        for r in (
            range(n) if seed is None else permute(np.arange(n), n=n, seed=seed, epoch=e)
        )
    ]
    if last == "drop":
        plain = plain[: len(plain) // batch_size * batch_size]
    assert rows(steps) == plain


@given(
    st.integers(1, 20),
    st.sampled_from(["mask", "drop", "keep"]),
    st.integers(1, 7),
    st.integers(1, 7),
    st.integers(0, 9),
)
def test_from_any_position_another_batch_size_has_the_same_rows(n, last, a, b, k):
    order = order_of(n, 2, last, 7)
    steps = run(order, a)[:k]
    at = steps[-1].after if steps else Position()
    before, after = rows(steps), rows(run(order, b, at))
    plain = rows(run(order, 1))
    seen = before + after
    assert seen == plain[: len(seen)]
    assert len(plain) - len(seen) < (b if last == "drop" else 1)


def test_blocks_of_the_shuffle_join():
    n = 3 * _BLOCK + 5
    order = order_of(n, 1, "keep", 1)
    step = order.step(Position(0, _BLOCK - 2), 2 * _BLOCK)
    wanted = permute(np.arange(_BLOCK - 2, 3 * _BLOCK - 2), n=n, seed=1)
    np.testing.assert_array_equal(step.draft.rows, wanted)


def test_endless_runs_have_no_count():
    order = order_of(3, None, "drop", 0)
    assert order.count(2) is None
    assert order.step(Position(10**9, 2), 2).after == Position(10**9 + 1, 1)


@pytest.mark.parametrize("last", ["mask", "drop", "keep"])
def test_the_end_stays_the_end(last):
    assert order_of(3, 2, last, None).step(Position(2, 0), 1) is None


@pytest.mark.parametrize(
    ("last", "turns"),
    [
        # Of the second batch one row is of the first epoch, of the third two of its.
        ("drop", [(0, None), (0, 1), (1, 2)]),
        ("mask", [(0, None), (0, None), (1, None), (1, None)]),
        ("keep", [(0, None), (0, None), (1, None), (1, None)]),
    ],
)
def test_a_batch_says_where_its_epoch_ends(last, turns):
    steps = drafts(order_of(5, 3, last, None), 4)[:4]
    assert [(step.epoch, step.turn) for step in steps] == turns


def test_a_batch_that_ends_with_its_epoch_is_of_one():
    steps = drafts(order_of(4, 2, "drop", None), 2)
    assert [(s.epoch, s.turn) for s in steps] == [(0, None)] * 2 + [(1, None)] * 2


@pytest.mark.parametrize(
    ("at", "held"),
    [
        (Position(0, 0), True),
        (Position(1, 4), True),
        (Position(2, 0), True),  # the end of the run
        (Position(3, 0), False),
        (Position(0, 5), False),
        (Position(0, -1), False),
        (Position(-1, 0), False),
        (Position(0, 0, 1), False),
        (Position(0, 0, 0, (1,)), False),
    ],
)
def test_only_places_inside_are_held(at, held):
    assert order_of(5, 2, "mask", None).holds(at) is held


def test_the_order_is_said_in_json():
    wanted = {"shuffle": False, "last": "keep"}
    assert order_of(5, 2, "keep", None).describe() == wanted

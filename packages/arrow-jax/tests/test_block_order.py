import collections
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arrow_jax._block_order import BlockOrder, Cut, Rest
from arrow_jax._buckets import BucketCutter
from arrow_jax._pack import PackCutter
from arrow_jax._step import Draft, Position
from arrow_jax._stream import Sequential, Shuffled

LENGTHS = np.array([3, 1, 0, 4, 2, 2, 5, 1, 1, 4, 3, 0, 2])


def cutters():
    return {
        "buckets": BucketCutter(LENGTHS, (2, 5), 2),
        "pack": PackCutter(LENGTHS, 5, 1, 0),
    }


def run(order, batch_size, at=Position()):  # noqa: B008
    steps = []
    while (step := order.step(at, batch_size)) is not None:
        steps.append(step)
        at = step.after
    return steps


def rows(steps):
    found = []
    for draft, _ in steps:
        real = draft.rows if draft.layout else draft.rows[: draft.n_real]
        found += [int(row) for row in real if LENGTHS[row]]
    return found


ORDERS = (
    st.sampled_from(["buckets", "pack"]),
    st.sampled_from([None, 5]),
    st.integers(1, 3),
    st.sampled_from(["mask", "drop", "keep"]),
    st.integers(1, 7),
)


def check_dropped(found, plain, batch_size):
    """Less than a batch may be missing, of up to five rows of one element each."""
    missing = collections.Counter(plain)
    missing.subtract(found)
    assert min(missing.values()) >= 0
    assert missing.total() <= 5 * (batch_size - 1)


def order_of(kind, seed, epochs, last):
    n = len(LENGTHS)
    stream = Sequential(n) if seed is None else Shuffled(n, seed)
    return BlockOrder(stream, epochs, last, cutters()[kind])


@given(*ORDERS)
def test_every_row_once_an_epoch(kind, seed, epochs, last, batch_size):
    order = order_of(kind, seed, epochs, last)
    steps = run(order, batch_size)
    assert len(steps) == order.count(batch_size)
    plain = sorted([*np.flatnonzero(LENGTHS).tolist()] * epochs)
    found = sorted(rows(steps))
    if last == "drop":
        assert all(step.draft.n_real == batch_size for step in steps)
        check_dropped(found, plain, batch_size)
        return
    assert found == plain
    sizes = {step.draft.size for step in steps}
    assert sizes == {batch_size} if last == "mask" else max(sizes) <= batch_size
    assert sum(step.draft.n_real < batch_size for step in steps) <= epochs


@given(*ORDERS, st.integers(1, 6), st.data())
def test_moving_to_another_batch_size_keeps_what_is_left(  # noqa: PLR0917
    kind, seed, epochs, last, a, b, data
):
    order = order_of(kind, seed, epochs, last)
    steps = run(order, a)
    if not steps:
        return
    k = data.draw(st.integers(1, len(steps)))
    given_rows, at = rows(steps[:k]), steps[k - 1].after
    assert order.holds(at)
    moved = order.moved(at, a, b)
    assert order.holds(moved)
    found = sorted(given_rows + rows(run(order, b, moved)))
    plain = sorted([*np.flatnonzero(LENGTHS).tolist()] * epochs)
    if last == "drop":
        check_dropped(found, plain, b)
    else:
        assert found == plain
    assert order.moved(at, a, a) == at


def test_a_position_is_small_and_a_block_is_cut_once():
    made = []

    class Counting(BucketCutter):
        def cut(self, rows, batch_size, rest):
            made.append(len(rows))
            return super().cut(rows, batch_size, rest)

    order = BlockOrder(Sequential(13), 1, "mask", Counting(LENGTHS, (5,), 2))
    run(order, 3)
    assert made == [6, 6, 1, 0]


def test_an_order_pickles():
    order = order_of("pack", 5, 2, "mask")
    again = pickle.loads(pickle.dumps(order))
    assert rows(run(again, 3)) == rows(run(order, 3))


def test_a_cutter_that_finds_too_little_gets_more_rows():
    class Greedy:
        def block_rows(self, batch_size):
            return batch_size

        def cut(self, rows, batch_size, rest):
            if len(rows) < 7 and rest is Rest.WAITS:
                return Cut([], rows)
            drafts = [Draft(rows, len(rows), len(rows))] if len(rows) else []
            return Cut(drafts, np.zeros(0, np.int64))

        def describe(self):
            return {}

    order = BlockOrder(Sequential(13), 1, "keep", Greedy())
    assert [len(s.draft.rows) for s in run(order, 2)] == [8, 5]


@pytest.mark.parametrize(
    "at", [Position(0, 14), Position(-1), Position(0, 0, -1), Position(0, 0, 0, (-1,))]
)
def test_positions_that_there_are_not(at):
    assert not order_of("pack", None, 1, "mask").holds(at)

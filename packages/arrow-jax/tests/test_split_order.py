import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arrow_jax._split_order import SplitOrder
from arrow_jax._step import Position
from arrow_jax._stream import Sequential, Shuffled


def run(order, batch_size, at=Position()):  # noqa: B008
    steps = []
    while (step := order.step(at, batch_size)) is not None:
        steps.append(step)
        at = step.after
    return steps


def elements(steps):
    """(row, element) of all that the steps hold."""
    return [
        (int(row), int(start) + i)
        for draft, _ in steps
        for row, start, n in zip(draft.rows, *draft.layout[2:], strict=True)
        for i in range(n)
    ]


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=12),
    st.integers(1, 6),
    st.integers(1, 3),
    st.integers(1, 3),
    st.sampled_from(["mask", "drop", "keep"]),
    st.sampled_from([None, 4]),
)
def test_against_joining_row_by_row(  # noqa: PLR0917
    lengths, capacity, batch_size, epochs, last, seed
):
    n = len(lengths)
    stream = Sequential(n) if seed is None else Shuffled(n, seed)
    order = SplitOrder(stream, epochs, last, np.array(lengths), capacity)
    steps = run(order, batch_size)
    plain = [
        (int(row), i)
        for epoch in range(epochs)
        for row in np.asarray(stream.rows(epoch, 0, n))
        for i in range(lengths[row])
    ]
    size = capacity * batch_size
    n_given = len(plain) // size * size if last == "drop" else len(plain)
    assert elements(steps) == plain[:n_given]
    assert len(steps) == order.count(batch_size)
    for i, (draft, after) in enumerate(steps):
        assert (draft.layout.at + draft.layout.lengths <= capacity).all()
        assert order.holds(after) or after.epoch == epochs
        again = order.step(after, batch_size)
        assert (again is None) == (i + 1 == len(steps))
    for cut in range(1, len(steps)):
        rest = run(order, batch_size + 1, steps[cut - 1].after)
        found = elements(steps[:cut]) + elements(rest)
        assert found == plain[: len(found)]


def test_endless_runs_have_no_count():
    order = SplitOrder(Sequential(2), None, "drop", np.array([3, 4]), 5)
    assert order.count(2) is None
    assert order.step(Position(10**9, 1, 2), 2).draft.size == 2


class EveryOther(Sequential):
    """A stream of rows 0, 2, ...: half of the dataset in an epoch."""

    def rows(self, epoch, start, stop):
        return np.arange(start, stop) * 2


@pytest.mark.parametrize("last", ["mask", "drop", "keep"])
def test_a_stream_that_leaves_rows_out_counts_its_own(last):
    lengths = np.array([3, 100, 4, 100, 0, 100])
    order = SplitOrder(EveryOther(3, covers=False), 2, last, lengths, 2)
    steps = run(order, 1)
    epoch = [(0, 0), (0, 1), (0, 2), (2, 0), (2, 1), (2, 2), (2, 3)]
    assert order.count(1) == len(steps) == (7 if last == "drop" else 8)
    assert elements(steps) == 2 * epoch


def test_an_epoch_without_an_element_is_passed_over():
    # The second epoch has none: it starts behind the last row that has.
    order = SplitOrder(Sequential(3), 2, "mask", np.array([0, 2, 0]), 2)
    step = order.step(Position(0, 2), 1)
    assert (step.draft.epoch, step.draft.rows.tolist()) == (1, [1])
    assert order.step(Position(1, 2), 1) is None


def test_the_order_is_said_in_json():
    order = SplitOrder(Sequential(3), 2, "mask", np.array([1, 1, 1]), 4)
    wanted = {"shuffle": False, "last": "mask", "pack": 4, "split": True}
    assert json.loads(json.dumps(order.describe())) == wanted


@pytest.mark.parametrize(
    ("at", "held"),
    [
        (Position(0, 0), True),
        (Position(0, 1), True),  # an empty row can only begin
        (Position(0, 1, 1), False),
        (Position(0, 2, 2), True),
        (Position(0, 2, 3), False),
        (Position(0, 2, -1), False),
        (Position(0, 3), False),
        (Position(0, -1), False),
        (Position(2, 0), True),  # the end of the run
        (Position(3, 0), False),
    ],
)
def test_only_places_inside_are_held(at, held):
    order = SplitOrder(Sequential(3), 2, "mask", np.array([1, 0, 3]), 4)
    assert order.holds(at) is held

import numpy as np
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

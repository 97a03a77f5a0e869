from itertools import chain

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from arrow_jax._nodes import Lists, Tensor
from arrow_jax._ragged import cut, flatten, pack, pad, segments
from arrow_jax._step import Layout


def lists(lengths, gap=2):
    """Lists that lie apart in their child, as after a filter."""
    lengths = np.array(lengths, np.int64)
    starts = np.cumsum(lengths + gap) - lengths
    child = Tensor(np.arange(1, starts[-1] + lengths[-1] + gap + 1))
    return Lists(starts, lengths, child)


def render(node):
    return node.values


def plain(node):
    return [
        node.child.values[s : s + n].tolist()
        for s, n in zip(node.starts, node.lengths, strict=True)
    ]


lengths = st.lists(st.integers(0, 6), min_size=1, max_size=8)


@given(lengths)
def test_padding_row_by_row(lengths):
    node = lists(lengths)
    ragged = pad(node, 6, render)
    assert ragged.values.tolist() == [r + [0] * (6 - len(r)) for r in plain(node)]
    assert ragged.lengths.tolist() == lengths
    assert ragged.lengths.dtype == np.int32
    assert ragged.values.ctypes.data % 64 == 0


@given(lengths)
def test_flattening_row_by_row(lengths):
    node = lists(lengths)
    ragged = flatten(node, 60, render)
    joined = [*chain(*plain(node))]
    assert ragged.values.tolist() == joined + [0] * (60 - len(joined))


@given(lengths, st.integers(1, 6))
def test_cutting_row_by_row(lengths, n):
    node = lists(lengths)
    assert plain(cut(node, n)) == [row[:n] for row in plain(node)]


def test_packing_pieces():
    node = lists([3, 4, 2])
    rows = plain(node)
    layout = Layout(
        bins=np.array([0, 0, 2]),
        at=np.array([0, 3, 1]),
        starts=np.array([0, 1, 0]),
        lengths=np.array([3, 2, 2]),
    )
    values = pack(node, layout, n_bins=3, capacity=5, render=render)
    assert values.tolist() == [
        [*rows[0], *rows[1][1:3]],
        [0] * 5,
        [0, *rows[2], 0, 0],
    ]
    ids, positions = segments(layout, n_bins=3, capacity=5)
    assert ids.tolist() == [[1, 1, 1, 2, 2], [0] * 5, [0, 1, 1, 0, 0]]
    assert positions.tolist() == [[0, 1, 2, 0, 1], [0] * 5, [0, 0, 1, 0, 0]]

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from arrow_jax._nodes import (
    Lists,
    Tensor,
    aligned,
    as_lists,
    compact,
    expand,
    join,
    pick,
    place,
)


def rows_of(lists):
    values = lists.child.values
    return [
        values[s : s + n].tolist()
        for s, n in zip(lists.starts, lists.lengths, strict=True)
    ]


def lists_of(*pairs):
    starts, lengths = np.array(pairs, np.int64).reshape(-1, 2).T
    return Lists(starts, lengths, Tensor(np.arange(10)))


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 4)), max_size=6))
def test_compact_keeps_the_rows_and_drops_the_rest(pairs):
    lists = lists_of(*pairs)
    small = compact(lists)
    assert rows_of(small) == rows_of(lists)
    assert len(small.child) == lists.lengths.sum()
    assert expand(lists.starts, lists.lengths).tolist() == [
        x for row in rows_of(lists) for x in row
    ]


def test_compact_of_lists_in_order_is_a_view():
    lists = lists_of((2, 3), (5, 0), (5, 2))
    assert np.shares_memory(compact(lists).child.values, lists.child.values)


def test_joining_and_picking_are_those_of_plain_lists():
    a, b = lists_of((3, 2), (0, 1)), lists_of((9, 1), (4, 0))
    joined = join([a, b])
    assert rows_of(joined) == [[3, 4], [0], [9], []]
    assert rows_of(pick(joined, np.array([2, 0]))) == [[9], [3, 4]]
    assert rows_of(pick(joined, slice(1, 3))) == [[0], [9]]


def test_a_mask_of_one_part_becomes_a_mask_of_all():
    parts = [Tensor(np.array([1, 2])), Tensor(np.array([3]), np.array([False]))]
    assert join(parts).valid.tolist() == [True, True, False]


def test_memory_is_aligned_and_of_the_shape():
    for shape in ((0,), (1,), (3, 5), (7, 0, 2), (1000,)):
        array = aligned(shape, np.dtype(np.float64))
        assert array.shape == shape
        assert array.ctypes.data % 64 == 0 or not array.size


def test_picked_rows_are_fresh_and_slices_are_views():
    tensor = Tensor(np.arange(8.0).reshape(4, 2))
    picked = pick(tensor, np.array([1, 3])).values
    assert picked.ctypes.data % 64 == 0
    assert not np.shares_memory(picked, tensor.values)
    assert np.shares_memory(pick(tensor, slice(1, 3)).values, tensor.values)


def test_a_tensor_as_lists():
    tensor = Tensor(np.arange(6).reshape(3, 2), np.array([True, False, True]))
    assert rows_of(as_lists(tensor)) == [[0, 1], [], [4, 5]]


def test_placing_is_picking_and_joining_in_order():
    a = Tensor(np.arange(6).reshape(3, 2), np.array([True, False, True]))
    b = Tensor(np.arange(10, 14).reshape(2, 2))
    parts = [(a, np.array([2, 1])), (b, np.array([1, 0, 1]))]
    made = place(parts, np.array([0, 3, 1, 2, 4]))
    assert made.values.tolist() == [[4, 5], [12, 13], [10, 11], [2, 3], [12, 13]]
    assert made.valid.tolist() == [True, True, True, False, True]
    assert made.inner is None
    assert made.values.ctypes.data % 64 == 0

import numpy as np

from arrow_jax import Masked
from arrow_jax._masked_rows import flatten_rows, holds_mask, row_lengths

ROW = Masked(np.array([1, 2]), np.array([True, False]))


def test_a_mask_is_found_at_any_depth():
    assert holds_mask(ROW)
    assert holds_mask([[ROW], []])
    assert not holds_mask([])
    assert not holds_mask([[1, 2]])
    assert not holds_mask(np.array([1]))


def test_masks_within_masks_are_joined_level_by_level():
    deep = Masked(
        Masked(np.ones((2, 3)), np.ones((2, 3), bool)), np.array([True, False])
    )
    joined = flatten_rows([deep, deep])
    assert joined.valid.tolist() == [True, False, True, False]
    assert joined.values.values.shape == joined.values.valid.shape == (4, 3)
    assert row_lengths([deep, ROW, []]) == [2, 2, 0]


def test_a_row_without_a_mask_is_all_there():
    joined = flatten_rows([ROW, np.array([7])])
    assert joined.values.tolist() == [1, 2, 7]
    assert joined.valid.tolist() == [True, False, True]


def test_rows_of_lists_of_rows():
    assert flatten_rows([[ROW], [], [ROW, ROW]]) == [ROW, ROW, ROW]

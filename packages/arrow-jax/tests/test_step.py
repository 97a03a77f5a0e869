import numpy as np

from arrow_jax._step import Draft, Layout, filled


def test_a_short_batch_repeats_its_last_row():
    draft = filled(Draft(range(3, 5), 2, 2), 4)
    assert np.asarray(draft.rows).tolist() == [3, 4, 4, 4]
    assert (draft.n_real, draft.size) == (2, 4)


def test_a_full_one_and_a_packed_one_keep_their_rows():
    full = Draft(range(4), 4, 4)
    assert filled(full, 4) is full
    packed = Draft(np.array([7]), 1, 1, layout=Layout(*[np.array([0])] * 4))
    assert filled(packed, 3).rows is packed.rows
    assert filled(packed, 3).size == 3


def test_a_part_knows_how_many_of_its_rows_are_of_the_first_epoch():
    draft = Draft(range(6), 6, 6, epoch=3, turn=4)
    part = draft.local(np.array([1, 3, 5]))
    assert part.rows.tolist() == [1, 3, 5]
    assert (part.size, part.epoch, part.turn) == (3, 3, 2)
    assert Draft(range(6), 6, 6).local(np.array([1])).turn is None

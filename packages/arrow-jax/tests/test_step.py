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

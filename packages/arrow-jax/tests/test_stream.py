import numpy as np
import pytest

from arrow_jax._permutation import permute
from arrow_jax._stream import _BLOCK, Sequential, Shuffled, take_rows_at


def test_blocks_of_the_shuffle_join():
    n = 3 * _BLOCK + 5
    rows = Shuffled(n, 1).rows(2, _BLOCK - 2, 3 * _BLOCK - 2)
    wanted = permute(np.arange(_BLOCK - 2, 3 * _BLOCK - 2), n=n, seed=1, epoch=2)
    np.testing.assert_array_equal(rows, wanted)


@pytest.mark.parametrize("stream", [Sequential(5), Shuffled(5, 3)])
@pytest.mark.parametrize("across", [False, True])
@pytest.mark.parametrize("k", [0, 1, 4, 5, 7, 30])
def test_taking_is_walking_row_by_row(stream, across, k):
    plain = [(e, r) for e in range(3) for r in range(5)]
    for at, (epoch, row) in enumerate(plain):
        ahead = plain[at:] if across else [p for p in plain[at:] if p[0] == epoch]
        wanted = [int(np.asarray(stream.rows(e, r, r + 1))[0]) for e, r in ahead[:k]]
        taken = take_rows_at(stream, epoch, row, k, epochs=3, across=across)
        assert np.asarray(taken.rows).tolist() == wanted
        behind = plain[at + len(wanted)] if at + len(wanted) < 15 else (3, 0)
        assert (taken.epoch, taken.row) == behind
        assert taken.ended == (k >= len(ahead))


def test_behind_the_last_epoch_there_is_nothing():
    taken = take_rows_at(Sequential(5), 2, 0, 3, epochs=2, across=True)
    assert (len(taken.rows), taken.ended) == (0, True)


def test_an_order_says_what_it_depends_on():
    assert Sequential(3).describe() == {"shuffle": False}
    assert Shuffled(3, 7).describe() == {"shuffle": True, "seed": 7}

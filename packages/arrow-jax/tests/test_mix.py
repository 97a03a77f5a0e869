import numpy as np
import pytest

from arrow_jax import ArrowJaxError, Dataset, Loader, ShapeError, mix
from arrow_jax._mix import _BLOCK, MixStream
from arrow_jax._permutation import permute


def dataset(first, n):
    return Dataset.from_dict({"x": np.arange(first, first + n)})


def values(loader):
    return [int(x) for batch in loader for x in np.asarray(batch["x"])]


def test_each_has_its_part_exactly_and_in_its_own_order():
    a, b, c = dataset(0, 700), dataset(1000, 40), dataset(2000, 5)
    mixed = mix([a, b, c], [5, 2, 1], rows=2 * _BLOCK)
    found = np.array(values(Loader(mixed, 64, last="drop")))
    for first, ds, part in ((0, a, 5), (1000, b, 2), (2000, c, 1)):
        mine = found[(found >= first) & (found < first + 1000)]
        assert len(mine) == 2 * _BLOCK * part // 8
        wanted = np.tile(np.asarray(ds["x"]), len(mine) // len(ds) + 1)
        np.testing.assert_array_equal(mine, wanted[: len(mine)])


def test_the_order_of_datasets_is_mixed():
    mixed = mix([dataset(0, 9), dataset(100, 9)], [1, 1], rows=_BLOCK)
    first = np.array(values(Loader(mixed, 64))) < 100
    # A coin: runs of one dataset are about n / 2 in number.
    runs = 1 + (first[1:] != first[:-1]).sum()
    assert abs(runs - _BLOCK / 2) < 5 * _BLOCK**0.5 / 2
    other = mix([dataset(0, 9), dataset(100, 9)], [1, 1], seed=1, rows=_BLOCK)
    assert (np.array(values(Loader(other, 64))) < 100).tolist() != first.tolist()


def test_shuffled_datasets_are_gone_through_once_before_they_begin_again():
    mixed = mix([dataset(0, 50), dataset(100, 7)], [3, 1], rows=400)
    found = np.array(values(Loader(mixed, 16, shuffle=True, last="drop")))
    mine = found[found < 100]
    rounds = [mine[i : i + 50].tolist() for i in range(0, len(mine) - 49, 50)]
    assert len(rounds) > 3
    assert all(sorted(r) == list(range(50)) for r in rounds)
    assert rounds[0] != rounds[1]


def test_epochs_follow_each_other():
    stream = MixStream(10, (0, 4, 20), (1024, 3072), 0, None)
    joined = np.concatenate([stream.rows(e, 0, 10) for e in range(5)])
    whole = MixStream(50, (0, 4, 20), (1024, 3072), 0, None).rows(0, 0, 50)
    np.testing.assert_array_equal(joined, whole)


def test_an_epoch_has_as_many_rows_as_the_datasets():
    mixed = mix([dataset(0, 5), dataset(10, 8)], [1, 1])
    assert len(mixed) == 13
    assert repr(mixed) == "Mix of 5 rows x 0.5, 8 rows x 0.5"
    assert len(Loader(mixed, 4)) == 4


def test_a_state_of_another_mix_is_refused():
    a, b = dataset(0, 9), dataset(100, 9)
    state = iter(Loader(mix([a, b], [1, 1]), 4, prefetch=0)).state()
    with pytest.raises(ArrowJaxError, match=r"mix=.2048, 2048.*mix=.3072, 1024"):
        Loader(mix([a, b], [3, 1]), 4).resume(state)


def test_weights_whose_sum_is_beyond_all_floats():
    a, b = dataset(0, 50), dataset(100, 50)
    for weights in ([1e308, 1e308], [5e-324, 5e-324]):
        assert mix([a, b], weights).weights == (_BLOCK // 2, _BLOCK // 2)


def test_mixes_that_make_no_sense():
    a, b = dataset(0, 3), dataset(5, 3)
    with pytest.raises(
        ArrowJaxError, match=r"mix got \['int'\], wanted a list of Data"
    ):
        mix([3], [1])
    with pytest.raises(ArrowJaxError, match=r"2 datasets and weights of shape \[1\]"):
        mix([a, b], [1])
    for weights in ([-1, 2], [0, 0], [float("nan"), 1]):
        with pytest.raises(
            ArrowJaxError, match="wanted numbers of at least 0, not all"
        ):
            mix([a, b], weights)
    with pytest.raises(ArrowJaxError, match=r"weights\[1\] is 1e-06 of all, less than"):
        mix([a, b], [1, 1e-6])
    with pytest.raises(ArrowJaxError, match="dataset 1 of the mix has no rows"):
        mix([a, b.select([])], [1, 1])
    with pytest.raises(ArrowJaxError, match="have different formats"):
        mix([a, b.with_format("jax", nulls="mask")], [1, 1])
    with pytest.raises(ArrowJaxError, match="rows=0: wanted at least 1"):
        mix([a, b], [1, 1], rows=0)
    with pytest.raises(ShapeError, match="has the columns"):
        mix([a, b.rename_column("x", "y")], [1, 1])
    assert len(mix([a, b.select([])], [1, 0])) == 3


@pytest.mark.parametrize("sizes", [(1, 3), (7, 50), (4096, 5000)])
def test_each_pass_has_the_order_of_its_epoch(sizes):
    rows = 3 * _BLOCK
    parts = [dataset(10_000 * i, n) for i, n in enumerate(sizes)]
    mixed = mix(parts, [1, 1], rows=rows)
    found = np.array(values(Loader(mixed, 64, shuffle=True, seed=5)))
    for i, n in enumerate(sizes):
        mine = found[found // 10_000 == i] - 10_000 * i
        passes = -(-len(mine) // n)
        want = [permute(np.arange(n), n=n, seed=5 + i, epoch=e) for e in range(passes)]
        assert mine.tolist() == np.concatenate(want)[: len(mine)].tolist()

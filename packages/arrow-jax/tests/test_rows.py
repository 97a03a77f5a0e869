import jax.numpy as jnp
import numpy as np
import pytest

from arrow_jax import ArrowJaxError, Dataset, ShapeError

VALUES = [10, 11, 12, 13]


@pytest.fixture
def ds():
    return Dataset.from_dict({"c": VALUES}).with_format("numpy")


@pytest.mark.parametrize(
    ("key", "rows"),
    [
        (slice(1, 3), [1, 2]),
        (slice(None, None, 2), [0, 2]),
        (slice(None, None, -1), [3, 2, 1, 0]),
        (slice(3, 100), [3]),
        (slice(3, 1), []),
        ([2, 0], [2, 0]),
        ([], []),
        ([-1, -4], [3, 0]),
        (range(1, 4, 2), [1, 3]),
        (np.array([3, 3], np.uint8), [3, 3]),
        (jnp.array([2, 1]), [2, 1]),
        ([True, False, True, False], [0, 2]),
        (np.zeros(4, bool), []),
        (jnp.array([False, False, False, True]), [3]),
    ],
)
def test_keys_pick_rows_and_booleans_are_masks(ds, key, rows):
    assert ds[key]["c"].tolist() == [VALUES[r] for r in rows]
    assert ds.select([3, 2, 1, 0]).select([3, 2, 1, 0])[key]["c"].tolist() == [
        VALUES[r] for r in rows
    ]


@pytest.mark.parametrize("key", [0, -1, np.int8(2), jnp.int32(1), np.array(3)])
def test_an_integer_of_any_kind_gives_a_row(ds, key):
    assert ds[key]["c"] == VALUES[int(key)]
    assert np.shape(ds[key]["c"]) == ()


@pytest.mark.parametrize("key", [4, -5, [0, 4], np.array([-5])])
def test_out_of_range_names_row_and_range(ds, key):
    with pytest.raises(
        IndexError, match=r"row (4|-5) of a dataset with 4 rows.*-4 to 3"
    ):
        ds[key]


def test_no_rows_at_all():
    with pytest.raises(IndexError, match="without rows"):
        Dataset.from_dict({"c": []})[0]


def test_a_mask_of_another_length_raises(ds):
    with pytest.raises(ShapeError, match="a mask of 3 booleans for 4 rows"):
        ds[[True, False, True]]


@pytest.mark.parametrize("key", [1.5, [0.5], None, np.zeros((2, 2), int)])
def test_other_keys_raise(ds, key):
    with pytest.raises(TypeError, match=r"rows can't be picked by"):
        ds[key]


@pytest.mark.parametrize("size", [0, -1, 1.5, True, "2"])
def test_a_batch_size_is_a_positive_integer(ds, size):
    with pytest.raises(ArrowJaxError, match=r"batch_size=.*: wanted"):
        ds.iter(size)


@pytest.mark.parametrize("key", [10**30, -(10**30), [0, 10**30], 2**63, 2**64])
def test_what_no_integer_of_numpy_holds_is_out_of_range(ds, key):
    with pytest.raises(IndexError, match=r"row -?\d{19,31} of a dataset with 4 rows"):
        ds[key]

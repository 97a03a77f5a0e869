import numpy as np
import pytest

from arrow_jax import (
    ArrowJaxError,
    Dataset,
    DatasetDict,
    Features,
    Image,
    ShapeError,
    Value,
    concatenate,
)


def test_rows_follow_each_other_views_included():
    a = Dataset.from_dict({"x": [0, 1, 2], "s": ["p", "q", "r"]})
    b = Dataset.from_dict({"x": [3], "s": ["t"]})
    got = concatenate([b, a.select([2, 0]), a.skip(1), b])
    assert got[:] == {"x": [3, 2, 0, 1, 2, 3], "s": ["t", "r", "p", "q", "r", "t"]}
    assert concatenate([a])[:] == a[:]
    assert len(concatenate([a.take(0), b.take(0)])) == 0


def test_splits_that_lie_in_line_stay_a_range():
    splits = DatasetDict.from_dict({"a": {"x": [1, 2]}, "b": {"x": [3]}})
    got = concatenate(list(splits.values()))
    assert isinstance(got.rows, range)
    assert got["x"] == [1, 2, 3]


def test_what_is_known_of_one_holds_for_all():
    a, b = (Dataset.from_dict({"x": x}) for x in ([[1], [2]], [[3, 4]]))
    got = concatenate([a.with_format("numpy"), b.with_format("numpy")])
    assert isinstance(got[:2]["x"], list)
    assert concatenate([a.with_format("numpy"), b]).format.kind is None


def test_what_differs_is_named():
    a = Dataset.from_dict({"x": [1]})
    with pytest.raises(ShapeError, match=r"dataset 1 has the columns \['y'\]"):
        concatenate([a, Dataset.from_dict({"y": [1]})])
    with pytest.raises(ShapeError, match=r"column 'x' of dataset 2 .*float32"):
        concatenate([a, a, a.cast_column("x", Value("float32"))])
    with pytest.raises(ArrowJaxError, match="got dict, wanted datasets"):
        concatenate([a, {"x": [1]}])
    with pytest.raises(ArrowJaxError, match="got nothing"):
        concatenate([])


def test_errors_name_the_dataset_of_a_row():
    features = Features({"im": Image()})
    good = Dataset.from_dict({"im": [np.zeros((2, 2), np.uint8)]}, features)
    bad = Dataset.from_dict({"im": [b"bad"]}, features)
    with pytest.raises(ValueError, match="column 'im', row 0 of dataset 1: "):
        concatenate([good, bad]).with_format("numpy")[:]

import jax
import numpy as np
import pytest

from arrow_jax import ArrowJaxError, Dataset, DatasetDict


def test_every_split_is_formatted():
    splits = DatasetDict.from_dict({"train": {"x": [[1, 2]]}, "test": {"x": [[3, 4]]}})
    splits = splits.with_format("jax", device=jax.devices()[1])
    assert isinstance(splits, DatasetDict)
    assert splits["train"][0]["x"].tolist() == [1, 2]
    assert splits["test"][0]["x"].devices() == {jax.devices()[1]}
    assert list(splits) == ["train", "test"]


def test_splits_share_what_is_known():
    splits = DatasetDict.from_dict({"a": {"x": [[1], [2]]}, "b": {"x": [[1, 2]]}})
    formatted = splits.with_format("numpy")
    assert isinstance(formatted["a"][:]["x"], list)
    assert isinstance(formatted["b"][:]["x"], list)
    assert [x.tolist() for x in formatted["b"]["x"]] == [[1, 2]]


def test_splits_of_other_columns_stand_alone():
    splits = DatasetDict.from_dict({"a": {"x": [1], "y": [2]}, "b": {"x": [[3]]}})
    assert splits["a"].column_names == ["x", "y"]
    assert splits["b"].with_format("numpy")[0]["x"] == np.array([3])


def test_values_are_datasets():
    ds = Dataset.from_dict({"x": [1]})
    assert DatasetDict({"all": ds})["all"] is ds
    with pytest.raises(ArrowJaxError, match="split 'a' is a dict, wanted a Dataset"):
        DatasetDict({"a": {"x": [1]}})


def test_what_it_looks_like():
    assert repr(DatasetDict.from_dict({"a": {"x": [1]}})).startswith("a: Dataset of 1 ")

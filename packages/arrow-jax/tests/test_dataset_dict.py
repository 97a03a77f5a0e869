import jax
import numpy as np
import pyarrow as pa
import pytest

from arrow_jax import (
    ArrowJaxError,
    ClassLabel,
    Dataset,
    DatasetDict,
    Features,
    NullsError,
    Value,
)


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


def test_datasets_with_the_same_columns_share_what_is_known():
    train = Dataset.from_dict({"x": [[1], [2, 3]], "label": [0, 1]})
    test = Dataset.from_dict({"x": [[4, 5], [6, 7]], "label": [1, 0]})
    splits = DatasetDict({"train": train, "test": test.select([1, 0])})
    formatted = splits.with_format("numpy")
    assert [x.tolist() for x in formatted["test"]["x"]] == [[6, 7], [4, 5]]
    assert formatted["test"]["label"].tolist() == [0, 1]
    assert formatted["test"].spec == formatted["train"].spec
    assert splits["train"].source is splits["test"].source
    # and alone they are what they were
    assert test.with_format("numpy")["x"].shape == (2, 2)


def test_dictionaries_of_shared_splits_are_made_one():
    def of(*words):
        column = pa.array(words).dictionary_encode()
        return Dataset.from_arrow(pa.table({"c": column}))

    splits = DatasetDict({"a": of("x", "y"), "b": of("z", "y")}).with_format("numpy")
    names = np.array(splits["b"].features["c"].values)
    assert names[splits["b"]["c"]].tolist() == ["z", "y"]


def test_an_error_names_the_split():
    a, b = Dataset.from_dict({"x": [1, 2]}), Dataset.from_dict({"x": [3, None]})
    splits = DatasetDict({"a": a, "b": b}).with_format("numpy")
    with pytest.raises(NullsError, match="column 'x', row 1 of split 'b'"):
        splits["b"]["x"]


def test_other_features_are_not_shared():
    a = Dataset.from_dict({"x": [0]}, Features({"x": ClassLabel(["cat"])}))
    b = Dataset.from_dict({"x": [0]}, Features({"x": ClassLabel(["dog"])}))
    splits = DatasetDict({"a": a, "b": b})
    assert splits["b"] is b
    assert splits["a"].features["x"].names == ("cat",)


def test_values_are_datasets():
    ds = Dataset.from_dict({"x": [1]})
    assert DatasetDict({"all": ds})["all"] is ds
    with pytest.raises(ArrowJaxError, match="split 'a' is a dict, wanted a Dataset"):
        DatasetDict({"a": {"x": [1]}})


def test_what_it_looks_like():
    assert repr(DatasetDict.from_dict({"a": {"x": [1]}})).startswith("a: Dataset of 1 ")


def test_verbs_are_done_to_every_split():
    parts = {"train": {"x": [3, 1, 2], "y": [1, 2, 3]}, "test": {"x": [5], "y": [4]}}
    ds = DatasetDict.from_dict(parts)
    done = {
        "map": ds.map(lambda b: {"x": b["x"] + 1})["test"]["x"],
        "filter": ds.filter(lambda b: b["x"] > 1)["train"]["x"],
        "sort": ds.sort("x", reverse=True)["train"]["x"],
        "shuffle": sorted(ds.shuffle(seed=0)["train"]["x"]),
        "cast": ds.cast_column("x", Value("int8"))["test"].features["x"].dtype,
        "rename": ds.rename_column("x", "z")["test"].column_names,
        "remove": ds.remove_columns(["x"])["train"].column_names,
    }
    assert done == {
        "map": [6],
        "filter": [3, 2],
        "sort": [3, 2, 1],
        "shuffle": [1, 2, 3],
        "cast": "int8",
        "rename": ["z", "y"],
        "remove": ["y"],
    }
    renamed = ds.rename_column("x", "z")
    assert renamed["train"].source is renamed["test"].source
    ds.set_format("numpy")
    assert all(split["x"].dtype == np.int64 for split in ds.values())

import json

import numpy as np
import pyarrow as pa
import pytest

from arrow_jax import (
    ArrowJaxError,
    ClassLabel,
    Dataset,
    DatasetDict,
    Features,
    Image,
    NarrowingError,
    Value,
)


def test_cast_column_against_pylist():
    ds = Dataset.from_dict({"x": [1, None, 3], "y": ["a", "b", "c"]})
    got = ds.select([2, 1]).cast_column("x", Value("float32"))
    assert got[:] == {"x": [3.0, None], "y": ["c", "b"]}
    assert got.features["x"] == Value("float32")
    assert got.to_arrow().schema.field("x").type == pa.float32()
    assert ds["x"] == [1, None, 3]


def test_cast_column_is_checked_for_the_rows_of_the_view_only():
    ds = Dataset.from_dict({"x": [1, 300, 2]})
    with pytest.raises(NarrowingError, match=r"column 'x', row 1: .*int8.*: 300"):
        ds.cast_column("x", Value("int8"))
    assert ds.select([2, 0]).cast_column("x", Value("int8"))["x"] == [2, 1]
    with pytest.raises(NarrowingError, match="300"):
        ds.select([2, 1]).cast_column("x", Value("int8"))
    with pytest.raises(ArrowJaxError, match="no column 'z'"):
        ds.cast_column("z", Value("int8"))


def test_cast_column_to_labels_and_image_modes():
    features = Features({"im": Image()})
    columns = {"im": [np.zeros((2, 3), np.uint8)] * 2, "pet": ["dog", "cat"]}
    ds = Dataset.from_dict(columns, features).cast_column("im", Image(mode="RGB"))
    ds = ds.cast_column("pet", ClassLabel(["cat", "dog"])).with_format("numpy")
    assert ds["im"].shape == (2, 2, 3, 3)
    assert ds["pet"].tolist() == [1, 0]
    assert ds["pet"].dtype == np.int32


def test_splits_still_share_what_is_known_after_a_cast():
    splits = DatasetDict.from_dict({"a": {"x": [[1], [2]]}, "b": {"x": [[3, 4]]}})
    made = {n: s.rename_column("x", "y") for n, s in splits.items()}
    assert made["a"].source is made["b"].source
    assert isinstance(made["a"].with_format("numpy")["y"], list)


def test_rename_column_also_in_the_format():
    ds = Dataset.from_dict({"x": [1, None], "y": [3, 4]})
    ds = ds.with_format("numpy", columns=["x"], nulls={"x": "mask"})
    got = ds.rename_column("x", "z")
    assert got.column_names == ["z"]
    assert got["z"].valid.tolist() == [True, False]
    assert got.with_format(None)[:] == {"z": [1, None], "y": [3, 4]}
    with pytest.raises(ArrowJaxError, match="there is a column 'y'"):
        ds.rename_column("x", "y")
    with pytest.raises(ArrowJaxError, match="no column 'q'"):
        ds.rename_column("q", "y")


def test_remove_columns_also_from_the_format():
    ds = Dataset.from_dict({"x": [1, None], "y": [3, 4], "z": ["a", "b"]})
    ds = ds.with_format("numpy", columns=["x", "y"], nulls={"x": "mask"})
    assert ds.remove_columns("x").column_names == ["y"]
    assert ds.with_format(None).remove_columns(["x", "y"])[:] == {"z": ["a", "b"]}
    with pytest.raises(ArrowJaxError, match="no column 'q'; there are"):
        ds.remove_columns(["x", "q"])


def test_dtypes_by_column_follow_their_columns():
    ds = Dataset.from_dict({"x": [1], "y": [2]})
    ds = ds.with_format("numpy", dtype={"x": "int8", "y": "float32"})
    assert ds.rename_column("x", "z")["z"].dtype == np.int8
    assert ds.remove_columns("x")["y"].dtype == np.float32


def test_to_arrow_gives_the_view_and_its_features():
    features = Features({"pet": ClassLabel(["cat", "dog"])})
    ds = Dataset.from_dict({"pet": [1, 0, 1], "x": [5, 6, 7]}, features)
    table = ds.select([2, 1]).with_format("jax", columns=["pet"]).to_arrow()
    assert table.to_pydict() == {"pet": [1, 0]}
    said = json.loads(table.schema.metadata[b"huggingface"])["info"]["features"]
    assert said["pet"]["names"] == ["cat", "dog"]
    assert Dataset.from_arrow(table).features == features

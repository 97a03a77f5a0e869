import json

import pyarrow as pa
import pytest

from arrow_jax import (
    Array2D,
    ClassLabel,
    Dataset,
    Features,
    Image,
    List,
    Value,
)
from arrow_jax._metadata import read_features, write_features

IMAGE = pa.struct({"bytes": pa.binary(), "path": pa.string()})


def schema(types, said):
    meta = said if isinstance(said, bytes) else json.dumps({"info": {"features": said}})
    return pa.schema(types, metadata={"huggingface": meta})


def test_the_layout_of_a_public_image_data_set():
    said = {
        "image": {"_type": "Image"},
        "label": {"names": ["0", "1"], "_type": "ClassLabel"},
    }
    found = read_features(schema({"image": IMAGE, "label": pa.int64()}, said))
    assert found == {"image": Image(), "label": ClassLabel(["0", "1"])}
    assert json.loads(write_features(found)[b"huggingface"])["info"]["features"] == said


def test_what_is_written_is_read_back():
    features = Features(
        {
            "im": Image(mode="RGB", shape=(2, 2, 3)),
            "l": List(ClassLabel(["a"])),
            "m": Array2D((None, 2), "float32"),
            "s": {"x": Value("float64"), "y": List(Value("int8"), length=2)},
        }
    )
    types = {
        "im": IMAGE,
        "l": pa.list_(pa.int64()),
        "m": pa.list_(pa.list_(pa.float32())),
        "s": pa.struct({"x": pa.float64(), "y": pa.list_(pa.int8(), 2)}),
    }
    assert (
        read_features(pa.schema(types, metadata=write_features(features))) == features
    )


def test_older_layouts_of_lists():
    label = {"names": ["a"], "_type": "ClassLabel"}
    types = {"a": pa.list_(pa.int64())}
    for said in ([label], {"feature": label, "_type": "Sequence"}):
        found = read_features(schema(types, {"a": said}))
        assert found["a"] == List(ClassLabel(["a"]))


def test_the_arrow_type_wins_over_what_does_not_fit_or_is_unknown():
    said = {
        "a": {"_type": "Image"},
        "b": {"names": ["x"], "_type": "ClassLabel"},
        "c": {"shape": [2], "dtype": "int8", "_type": "Array2D"},
        "d": {"_type": "Hologram"},
        "gone": {"_type": "Image"},
    }
    types = {"a": pa.int64(), "b": pa.string(), "c": pa.float32(), "d": pa.int8()}
    assert read_features(schema(types, said)) == {
        "a": Value("int64"),
        "b": Value("string"),
        "c": Value("float32"),
        "d": Value("int8"),
    }


@pytest.mark.parametrize(
    "said",
    [
        b"{not json",
        b"[" * 100_000,
        b"[]",
        b'{"info": {}}',
        b'{"info": {"features": 3}}',
        b'{"info": {"features": {"a": {"_type": "ClassLabel"}}}}',
        b'{"info": {"features": {"a": {"_type": "ClassLabel", "names": ["x", "x"]}}}}',
    ],
)
def test_broken_metadata_are_left_out_with_a_warning(said):
    table = pa.table({"a": [1]}).replace_schema_metadata({"huggingface": said})
    with pytest.warns(
        UserWarning, match=r"'huggingface' metadata.* left out.*features"
    ):
        ds = Dataset.from_arrow(table)
    assert ds["a"] == [1]
    assert ds.features == {"a": Value("int64")}


def test_one_broken_column_leaves_the_others_what_they_are():
    said = {"a": {"_type": "ClassLabel"}, "b": {"names": ["x"], "_type": "ClassLabel"}}
    with pytest.warns(UserWarning, match="of column 'a'"):
        found = read_features(schema({"a": pa.int64(), "b": pa.int64()}, said))
    assert found == {"a": Value("int64"), "b": ClassLabel(["x"])}

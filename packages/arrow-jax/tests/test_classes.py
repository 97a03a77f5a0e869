import pyarrow as pa
import pytest

from arrow_jax import ArrowJaxError, ClassLabel, Dataset, DatasetDict


@pytest.mark.parametrize(
    ("values", "names"),
    [
        (["b", "a", None, "b"], ("a", "b")),
        ([30, 4, None, 30], ("4", "30")),
        ([True, False, None, True], ("False", "True")),
        (pa.array(["b", "a", None, "b"]).dictionary_encode(), ("a", "b")),
        (pa.array(["b", "a", None, "b"], pa.large_string()), ("a", "b")),
        (pa.array(["b", "a", None, "b"], pa.string_view()), ("a", "b")),
        (
            pa.RunEndEncodedArray.from_arrays([1, 2, 3, 4], ["b", "a", None, "b"]),
            ("a", "b"),
        ),
    ],
)
def test_values_become_labels_in_their_order(values, names):
    ds = Dataset.from_arrow(pa.table({"x": values})).class_encode_column("x")
    assert ds.features["x"] == ClassLabel(names)
    assert ds["x"] == [1, 0, None, 1]


def test_splits_number_their_labels_alike():
    splits = DatasetDict.from_dict({"train": {"x": ["b", "c"]}, "test": {"x": ["a"]}})
    splits = splits.class_encode_column("x")
    assert splits["train"].features == splits["test"].features
    assert (splits["train"]["x"], splits["test"]["x"]) == ([1, 2], [0])
    assert splits["test"].source is splits["train"].source


def test_numbers_with_fractions_are_no_labels():
    with pytest.raises(ArrowJaxError, match="column 'x' has type double, wanted str"):
        Dataset.from_dict({"x": [0.5]}).class_encode_column("x")


def test_labels_keep_their_names():
    ds = Dataset.from_dict({"x": [1, 0]}, {"x": ClassLabel(["no", "yes"])})
    assert ds.class_encode_column("x").features["x"] == ClassLabel(["no", "yes"])
    assert ds.class_encode_column("x")["x"] == [1, 0]

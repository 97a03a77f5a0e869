import pyarrow as pa
import pytest

from arrow_jax import Dataset, DatasetDict, concatenate


def codes(*values):
    return pa.array(values).dictionary_encode()


def nested(*values):
    """Lists and structs of a dictionary."""
    n = len(values)
    return {
        "list": pa.ListArray.from_arrays([*range(n + 1)], codes(*values)),
        "struct": pa.StructArray.from_arrays([codes(*values)], ["f"]),
    }


@pytest.mark.parametrize("kind", nested("a"))
def test_the_values_of_a_dictionary_are_known_at_any_depth(kind):
    chunks = [nested("a", "b", "a")[kind], nested("c", "a")[kind]]
    ds = Dataset.from_arrow(pa.table({"x": pa.chunked_array(chunks)}))
    words, feature = ["a", "b", "a", "c", "a"], ds.features["x"]
    column = ds.with_format("numpy")["x"]
    if kind == "struct":
        feature, column = feature["f"], column["f"]
    else:
        feature = feature.feature
    assert [feature.values[code] for code in column.reshape(-1)] == words


def test_a_dictionary_column_of_no_rows_has_no_values():
    ds = Dataset.from_arrow(pa.table({"x": codes("a")[:0]}))
    assert ds.features["x"].values == ()


@pytest.mark.parametrize("kind", nested("a"))
def test_datasets_with_other_values_are_laid_together(kind):
    parts = [nested("a", "b")[kind], nested("c", "b")[kind]]
    first, second = (Dataset.from_arrow(pa.table({"x": part})) for part in parts)
    splits = DatasetDict({"train": first, "test": second})
    assert splits["train"].source is splits["test"].source
    feature = splits["test"].features["x"]
    values = (feature["f"] if kind == "struct" else feature.feature).values
    assert values == ("a", "b", "c")
    column = splits["test"].with_format("numpy")["x"]
    codes = column["f"] if kind == "struct" else column
    assert codes.reshape(-1).tolist() == [2, 1]
    assert concatenate([first, second])["x"] == first["x"] + second["x"]

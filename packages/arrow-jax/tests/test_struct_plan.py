import numpy as np
import pytest

from arrow_jax import Dataset, Loader, NullsError, Ragged

ROWS = [{"a": 1, "r": [1, 2], "s": "x"}, {"a": 2, "r": [3], "s": "y"}]


def test_fields_are_columns_and_strings_stay():
    ds = Dataset.from_dict({"c": ROWS}).with_format("numpy")
    got = ds[:]["c"]
    assert got["a"].tolist() == [1, 2]
    assert [x.tolist() for x in got["r"]] == [[1, 2], [3]]
    assert got["s"] == ["x", "y"]
    assert ds[1]["c"]["s"] == "y"
    assert set(ds.spec["c"]) == {"a", "r"}


def test_errors_name_the_field():
    ds = Dataset.from_dict({"c": [{"a": {"b": 1}}, {"a": None}]})
    with pytest.raises(NullsError, match=r"column 'c\.a\.b', row 1"):
        ds.with_format("jax")[:]


def test_ragged_fields_are_padded():
    rows = [{k: row[k] for k in "ar"} for row in ROWS]
    batch = next(iter(Loader(Dataset.from_dict({"c": rows}), 2, ragged={"c": 3})))
    assert isinstance(batch["c"]["r"], Ragged)
    np.testing.assert_array_equal(batch["c"]["r"].values, [[1, 2, 0], [3, 0, 0]])
    assert batch["c"]["a"].tolist() == [1, 2]

import numpy as np
import pyarrow as pa
import pytest

from arrow_jax import Dataset, Features, Image
from arrow_jax._inspect import describe, inspect_columns


@pytest.fixture
def reports():
    table = pa.table(
        {
            "x": np.arange(64),
            "v": np.arange(64, dtype=np.float32),
            "gap": [None if i == 3 else i for i in range(64)],
            "t": [[1] * (i % 5) for i in range(64)],
            "inner": [[1, None]] * 64,
            "s": ["a"] * 64,
            "price": pa.array([1] * 64, pa.decimal128(9, 2)),
            "deep": [[[1], [1, 2]]] * 63 + [[[1]]],
        }
    )
    return {r.name: r for r in inspect_columns(Dataset.from_arrow(table))}


def test_what_columns_become_and_what_it_costs(reports):
    assert reports["x"].becomes == "int32[]"
    assert reports["x"].way == "copied"
    assert reports["v"].way == "viewed"
    assert reports["v"].n_bytes == 256
    assert reports["gap"].becomes == "Masked int32[]"
    assert reports["gap"].nulls == 1
    assert reports["inner"].becomes == "Masked Masked int32[2]"
    assert reports["deep"].usable is False


def test_what_the_loader_wants(reports):
    assert reports["x"].advice == ""
    assert reports["gap"].advice == 'nulls="mask"'
    assert reports["s"].advice == "host=['s']"
    assert reports["t"].lengths == "0 to 4, median 2"
    assert reports["t"].edges == (0, 1, 2, 3, 4) or len(reports["t"].edges) > 1
    assert reports["t"].advice.startswith("ragged={'t': Buckets([")
    assert "% in one length" in reports["t"].advice
    assert reports["price"].becomes == "no array"
    assert 'Value("float32")' in reports["price"].advice


def test_the_paths_of_images_are_no_nulls():
    ds = Dataset.from_dict(
        {"im": np.zeros((3, 2, 2), np.uint8)}, Features({"im": Image()})
    )
    (report,) = inspect_columns(ds)
    assert report.becomes == "uint8[2, 2]"
    assert report.way == "decoded"
    assert not report.masked


def test_specs_in_words():
    ds = Dataset.from_dict({"s": [{"a": 1, "t": [1.0]}, {"a": 2, "t": []}]})
    assert describe(ds.spec["s"]) == "{a: int32[], t: Ragged float32[*]}"

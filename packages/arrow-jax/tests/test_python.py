import datetime as dt

import pyarrow as pa

from arrow_jax import Dataset


def test_everything_arrow_can_say_in_python():
    columns = {
        "t": pa.array([dt.date(2020, 1, 1), None]),
        "m": pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int8())),
        "s": pa.array([{"a": [1, None]}, None]),
        "d": pa.array(["x", "y"]).dictionary_encode(),
    }
    table = pa.table(columns)
    ds = Dataset.from_arrow(table)
    assert ds[:] == table.to_pydict()
    assert ds[1] == {"t": None, "m": None, "s": None, "d": "y"}


def test_tensors_are_nested_lists():
    ds = Dataset.from_dict({"t": [[[1, 2], [3, 4]]]})
    assert ds["t"] == [[[1, 2], [3, 4]]]

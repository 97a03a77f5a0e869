import pyarrow as pa
import pytest

from arrow_jax import Dataset


@pytest.mark.parametrize(
    "type_", [pa.string(), pa.large_string(), pa.binary(), pa.large_binary()]
)
def test_nulls_are_none_whatever_the_policy_and_the_neighbours(type_):
    values = ["a\0", None, "", "\0\0"]
    if pa.types.is_binary(type_) or pa.types.is_large_binary(type_):
        values = [None if v is None else v.encode() for v in values]
    ds = Dataset.from_arrow(pa.table({"c": pa.array(values, type_)}))
    for nulls in ("error", "mask", 0):
        formatted = ds.with_format("jax", nulls=nulls)
        assert formatted[:]["c"] == values
        assert [formatted[i]["c"] for i in range(4)] == values
        assert formatted[[3, 0]]["c"] == [values[3], values[0]]

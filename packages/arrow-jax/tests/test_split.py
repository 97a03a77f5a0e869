import pyarrow as pa
import pytest

from arrow_jax import ArrowJaxError, Dataset
from arrow_jax._split import split, split_type

ROWS = [[{"a": 1, "b": [1.0]}, None], None, [], [{"a": None, "b": None}]]


def wanted(field):
    return [
        None if row is None else [None if x is None else x[field] for x in row]
        for row in ROWS
    ]


@pytest.mark.parametrize("wrap", [pa.list_, pa.large_list])
def test_lists_of_structs_keep_nulls_and_slices(wrap):
    type_ = wrap(pa.struct({"a": pa.int8(), "b": pa.list_(pa.float32())}))
    for start in range(len(ROWS) + 1):
        array = pa.array(ROWS, type_).slice(start)
        parts = split(array)
        for field in ("a", "b"):
            assert parts[field].to_pylist() == wanted(field)[start:]
            assert parts[field].type == split_type(type_)[field]


def test_fixed_lists_of_structs():
    rows = [[{"a": 1}, {"a": 2}], None, [{"a": 3}, None]]
    array = pa.array(rows, pa.list_(pa.struct({"a": pa.int8()}), 2))
    assert split(array)["a"].to_pylist() == [[1, 2], None, [3, None]]
    assert split(array.slice(2))["a"].to_pylist() == [[3, None]]


def test_a_null_struct_is_null_in_every_field():
    array = pa.array([{"a": 1, "b": "x"}, None, {"a": None, "b": "z"}]).slice(1)
    parts = split(array)
    assert parts["a"].to_pylist() == [None, None]
    assert parts["b"].to_pylist() == [None, "z"]


def test_a_struct_with_two_fields_of_one_name_is_refused():
    twice = pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"])
    for column, path in (
        (twice, "x"),
        (pa.ListArray.from_arrays([0, 1], twice), "x"),
        (pa.StructArray.from_arrays([twice], ["f"]), "x.f"),
    ):
        with pytest.raises(ArrowJaxError, match=f"'{path}' is a struct with 2 fields"):
            Dataset.from_arrow(pa.table({"x": column}))

"""Every layout becomes a plain one that says the same."""

import numpy as np
import pyarrow as pa
import pytest
from type_cases import CASES, build

from arrow_jax import Dataset, List, Value
from arrow_jax._plain import as_bytes, plain, plain_type

LAYOUTS = ("view", "run_end", "map", "bool8", "uuid", "json")
PLAIN = [n for n in CASES if not any(word in n for word in LAYOUTS)]


def said(value):
    """What a plain layout says for a value of another."""
    if isinstance(value, list) and value and isinstance(value[0], tuple):
        return [dict(zip(("key", "value"), pair, strict=True)) for pair in value]
    return value


@pytest.mark.parametrize("name", CASES)
def test_a_slice_with_nulls_says_the_same(name):
    case = CASES[name]
    values = [case.values[0], None, *case.values[1:], None, case.values[0]]
    array = case.array(values)[1:-1]
    got = plain(array)
    got.validate(full=True)
    wanted = [said(v) for v in array.to_pylist()]
    if name == "arrow.uuid":
        wanted = [v and list(v.bytes) for v in wanted]
    assert got.to_pylist() == wanted
    assert got.type == plain_type(array.type)


@pytest.mark.parametrize("name", PLAIN)
def test_what_is_plain_stays_the_same_object(name):
    array = CASES[name].array()
    assert plain(array) is array


@pytest.mark.parametrize(
    "type_",
    [
        pa.list_(pa.list_view(pa.string_view())),
        pa.list_(pa.run_end_encoded(pa.int32(), pa.int8()), 1),
        pa.struct({"a": pa.list_(pa.binary_view())}),
        pa.list_(pa.uuid()),
    ],
)
def test_layouts_inside_of_others_are_found(type_):
    assert not any(word in str(plain_type(type_)) for word in LAYOUTS)


def test_views_out_of_order_and_over_each_other():
    values = pa.array([10, 11, 12, 13], pa.int8())
    views = pa.ListViewArray.from_arrays([2, 0, 1], [2, 3, 0], values)
    assert plain(views).to_pylist() == [[12, 13], [10, 11, 12], []]
    in_order = pa.ListViewArray.from_arrays([1, 2], [1, 2], values)
    shared = np.asarray(plain(in_order).values)
    assert np.shares_memory(shared, np.asarray(values))


def test_a_run_is_not_looked_at_row_by_row():
    runs = build(pa.run_end_encoded(pa.int32(), pa.int8()), [5] * 1000 + [6] * 1000)
    assert plain(runs[999:1001]).to_pylist() == [5, 6]


@pytest.mark.parametrize(
    "type_", [pa.string(), pa.large_string(), pa.binary(), pa.large_binary()]
)
def test_bytes_are_uint8_without_a_copy(type_):
    values = [b"ab\0", None, b"", b"\0\0"]
    array = pa.array(values, pa.binary()).cast(type_)[1:]
    assert as_bytes(array).to_pylist() == [None, [], [0, 0]]
    assert as_bytes(array).values.buffers()[1].address == array.buffers()[2].address
    assert as_bytes(array[:0]).to_pylist() == []


def test_bytes_of_one_width_are_lists_of_one_size():
    array = pa.array([b"\1\0", b"\0\0", None], pa.binary(2))
    assert as_bytes(array).to_pylist() == [[1, 0], [0, 0], None]
    assert as_bytes(array[1:]).type == pa.list_(pa.uint8(), 2)


class Foreign(pa.ExtensionType):
    """A type of another library, which Arrow knows only where that was imported."""

    def __init__(self):
        super().__init__(pa.list_(pa.int8()), "vendor.type")

    def __arrow_ext_serialize__(self):
        return b""


def test_types_of_other_libraries_are_what_they_are_stored_as():
    storage = pa.array([[1, 2], None, [3, 4]], pa.list_(pa.int8()))
    array = pa.ExtensionArray.from_storage(Foreign(), storage)
    assert plain(array[1:]).equals(storage[1:])
    for column in (array, storage):
        ds = Dataset.from_arrow(pa.table({"c": column}))
        got = ds.with_format("numpy", nulls="mask")["c"]
        assert got.values.tolist() == [[1, 2], [0, 0], [3, 4]]
        assert ds.features["c"] == List(Value("int8"))
        assert ds["c"] == storage.to_pylist()

"""Every Arrow type, alone and nested, against the oracle and against each other."""

import datetime as dt
import itertools
from unittest import mock

import jax
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from oracle import alike, column_of, undone
from type_cases import CASES, build

from arrow_jax import Dataset, NullsError, UnsupportedTypeError, to_arrow

REFUSED = ("null", "decimal", "interval", "union", "opaque")
GIVEN = [name for name in CASES if not any(word in name for word in REFUSED)]
OBJECTS = [
    name
    for name in GIVEN
    if any(word in name for word in ("string", "bin", "json"))
    and "dictionary" not in name
]
ARRAYS = [name for name in GIVEN if name not in OBJECTS]
# The dictionary is at hand in the features; the codes are what arrays hold.
DECODED = [name for name in GIVEN if "dictionary" not in name]


def dataset(*chunks):
    return Dataset.from_arrow(pa.table({"c": pa.chunked_array(chunks)}))


@pytest.mark.parametrize("name", sorted(set(CASES) - set(GIVEN)))
@pytest.mark.parametrize("kind", ["jax", "numpy"])
def test_what_has_no_array_is_refused_when_the_format_is_set(name, kind):
    ds = dataset(CASES[name].array())
    with pytest.raises(UnsupportedTypeError, match=r"column 'c' has type .*columns=\["):
        ds.with_format(kind)
    assert ds.with_format("arrow")[:].num_rows == 4


@pytest.mark.parametrize("name", DECODED)
@pytest.mark.parametrize("x64", [False, True])
def test_rows_slices_columns_and_batches_agree(name, x64):
    array = CASES[name].array()
    wanted = column_of(array.type, array.to_pylist())
    with jax.enable_x64(x64):
        ds = dataset(array[:2], array[2:])
        wide = wide_times(array.type)
        ds = ds.with_format("jax" if x64 or not wide else "numpy")
        assert undone(ds["c"]) == wanted
        assert undone(ds[:]["c"]) == wanted
        for i in range(4):
            assert undone(ds[i]["c"]) == row_of(wanted, i)
        parts = [undone(b["c"]) for b in ds.iter(batch_size=3)]
        assert parts == [rows_of(wanted, 0, 3), rows_of(wanted, 3, 4)]
        assert undone(ds[[3, 0, 3]]["c"]) == rows_of(wanted, [3, 0, 3])


def wide_times(type_):
    return any(word in str(type_) for word in ("[us", "duration", "date64"))


def row_of(column, i):
    if isinstance(column, dict):
        return {name: row_of(inner, i) for name, inner in column.items()}
    return column[i]


def rows_of(column, *key):
    if isinstance(column, dict):
        return {name: rows_of(inner, *key) for name, inner in column.items()}
    if len(key) == 1:
        return [column[i] for i in key[0]]
    return column[slice(*key)]


@pytest.mark.parametrize("name", GIVEN)
def test_a_null_changes_no_dtype_rank_or_container(name):
    case = CASES[name]
    full = dataset(case.array()).with_format("numpy", nulls="mask")
    holed = dataset(case.array([*case.values, None])).with_format("numpy", nulls="mask")
    assert jax.tree.structure(full.spec) == jax.tree.structure(holed.spec)
    assert jax.tree.leaves(full.spec) == jax.tree.leaves(holed.spec)
    assert undone(holed[:4]["c"]) == undone(full["c"])
    empty = holed[0:0]["c"]
    assert jax.tree.structure(holed[:0]) == jax.tree.structure(full[:0])
    assert [a.dtype for a in jax.tree.leaves(empty)] == [
        a.dtype for a in jax.tree.leaves(full[:0])
    ]


@pytest.mark.parametrize("name", ARRAYS)
def test_a_null_raises_unless_it_was_allowed(name):
    case = CASES[name]
    ds = dataset(case.array([*case.values, None])).with_format("numpy")
    with pytest.raises(NullsError, match=r"column 'c(\.\w+)?', row 4: found a null"):
        ds[:]
    assert ds.take(4)[0]


@pytest.mark.parametrize("name", OBJECTS)
def test_objects_are_byte_for_byte_and_none_where_null(name):
    case = CASES[name]
    array = case.array([*case.values[:2], None, *case.values[2:]])
    ds = dataset(array).with_format("jax", nulls="mask")
    assert undone(ds["c"]) == column_of(array.type, array.to_pylist())


@pytest.mark.parametrize("name", sorted(set(CASES) - {"sparse_union"}))
def test_the_table_survives_the_way_through(name):
    case = CASES[name]
    table = pa.table({"c": case.array([None, *case.values])[1:]})
    ds = Dataset.from_arrow(table)
    assert ds.with_format("arrow")[:].equals(table)
    assert to_arrow({"c": table["c"]}).equals(table)


@pytest.mark.parametrize("name", GIVEN)
def test_what_a_format_gives_goes_back_to_arrow(name):
    case = CASES[name]
    column = case.array([*case.values, None])
    ds = dataset(column).with_format("numpy", nulls="mask")
    back = Dataset.from_arrow(to_arrow({"c": ds["c"]}))
    again = back.with_format("numpy", nulls="mask")
    assert undone(again["c"]) == undone(ds["c"])
    assert [a.dtype for a in jax.tree.leaves(again["c"]) if hasattr(a, "dtype")] == [
        a.dtype for a in jax.tree.leaves(ds["c"]) if hasattr(a, "dtype")
    ]


leaves = {
    pa.int8(): st.integers(-128, 127),
    pa.uint16(): st.integers(0, 2**16 - 1),
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.uint64(): st.integers(0, 2**64 - 1),
    pa.float16(): st.integers(-99, 99).map(np.float16),
    pa.float64(): st.floats(allow_nan=False),
    pa.bool_(): st.booleans(),
    pa.date32(): st.dates(dt.date(1900, 1, 1)),
    pa.timestamp("us"): st.datetimes(dt.datetime(1900, 1, 1)),  # noqa: DTZ001
    pa.duration("ms"): st.integers(-(2**40), 2**40).map(
        lambda n: dt.timedelta(milliseconds=n)
    ),
    pa.string(): st.text(max_size=3),
    pa.string_view(): st.text(max_size=20),
    pa.large_binary(): st.binary(max_size=3),
    pa.binary(2): st.binary(min_size=2, max_size=2),
}
lists = (pa.list_, pa.large_list, pa.list_view, pa.large_list_view)


@st.composite
def typed(draw, depth=2):
    """A type, and a strategy of its values, nulls included."""
    kind = draw(st.integers(0, 4 if depth else 0))
    if kind == 1:
        type_, values = draw(typed(depth - 1))
        wrap = draw(st.sampled_from(lists))
        return wrap(type_), st.none() | st.lists(values, max_size=3)
    if kind == 2:
        type_, values = draw(typed(depth - 1))
        n = draw(st.integers(1, 2))
        return pa.list_(type_, n), st.none() | st.lists(values, min_size=n, max_size=n)
    if kind == 3:
        (a, some), (b, more) = draw(typed(depth - 1)), draw(typed(0))
        both = st.fixed_dictionaries({"a": some, "b": more})
        return pa.struct({"a": a, "b": b}), st.none() | both
    if kind == 4:
        type_, values = draw(typed(depth - 1))
        pairs = st.lists(st.tuples(st.integers(0, 9), values), max_size=2)
        return pa.map_(pa.int8(), type_), st.none() | pairs
    type_ = draw(st.sampled_from(list(leaves)))
    return type_, st.none() | leaves[type_]


@pytest.mark.parametrize("small", [0, 1 << 20], ids=["kept apart", "merged"])
@given(typed(), st.data())
def test_any_type_in_any_chunks_against_to_pylist(small, column, data):
    with mock.patch("arrow_jax._chunks._SMALL", small):
        check_any_type(*column, data)


def check_any_type(type_, values, data):
    rows = data.draw(st.lists(values, max_size=6))
    array = build(type_, rows)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=3)))
    bounds = itertools.pairwise([0, *cuts, len(rows)])
    chunks = pa.chunked_array([array.slice(a, b - a) for a, b in bounds], type_)
    start = data.draw(st.integers(0, len(rows)))
    table = pa.table({"c": chunks}).slice(start)
    listed = table["c"].to_pylist()
    ds = Dataset.from_arrow(table).with_format("numpy", nulls="mask")
    assert alike(undone(ds[:]["c"]), column_of(type_, listed))
    keys = data.draw(st.lists(st.integers(0, len(listed) - 1))) if listed else []
    picked = [listed[key] for key in keys]
    assert alike(undone(ds[keys]["c"]), column_of(type_, picked))
    assert ds.with_format(None)[keys]["c"] == picked
    assert ds.with_format("arrow")[keys]["c"].to_pylist() == picked


@given(typed(), st.data())
def test_whatever_a_format_gives_goes_back_to_arrow(column, data):
    type_, values = column
    rows = data.draw(st.lists(values, min_size=1, max_size=6))
    array = build(type_, rows)
    ds = Dataset.from_arrow(pa.table({"c": array})).with_format("numpy", nulls="mask")
    back = to_arrow({"c": ds[:]["c"]})
    # lists of strings that are all empty say nothing of their type
    assume("null" not in str(back.schema.field("c").type))
    again = Dataset.from_arrow(back).with_format("numpy", nulls="mask")
    assert undone(again["c"]) == undone(ds["c"])

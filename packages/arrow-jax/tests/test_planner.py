"""The law: what a column becomes does not depend on the rows asked for."""

import jax
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arrow_jax import ArrowJaxError, Dataset, Masked, NarrowingError, NullsError

number = {
    pa.int8(): st.integers(-128, 127),
    pa.uint32(): st.integers(0, 2**32 - 1),
    pa.int64(): st.integers(-(2**31), 2**31 - 1),
    pa.float16(): st.integers(-99, 99).map(np.float16),
    pa.float32(): st.floats(width=32, allow_nan=False),
    pa.bool_(): st.booleans(),
}


@st.composite
def typed(draw, depth=2):
    """A type and a strategy of its values, nulls included."""
    kind = draw(st.integers(0, 3 if depth else 0))
    if kind == 1:
        type_, values = draw(typed(depth - 1))
        return pa.list_(type_), st.none() | st.lists(values, max_size=2)
    if kind == 2:
        type_, values = draw(typed(depth - 1))
        n = draw(st.integers(1, 2))
        fixed = st.lists(values, min_size=n, max_size=n)
        return pa.list_(type_, n), st.none() | fixed
    if kind == 3:
        type_, values = draw(typed(depth - 1))
        return pa.struct({"f": type_}), st.none() | st.fixed_dictionaries({"f": values})
    type_ = draw(st.sampled_from(list(number)))
    return type_, st.none() | number[type_]


def shape_of(tree):
    """What stays the same for every batch: containers, dtypes and row shapes."""
    if isinstance(tree, Masked):
        return ("masked", shape_of(tree.values), shape_of(tree.valid))
    if isinstance(tree, dict):
        return {k: shape_of(v) for k, v in tree.items()}
    if isinstance(tree, list):
        return ("list", {repr(shape_of(x)) for x in tree})
    return ("array", tree.dtype, tree.shape[1:])


def fits(small, large):
    """Whether a batch of some rows has the kind of the whole column."""
    if isinstance(small, dict):
        return all(fits(small[k], large[k]) for k in large)
    if small[0] == "list":
        return large[0] == "list" and small[1] <= large[1]
    if small[0] == "masked":
        return (
            large[0] == "masked" and fits(small[1], large[1]) and small[2] == large[2]
        )
    return small == large


@given(typed(), st.data())
def test_any_rows_give_the_kind_of_the_column(column, data):
    type_, values = column
    rows = data.draw(st.lists(values, min_size=1, max_size=6))
    ds = Dataset.from_arrow(pa.table({"c": pa.array(rows, type_)}))
    ds = ds.with_format("numpy", nulls="mask")
    whole = shape_of(ds[:]["c"])
    start = data.draw(st.integers(0, len(rows)))
    some = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=4))
    for key in (slice(start, None), slice(0, 0), some):
        assert fits(shape_of(ds[key]["c"]), whole)


@given(typed(), st.data())
def test_the_spec_of_a_row_is_true_where_no_axis_is_ragged(column, data):
    type_, values = column
    rows = data.draw(st.lists(values, min_size=1, max_size=6))
    ds = Dataset.from_arrow(pa.table({"c": pa.array(rows, type_)}))
    ds = ds.with_format("jax", nulls="mask")
    if any(
        isinstance(x, list)
        for x in jax.tree.leaves(ds[:]["c"], is_leaf=lambda x: isinstance(x, list))
    ):
        return
    got = jax.tree.map(lambda a: (a.shape, a.dtype), ds[0]["c"])
    assert got == jax.tree.map(lambda s: (s.shape, s.dtype), ds.spec["c"])


def test_times_inside_of_structs_are_checked_when_the_format_is_set():
    far = pa.array([2**40], pa.timestamp("ms"))
    table = pa.table({"c": pa.StructArray.from_arrays([far], ["at"])})
    with pytest.raises(NarrowingError, match=r"column 'c\.at', row 0"):
        Dataset.from_arrow(table).with_format("jax")


def test_a_null_time_raises_at_its_first_use_like_every_other_null():
    ds = Dataset.from_arrow(pa.table({"c": pa.array([1, None], pa.date32())}))
    assert ds.with_format("jax").take(1)["c"].tolist() == [1]
    with pytest.raises(NullsError, match="column 'c', row 1"):
        ds.with_format("jax")["c"]


@pytest.mark.parametrize(
    "type_",
    [
        pa.list_(pa.timestamp("us")),
        pa.list_(pa.list_(pa.duration("us"))),
        pa.list_(pa.struct({"a": pa.timestamp("us")})),
        pa.fixed_shape_tensor(pa.timestamp("us"), [1]),
    ],
)
def test_times_in_lists_are_checked_when_the_format_is_set(type_):
    if isinstance(type_, pa.FixedShapeTensorType):
        storage = pa.array([[2**40]], type_.storage_type)
        column = pa.ExtensionArray.from_storage(type_, storage)
    else:
        row = {"a": 2**40} if "struct" in str(type_) else 2**40
        for _ in range(str(type_).count("list<")):
            row = [row]
        column = pa.array([row], type_)
    ds = Dataset.from_arrow(pa.table({"x": column}))
    with pytest.raises(NarrowingError, match=r"column 'x.*, row 0: .* cast the column"):
        ds.with_format("jax")


@pytest.mark.parametrize("nulls", [np.array([1, 2]), np.array("mask"), [1], object()])
def test_nulls_that_are_no_policy_are_refused(nulls):
    with pytest.raises(ArrowJaxError, match=r'nulls=.*: wanted "error", "nan"'):
        Dataset.from_dict({"x": [1]}).with_format("jax", nulls=nulls)

import datetime as dt
import re
from decimal import Decimal

import jax
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from type_cases import CASES

from arrow_jax import (
    ArrowJaxError,
    ClassLabel,
    Dataset,
    Days,
    List,
    NarrowingError,
    UnsupportedTypeError,
    Value,
)

DECIMALS = [name for name in CASES if name.startswith("decimal")]


def asked(array, feature):
    return Dataset.from_arrow(pa.table({"c": array}), {"c": feature})


@pytest.mark.parametrize("name", DECIMALS)
def test_a_decimal_is_refused_unless_asked_for_as_float(name):
    case = CASES[name]
    array = case.array([*case.values, None])
    table = pa.table({"c": array})
    with pytest.raises(
        UnsupportedTypeError,
        match=rf"'c' has type {name}.*cast_column\('c', Value\(\"float32\"\)\)",
    ):
        Dataset.from_arrow(table).with_format("jax")
    ds = asked(array, Value("float32")).with_format("jax", nulls="nan")
    assert ds["c"].dtype == np.float32
    assert ds["c"][:4].tolist() == [float(v) for v in case.values]
    assert Dataset.from_arrow(table)[0] == {"c": case.values[0]}


def test_decimals_in_lists_and_structs():
    lists = pa.array(
        [[Decimal("1.5")], [Decimal("2.5")]], pa.list_(pa.decimal128(5, 2))
    )
    ds = asked(lists, List(Value("float32"))).with_format("jax")
    assert ds["c"].tolist() == [[1.5], [2.5]]
    structs = pa.array([{"p": Decimal("1.5")}])
    ds = asked(structs, {"p": Value("float64")}).with_format("numpy")
    assert ds["c"]["p"].tolist() == [1.5]


def test_a_column_of_nulls_takes_any_type_that_it_is_told():
    with pytest.raises(UnsupportedTypeError, match=r"Value\(\"int32\"\)"):
        Dataset.from_arrow(pa.table({"c": pa.nulls(3)})).with_format("jax")
    ds = asked(pa.nulls(3), Value("int16")).with_format("jax", nulls=7)
    assert ds["c"].tolist() == [7, 7, 7]
    assert ds["c"].dtype == np.int16


@pytest.mark.parametrize("view", [pa.binary(), pa.large_binary(), pa.binary_view()])
def test_bytes_as_uint8(view):
    array = pa.array([b"ab\0", b"", b"\xff"], view)
    ds = asked(array, List(Value("uint8"))).with_format("jax")
    assert [x.tolist() for x in ds["c"]] == [[97, 98, 0], [], [255]]
    assert ds["c"][0].dtype == np.uint8


def test_bytes_of_one_width_as_a_tensor():
    array = pa.array([b"\1\0\0\0", b"\0\0\0\0"], pa.binary(4))
    ds = asked(array, List(Value("uint8"), 4)).with_format("jax")
    assert ds["c"].tolist() == [[1, 0, 0, 0], [0, 0, 0, 0]]
    # without being asked they stay bytes, to the last NUL
    plain = Dataset.from_arrow(pa.table({"c": array})).with_format("jax")
    assert plain["c"] == [b"\1\0\0\0", b"\0\0\0\0"]


def test_text_as_uint8_is_its_utf8():
    ds = asked(pa.array(["é", "a"]), List(Value("uint8"))).with_format("numpy")
    assert [x.tolist() for x in ds["c"]] == [[0xC3, 0xA9], [97]]


def test_an_error_names_the_row_across_chunks():
    chunks = pa.chunked_array([[1, 2], [3, 300, 4]])
    with pytest.raises(NarrowingError, match=r"column 'c', row 3: can't.*'int8'.*300"):
        asked(chunks, Value("int8"))
    assert asked(chunks, Value("int16"))["c"] == [1, 2, 3, 300, 4]


def test_no_such_conversion_or_column():
    with pytest.raises(ArrowJaxError, match=r"column 'c' could not become Value.*int8"):
        asked(pa.array([[1]]), Value("int8"))
    with pytest.raises(ArrowJaxError, match=r"column 'd'; there are \['c'\]"):
        Dataset.from_arrow(pa.table({"c": [1]}), {"d": Value("int8")})


def test_text_can_become_labels():
    ds = asked(pa.array(["dog", "cat"]), ClassLabel(["cat", "dog"]))
    assert ds.with_format("jax")["c"].tolist() == [1, 0]


def test_what_is_that_already_is_not_copied():
    table = pa.table({"c": pa.array([1.0, 2.0], pa.float32())})
    ds = Dataset.from_arrow(table, {"c": Value("float32")})
    assert ds.source.table is table


times = st.integers(-(2**46), 2**46)


@given(st.lists(st.none() | times, min_size=1), st.sampled_from(["s", "ms"]))
def test_days_against_a_loop(values, unit):
    array = pa.array(values, pa.timestamp("ms"))
    ds = asked(array, Days(unit)).with_format("numpy", nulls=0)
    per = {"s": 1000, "ms": 1}[unit]
    day = 86_400_000
    wanted = [[0, 0] if v is None else [v // day, v % day // per] for v in values]
    assert ds["c"].tolist() == wanted
    assert ds["c"].dtype == np.int32


@pytest.mark.parametrize(
    "type_",
    [
        pa.timestamp("s"),
        pa.timestamp("us", "Europe/Berlin"),
        pa.timestamp("ns"),
        pa.duration("us"),
        pa.date64(),
        pa.time64("ns"),
    ],
)
def test_days_of_every_time(type_):
    # one day and five seconds; a time of day has no days
    per = {"date64": 1000, "s": 1, "us": 10**6, "ns": 10**9}
    n = per["date64" if pa.types.is_date64(type_) else type_.unit]
    is_time = pa.types.is_time(type_)
    array = pa.array([n * (5 if is_time else 86_405)], pa.int64()).cast(type_)
    ds = asked(array, Days("s")).with_format("jax")
    assert ds[0]["c"].tolist() == [0 if is_time else 1, 5]


def test_days_that_are_none():
    with pytest.raises(ArrowJaxError, match=r'Days\("us"\)|wanted "s" or "ms"'):
        Days("us")
    with pytest.raises(ArrowJaxError, match="this is int64"):
        asked(pa.array([1]), Days("s"))
    far = pa.array([2**60], pa.timestamp("s"))
    with pytest.raises(NarrowingError, match=r"column 'c', row 0.*does not fit int32"):
        asked(far, Days("s"))


def test_times_that_pass_int32_raise_at_once_and_days_do_not():
    now = pa.array([dt.datetime(2100, 1, 1, tzinfo=dt.UTC)], pa.timestamp("s", "UTC"))
    with pytest.raises(NarrowingError, match=r"Days\(\"ms\"\)"):
        Dataset.from_arrow(pa.table({"c": now})).with_format("jax")
    ds = asked(now, Days("ms")).with_format("jax")
    assert ds[0]["c"].tolist() == [47482, 0]
    with jax.enable_x64(new_val=True):
        whole = Dataset.from_arrow(pa.table({"c": now})).with_format("jax")
        assert whole[0]["c"].item() == 47482 * 86400


@pytest.mark.parametrize(
    "array",
    [
        pa.array([Decimal("1.5")]),
        pa.array([[Decimal("1.5")]]),
        pa.array([[[None]]], pa.list_(pa.large_list(pa.null()))),
        pa.nulls(1),
        pa.array([{"p": Decimal("1.5"), "q": 1}]),
        pa.array([{"p": [Decimal("1.5")], "q": "text"}]),
    ],
    ids=lambda array: str(array.type),
)
def test_what_the_error_says_to_type_works(array):
    ds = Dataset.from_arrow(pa.table({"c": array}))
    with pytest.raises(UnsupportedTypeError, match="Say what it shall be") as caught:
        ds.with_format("jax")
    typed = re.search(r"shall be: (ds.*), or leave", str(caught.value))[1]
    better = eval(typed, {"ds": ds, "Value": Value, "List": List})
    assert "c" in better.with_format("jax", nulls=0).spec


def test_no_way_out_is_invented():
    interval = pa.array([(1, 2, 3)], pa.month_day_nano_interval())
    with pytest.raises(UnsupportedTypeError, match=r"to become\. Leave it out with"):
        Dataset.from_arrow(pa.table({"c": interval})).with_format("jax")

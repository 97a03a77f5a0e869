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
    Array2D,
    ArrowJaxError,
    ClassLabel,
    Dataset,
    Days,
    List,
    Masked,
    NarrowingError,
    Ragged,
    UnsupportedTypeError,
    Value,
    to_arrow,
    write_parquet,
)

DECIMALS = [name for name in CASES if name.startswith("decimal")]
L16 = List(Value("float16"))


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


@pytest.mark.parametrize(
    ("values", "feature", "said"),
    [
        ([1.0, None, 1.9], Value("int32"), r"row 2.*1\.9"),
        ([[1.0], None, [2.0, 2.5]], List(Value("int32")), r"row 2.*2\.5"),
        ([[[2.0, 2.7]]], Array2D((1, 2), "int32"), r"row 0.*2\.7"),
        ([2**60 + 1, 1.5], Value("int64"), r"row 1.*1\.5"),
        ([{"p": 1.0}, {"p": 1.5}], {"p": Value("int8")}, r"row 1.*1\.5"),
        (np.array([1.0, 1.9]), Value("int32"), r"row 1.*1\.9"),
        ([float("nan")], Value("int32"), "nan"),
        ([1.0, 1e300, 2.0], Value("float32"), r"row 1.*1e\+300"),
        ([[], [1.0, 1e6]], List(Value("float16")), r"row 1.*1000000\.0"),
        ([None, [1.0, 1e6]], List(Value("float16"), 2), r"row 1.*1000000\.0"),
        ([[[1.0, -1e300]]], Array2D((1, 2), "float32"), r"row 0.*-1e\+300"),
        (np.array([[[1.0, 1e300]]]), Array2D((1, 2), "float32"), r"row 0.*1e\+300"),
        ([1.9], Value("timestamp[ms]"), r"row 0.*1\.9"),
        ([1.0, 1.5], Value("date32"), r"row 1.*1\.5"),
        ([0, 100_000], Value("float16"), "row 1.*100000"),
        ([Decimal(1), Decimal("1e60")], Value("float32"), "row 1.*Decimal"),
    ],
)
def test_no_number_is_cut_or_becomes_inf(values, feature, said, tmp_path):
    wanted = rf"(?s)column 'c'.*{said}"
    for make in (
        lambda: Dataset.from_dict({"c": values}, {"c": feature}),
        lambda: to_arrow({"c": values}, {"c": feature}),
        lambda: write_parquet(tmp_path / "a.parquet", {"c": values}, {"c": feature}),
    ):
        with pytest.raises(NarrowingError, match=wanted):
            make()
    assert not (tmp_path / "a.parquet").exists()


@pytest.mark.parametrize(
    ("array", "feature", "row"),
    [
        (pa.array([1.0, 1e300]), Value("float32"), 1),
        (pa.array([None, [1.0, 1e6]], pa.list_(pa.float32(), 2)), L16, 1),
        (pa.array([[9.0], [], [1.0, 1e6]])[1:], L16, 1),
        (pa.array([Decimal("1e60")], pa.decimal256(76, 0)), Value("float32"), 0),
        (pa.array([{"p": 1.0}, {"p": 1e300}]), {"p": Value("float32")}, 1),
        (pa.array(["-inf", "1e300"]), Value("float32"), 1),
        (pa.array([1.0, 1e300]).dictionary_encode(), Value("float32"), 1),
    ],
    ids=lambda case: str(getattr(case, "type", "")),
)
def test_a_cast_to_a_narrower_float_is_checked(array, feature, row):
    ds = Dataset.from_arrow(pa.table({"c": array}))
    with pytest.raises(NarrowingError, match=rf"column 'c', row {row}: can't become"):
        ds.cast_column("c", feature)
    with pytest.raises(NarrowingError, match=rf"column 'c', row {row}: can't become"):
        asked(array, feature)


def test_what_rounds_or_is_whole_or_has_no_end_passes():
    odd = [0.1, float("inf"), float("-inf"), float("nan"), 3.4028235e38]
    for ds in (
        Dataset.from_dict({"c": odd}, {"c": Value("float32")}),
        Dataset.from_dict({"c": odd}).cast_column("c", Value("float32")),
    ):
        got = ds.with_format("jax")["c"]
        np.testing.assert_array_equal(got, np.array(odd, np.float32))
    whole = Dataset.from_dict({"c": [2.0, None]}, {"c": Value("int32")})
    assert whole["c"] == [2, None]
    hidden = pa.array([1e300, 1.0], mask=np.array([True, False]))
    assert asked(hidden, Value("float32"))["c"] == [None, 1.0]
    big = Dataset.from_dict({"c": [2**63, 1]}, {"c": Value("uint64")})
    assert big["c"] == [2**63, 1]


def test_an_element_of_a_ragged_array_is_named_by_its_row():
    ragged = Ragged(np.array([[1.0, 2.0], [1.5, 0.0]]), np.array([2, 1]))
    with pytest.raises(NarrowingError, match=r"column 'c', row 1: .*1\.5"):
        to_arrow({"c": ragged}, {"c": List(Value("int32"))})


NESTED = pa.list_(pa.list_(pa.int64()))


def test_the_dtype_of_a_declared_matrix_is_kept():
    floats, integers = pa.array([[[1.5, 2.5]]]), pa.array([[[1, 2]], None], NESTED)
    for array, dtype, value in (
        (floats, "int32", r"1\.5"),
        (pa.array([[[1, 300]]], NESTED), "uint8", "300"),
        (pa.array([[[1.0, 1e300]]]), "float32", r"1e\+300"),
    ):
        feature = Array2D((1, 2), dtype)
        wanted = rf"column 'c', row 0: can't become Array2D.*{value}"
        with pytest.raises(NarrowingError, match=wanted):
            asked(array, feature)
        with pytest.raises(NarrowingError, match=wanted):
            Dataset.from_arrow(pa.table({"c": array})).cast_column("c", feature)
    ds = asked(integers, Array2D((1, 2), "uint8"))
    assert ds.features["c"] == Array2D((1, 2), "uint8")
    got = ds.with_format("jax", nulls=0)["c"]
    assert (got.dtype, got.tolist()) == (np.uint8, [[[1, 2]], [[0, 0]]])
    inner = Dataset.from_arrow(
        pa.table({"s": [{"c": [[1, 2]]}]}), {"s": {"c": Array2D((1, 2), "int8")}}
    )
    assert inner.with_format("numpy")["s"]["c"].dtype == np.int8
    with pytest.raises(ArrowJaxError, match=r"'int33'.*Arrow has no type of that name"):
        asked(integers, Array2D((1, 2), "int33"))


def test_a_declared_matrix_of_that_dtype_is_not_copied():
    table = pa.table({"c": pa.array([[[1.0]]], pa.list_(pa.list_(pa.float32(), 1)))})
    ds = Dataset.from_arrow(table, {"c": Array2D((1, 1), "float32")})
    assert ds.source.table is table


def test_what_a_mask_hides_need_not_fit():
    valid = np.array([True, False])
    masked = Masked(np.array([1.0, np.nan]), valid)
    assert to_arrow({"c": masked}, {"c": Value("int8")})["c"].to_pylist() == [1, None]
    square = Masked(np.array([[1.0, 1e300]]), valid[None])
    table = to_arrow({"c": square}, {"c": List(Value("float32"))})
    assert table.schema.field("c").type == pa.list_(pa.float32())
    assert table["c"].to_pylist() == [[1.0, None]]
    shown = Masked(np.array([[1.0, 1e300]]), ~valid[None])
    with pytest.raises(NarrowingError, match=r"column 'c', row 0: .*1e\+300"):
        to_arrow({"c": shown}, {"c": List(Value("float32"))})


def hidden_giants():
    """Columns of [[1], [2]], or of null and [2], with 10**12 where no row shows it."""
    values = pa.array([10**12, 1, 2])
    sizes, mask = pa.array([1, 1], pa.int32()), pa.array([True, False])
    ends = pa.array([0, 1, 2], pa.int32())
    giants, two = pa.array([10**12, 2]), [None, [2]]
    nulls = pa.ListArray.from_arrays(ends, giants, mask=mask)
    within = pa.StructArray.from_arrays([giants], ["f"], mask=mask)
    return {
        "list": (pa.ListArray.from_arrays([1, 2, 3], values), [[1], [2]]),
        "list_view": (
            pa.ListViewArray.from_arrays(pa.array([1, 2], pa.int32()), sizes, values),
            [[1], [2]],
        ),
        "large": (pa.LargeListArray.from_arrays([1, 2, 3], values), [[1], [2]]),
        "slice": (pa.array([[10**12], [1], [2]])[1:], [[1], [2]]),
        "fixed": (pa.FixedSizeListArray.from_arrays(values, 1)[1:], [[1], [2]]),
        "null": (nulls, two),
        "fixed null": (pa.FixedSizeListArray.from_arrays(giants, 1, mask=mask), two),
        "nested": (pa.ListArray.from_arrays(ends, nulls), [[None], [[2]]]),
        "struct": (within, [None, {"f": 2}]),
    }


@pytest.mark.parametrize("name", hidden_giants())
def test_a_cast_looks_at_what_rows_show_and_no_further(name):
    column, wanted = hidden_giants()[name]
    feature = {
        "struct": {"f": Value("int8")},
        "nested": List(List(Value("int8"))),
    }.get(name, List(Value("int8")))
    ds = Dataset.from_arrow(pa.table({"x": column}))
    assert ds.cast_column("x", feature)["x"] == wanted


@pytest.mark.parametrize("wrap", [lambda x: x, lambda x: [x], lambda x: {"f": x}])
def test_the_row_that_does_not_fit_is_named_also_within_lists(wrap):
    rows = [wrap(1), wrap(2), wrap(500)]
    feature = Value("int8")
    if isinstance(rows[0], dict):
        feature = {"f": feature}
    elif isinstance(rows[0], list):
        feature = List(feature)
    ds = Dataset.from_arrow(pa.table({"x": rows}))
    with pytest.raises(NarrowingError, match="column 'x', row 2: "):
        ds.cast_column("x", feature)
    assert ds.take(2).cast_column("x", feature)["x"] == rows[:2]


@pytest.mark.parametrize("bad", [2, 0.5, -1, float("nan"), float("inf")])
def test_only_zero_and_one_become_booleans(bad):
    for values in ([0, 1], [1.0, 0.0], np.array([0, 1]), np.array([1.0, 0.0], "f4")):
        flags = Dataset.from_dict({"x": values}, {"x": Value("bool")})
        assert flags["x"] == [v == 1 for v in values]
    for mixed in ([0, bad], np.array([0, bad])):
        with pytest.raises(NarrowingError, match=r"column 'x', row 1: .* not fit bool"):
            Dataset.from_dict({"x": mixed}, {"x": Value("bool")})
    with pytest.raises(NarrowingError, match=r"row 1: .* does not fit bool"):
        Dataset.from_dict({"x": [0, bad]}).cast_column("x", Value("bool"))
    with pytest.raises(NarrowingError, match=r"row 0: .* does not fit bool"):
        Dataset.from_dict({"x": [[0, bad]]}, {"x": List(Value("bool"))})

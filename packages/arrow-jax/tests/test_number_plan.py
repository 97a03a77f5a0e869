"""Every type of number against a plain loop over `to_pylist()`."""

import datetime as dt
import itertools

import jax
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arrow_jax import (
    ArrowJaxError,
    ClassLabel,
    Dataset,
    List,
    Masked,
    NarrowingError,
    NullsError,
    UnsupportedTypeError,
    load_dataset,
    write_parquet,
)

WIDTHS = {
    "int8": np.int8,
    "int16": np.int16,
    "int32": np.int32,
    "int64": np.int32,
    "uint8": np.uint8,
    "uint16": np.uint16,
    "uint32": np.uint32,
    "uint64": np.uint32,
    "float16": np.float16,
    "float32": np.float32,
    "float64": np.float32,
    "bool": np.bool_,
}


def dataset(values, type_=None):
    return Dataset.from_arrow(pa.table({"c": pa.array(values, type_)}))


@pytest.mark.parametrize("name", WIDTHS)
def test_each_width_is_kept_or_narrowed_to_its_fellow(name):
    values = np.array([0, 1, 1, 0]).astype(name)
    ds = dataset(values).with_format("jax")
    assert ds[:]["c"].dtype == WIDTHS[name]
    assert ds[0]["c"].dtype == WIDTHS[name]
    assert ds["c"].tolist() == values.tolist()
    assert ds.spec["c"].dtype == WIDTHS[name]


@pytest.mark.parametrize("name", WIDTHS)
def test_with_x64_each_width_is_kept(name):
    with jax.enable_x64(new_val=True):
        ds = dataset(np.array([0, 1]).astype(name)).with_format("jax")
        assert ds[:]["c"].dtype == name
    # the format remembers the mode in which it was made
    assert ds[:]["c"].dtype == name
    assert ds[1]["c"].dtype == name


@pytest.mark.parametrize("name", WIDTHS)
def test_no_rows_keep_dtype_and_rank(name):
    full = dataset(np.array([[0, 1]]).astype(name).repeat(3, 0).tolist())
    assert full.with_format("jax")[0:0]["c"].shape == (0, 2)
    empty = dataset([], pa.type_for_alias(name))
    assert empty.with_format("jax")[:]["c"].dtype == WIDTHS[name]
    fixed = dataset([], pa.list_(pa.type_for_alias(name), 3))
    assert fixed.with_format("jax")[:]["c"].shape == (0, 3)
    assert fixed.with_format("jax")[:]["c"].dtype == WIDTHS[name]


def test_an_integer_that_does_not_fit_raises_with_row_and_value():
    ds = dataset([5, 2**40 + 5, -1]).with_format("jax")
    with pytest.raises(NarrowingError, match=r"column 'c', row 1: 1099511627781 \(int"):
        ds[:]
    with pytest.raises(OverflowError, match=r"jax_enable_x64.*True"):
        ds[0]


def test_rows_selected_away_do_not_raise():
    ds = dataset([5, 2**40, None]).select([0]).with_format("jax")
    assert ds[:]["c"].tolist() == [5]


def test_uint32_and_uint64_limits():
    top = dataset(np.array([2**32 - 1], "uint32")).with_format("jax")
    assert top[0]["c"].item() == 2**32 - 1
    with pytest.raises(
        NarrowingError, match=r"4294967296 \(uint64\) does not fit uint"
    ):
        dataset(np.array([2**32], "uint64")).with_format("jax")[0]


def test_a_float_that_would_become_inf_raises_and_rounding_does_not():
    fine = [0.1, float("inf"), float("nan"), 3.4028235e38, -1e-300]
    got = dataset(fine).with_format("jax")[:]["c"]
    np.testing.assert_array_equal(got, np.array(fine, np.float32))
    with pytest.raises(NarrowingError, match=r"row 5: 1e\+300 \(double|float64\)"):
        dataset([*fine, 1e300]).with_format("jax")[:]


def test_numbers_in_lists_are_checked_too():
    ds = dataset([[1], [2, 2**33]]).with_format("jax")
    with pytest.raises(NarrowingError, match="row 1: 8589934592"):
        ds[0]


def test_numpy_keeps_64_bits():
    ds = dataset([2**53 + 1]).with_format("numpy")
    assert ds[:]["c"].dtype == np.int64
    assert ds[0]["c"] == 2**53 + 1


def test_nulls_raise_with_the_first_row_and_the_ways_out():
    ds = dataset([1.0, None, None]).with_format("jax")
    with pytest.raises(NullsError, match=r"column 'c', row 1: found a null.*2 of 3"):
        ds[:]
    with pytest.raises(ValueError, match=r'nulls="mask".*nulls="nan".*nulls=0'):
        ds[0]


def test_nan_is_for_floats():
    got = dataset([1.0, None]).with_format("jax", nulls="nan")[:]["c"]
    np.testing.assert_array_equal(got, np.array([1, np.nan], np.float32))
    assert dataset([1, 2]).with_format("jax", nulls="nan")[:]["c"].tolist() == [1, 2]
    with pytest.raises(NullsError, match="this column is int32"):
        dataset([1, None]).with_format("jax", nulls="nan")[:]


def test_mask_is_there_whether_nulls_are_or_not():
    for values in ([1, None], [1, 2]):
        got = dataset(values).with_format("jax", nulls="mask")[:]["c"]
        assert isinstance(got, Masked)
        assert got.values.tolist() == [v or 0 for v in values]
        assert got.valid.tolist() == [v is not None for v in values]


def test_int64_next_to_a_null_is_exact():
    with jax.enable_x64(new_val=True):
        ds = dataset([2**53 + 1, None]).with_format("jax", nulls="mask")
        assert ds[:]["c"].values.tolist() == [2**53 + 1, 0]
    fixed = dataset([[2**53 + 1], None], pa.list_(pa.int64(), 1))
    got = fixed.with_format("numpy", nulls="mask")[:]["c"]
    assert got.values.dtype == np.int64
    assert got.values.tolist() == [[2**53 + 1], [0]]
    assert got.valid.tolist() == [True, False]


def test_garbage_below_a_null_is_neither_judged_nor_shown():
    array = pa.Array.from_buffers(
        pa.int64(), 2, [pa.py_buffer(b"\x01"), pa.array([7, 2**60 + 5]).buffers()[1]]
    )
    ds = Dataset.from_arrow(pa.table({"c": array}))
    assert ds.with_format("jax", nulls="mask")[:]["c"].values.tolist() == [7, 0]


def test_a_fill_value_goes_where_nulls_are():
    ds = dataset([1, None, 3], pa.uint8())
    assert ds.with_format("jax", nulls=9)[:]["c"].tolist() == [1, 9, 3]
    assert ds.with_format("jax", nulls=9)[:]["c"].dtype == np.uint8
    assert dataset([True, None]).with_format("jax", nulls=True)[:]["c"].tolist() == [
        True,
        True,
    ]
    for fill in (-1, 300, 0.5):
        with pytest.raises(NarrowingError, match=rf"nulls={fill} does not fit uint8"):
            ds.with_format("jax", nulls=fill)[:]


def test_a_policy_by_column():
    table = pa.table({"a": [1, None], "b": [None, 2.0]})
    ds = Dataset.from_arrow(table).with_format("jax", nulls={"a": 0, "b": "mask"})
    assert ds[:]["a"].tolist() == [1, 0]
    assert ds[:]["b"].valid.tolist() == [False, True]


def test_nulls_at_every_level_have_their_mask():
    values = [[1, None], None, [3], []]
    got = dataset(values).with_format("numpy", nulls="mask")[:]["c"]
    assert got.valid.tolist() == [True, False, True, True]
    assert [x.values.tolist() for x in got.values] == [[1, 0], [], [3], []]
    assert [x.valid.tolist() for x in got.values] == [[True, False], [], [True], []]
    tensor = dataset([[1, None], None], pa.list_(pa.int8(), 2))
    got = tensor.with_format("numpy", nulls="mask")[:]["c"]
    assert got.valid.tolist() == [True, False]
    assert got.values.valid.tolist() == [[True, False], [True, True]]


def test_ragged_lists_are_lists_of_arrays_always():
    ds = dataset([[1, 2], [3], [4, 5]]).with_format("jax")
    assert [x.tolist() for x in ds[:]["c"]] == [[1, 2], [3], [4, 5]]
    assert isinstance(ds[0:1]["c"], list)
    assert isinstance(ds[[0, 2]]["c"], list)
    assert ds[1]["c"].tolist() == [3]
    assert ds[0:0]["c"] == []
    assert all(x.dtype == np.int32 for x in ds[:]["c"])


def test_uniform_lists_are_a_tensor_always():
    ds = dataset([[[1, 2], [3, 4]], [[5, 6], [7, 8]]]).with_format("jax")
    assert ds[:]["c"].shape == (2, 2, 2)
    assert ds[0]["c"].tolist() == [[1, 2], [3, 4]]
    assert ds[0:0]["c"].shape == (0, 2, 2)
    assert ds.spec["c"].shape == (2, 2)


def test_lists_of_ragged_lists_nest():
    ds = dataset([[[1], [2, 3]], [[4]]]).with_format("numpy")
    got = ds[:]["c"]
    assert [[inner.tolist() for inner in row] for row in got] == [[[1], [2, 3]], [[4]]]
    assert [x.tolist() for x in ds[0]["c"]] == [[1], [2, 3]]


def test_views_inherit_what_is_known_of_the_source():
    ds = dataset([[1, 2], [3], [4, 5]]).select([0, 2]).with_format("jax")
    assert isinstance(ds[:]["c"], list)


@pytest.mark.parametrize(
    ("type_", "values", "numbers"),
    [
        (pa.date32(), [dt.date(1970, 1, 3)], [2]),
        (pa.time32("s"), [dt.time(0, 1)], [60]),
        (pa.timestamp("ms"), [dt.datetime(1970, 1, 2)], [86_400_000]),  # noqa: DTZ001
        (pa.duration("ms"), [dt.timedelta(seconds=1)], [1000]),
        (pa.time64("us"), [dt.time(0, 0, 1)], [1_000_000]),
    ],
)
def test_times_are_integers_of_their_unit(type_, values, numbers):
    ds = dataset(values, type_)
    assert ds.with_format("jax")[:]["c"].tolist() == numbers
    assert ds.with_format("jax")[:]["c"].dtype == np.int32
    assert ds.features["c"].dtype == str(type_).replace("[day]", "")


def test_a_time_that_does_not_fit_raises_when_the_format_is_set():
    ds = dataset([0, 1_700_000_000_000], pa.timestamp("ms"))
    with pytest.raises(NarrowingError, match=r"row 1: 1700000000000 \(timestamp\[ms\]"):
        ds.with_format("jax")
    with jax.enable_x64(new_val=True):
        assert ds.with_format("jax")[1]["c"] == 1_700_000_000_000


def test_dictionary_columns_give_codes_of_their_width():
    codes = pa.DictionaryArray.from_arrays(
        pa.array([1, 0, None], pa.int8()), ["a", "b"]
    )
    ds = Dataset.from_arrow(pa.table({"c": codes}))
    got = ds.with_format("jax", nulls="mask")[:]["c"]
    assert got.values.dtype == np.int8
    assert (got.values.tolist(), got.valid.tolist()) == ([1, 0, 0], [True, True, False])
    assert ds.features["c"].values == ("a", "b")


@pytest.mark.parametrize("wrap", [lambda t: t, pa.list_, lambda t: pa.struct({"x": t})])
def test_codes_of_big_chunks_share_one_dictionary(wrap, monkeypatch):
    monkeypatch.setattr("arrow_jax._chunks._SMALL", 0)
    type_ = wrap(pa.dictionary(pa.int8(), pa.string()))
    wrapped = {pa.list_: lambda v: [v]}.get(
        wrap, (lambda v: {"x": v}) if pa.types.is_struct(type_) else lambda v: v
    )
    chunks = [pa.array([wrapped(v)], type_) for v in "abca"]
    ds = Dataset.from_arrow(pa.table({"c": pa.chunked_array(chunks)}))
    got = ds.with_format("numpy")["c"]
    codes = np.ravel(got["x"] if isinstance(got, dict) else got)
    assert codes.tolist() == [0, 1, 2, 0]


def test_dictionaries_of_several_chunks_are_made_one():
    chunks = [pa.array(["a", "b"]), pa.array(["c", "a"])]
    column = pa.chunked_array([c.dictionary_encode() for c in chunks])
    ds = Dataset.from_arrow(pa.table({"c": column}))
    names = np.array(ds.features["c"].values)
    assert names[ds.with_format("numpy")["c"]].tolist() == ["a", "b", "c", "a"]


@pytest.mark.parametrize(
    "type_",
    [pa.null(), pa.decimal128(5, 2), pa.list_(pa.month_day_nano_interval())],
)
def test_other_types_are_refused_when_the_format_is_set(type_):
    ds = Dataset.from_arrow(pa.table({"ok": [1], "c": pa.array([None], type_)}))
    with pytest.raises(UnsupportedTypeError, match=r"column 'c' has type .*columns=\["):
        ds.with_format("jax")
    with pytest.raises(TypeError):
        ds.with_format("numpy")
    assert ds.with_format("jax", columns=["ok"])[0]["ok"] == 1
    assert ds.with_format("arrow")[:].num_rows == 1


numbers = st.one_of(st.none(), st.integers(-100, 100))
columns = st.one_of(
    st.lists(numbers, min_size=1, max_size=8),
    st.lists(
        st.one_of(st.none(), st.lists(numbers, max_size=3)), min_size=1, max_size=6
    ),
    st.lists(
        st.one_of(st.none(), st.lists(st.lists(numbers, max_size=2), max_size=2)),
        min_size=1,
        max_size=5,
    ),
)


def depth(values):
    return 1 + max(map(depth, values), default=0) if isinstance(values, list) else 0


def as_masked_lists(got):
    """Undoes the arrays: nested Python lists, None where a mask says so."""
    if isinstance(got, Masked):
        inner = as_masked_lists(got.values)
        return _hide(inner, np.asarray(got.valid))
    if isinstance(got, list):
        return [as_masked_lists(x) for x in got]
    return np.asarray(got).tolist()


def _hide(values, valid):
    if not valid.ndim:
        return values if valid else None
    return [_hide(v, ok) for v, ok in zip(values, valid, strict=True)]


@given(columns, st.data())
def test_any_column_in_any_chunks_against_to_pylist(values, data):
    levels = {
        1: pa.int16(),
        2: pa.list_(pa.int16()),
        3: pa.large_list(pa.list_(pa.int16())),
    }
    type_ = levels[max(1, 1 + max((depth(v) for v in values), default=0))]
    array = pa.array(values, type_)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(values)), max_size=3)))
    bounds = [0, *cuts, len(values)]
    chunks = [array.slice(a, b - a) for a, b in itertools.pairwise(bounds)]
    start = data.draw(st.integers(0, len(values)))
    table = pa.table({"c": pa.chunked_array(chunks, type_)}).slice(start)
    ds = Dataset.from_arrow(table).with_format("numpy", nulls="mask")
    wanted = table["c"].to_pylist()
    assert as_masked_lists(ds[:]["c"]) == wanted
    if wanted:
        rows = data.draw(st.lists(st.integers(0, len(wanted) - 1), max_size=6))
        assert as_masked_lists(ds[rows]["c"]) == [wanted[r] for r in rows]
        assert (
            as_masked_lists(ds[rows[0] if rows else 0]["c"])
            == (wanted[rows[0] if rows else 0])
        )


@given(st.lists(st.booleans(), min_size=1, max_size=40), st.integers(0, 20))
def test_bits_at_any_offset(values, start):
    array = pa.array(values).slice(start)
    ds = Dataset.from_arrow(pa.table({"c": array})).with_format("numpy")
    assert ds[:]["c"].tolist() == array.to_pylist()


LABELS = ClassLabel(["a", "b"])


@pytest.mark.parametrize("kind", ["jax", "numpy"])
def test_a_number_that_is_no_label_is_refused_at_first_use(kind, tmp_path):
    table = pa.table({"x": pa.chunked_array([[0, 1], [None, -1, 9, -5]])})
    wanted = r"column 'x', row 4.*: 9 is no label; there are 2 names"
    cast = Dataset.from_arrow(table).cast_column("x", LABELS)
    told = Dataset.from_arrow(table, {"x": LABELS})
    write_parquet(tmp_path / "a.parquet", told)
    read = load_dataset(tmp_path, split="train")
    assert read.features["x"] == LABELS
    for ds in (cast, told, read):
        with pytest.raises(ArrowJaxError, match=wanted):
            ds.with_format(kind, nulls=0)["x"]
        with pytest.raises(ArrowJaxError, match=wanted):
            ds.with_format(kind, nulls="mask")[0]
        assert ds.take(4).with_format(kind, nulls=0)["x"].tolist() == [0, 1, 0, -1]


def test_labels_in_lists_and_structs_are_checked_too():
    ds = Dataset.from_dict({"x": [[0], [1, 2]]}, {"x": List(LABELS)})
    with pytest.raises(ArrowJaxError, match=r"column 'x', row 1: 2 is no label"):
        ds.with_format("jax")["x"]
    table = pa.table({"s": [{"x": 1}, {"x": -2}]})
    ds = Dataset.from_arrow(table, {"s": {"x": LABELS}}).with_format("jax")
    with pytest.raises(ArrowJaxError, match=r"column 's\.x', row 1: -2 is no label"):
        ds["s"]

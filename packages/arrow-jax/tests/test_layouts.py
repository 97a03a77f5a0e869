"""Arrow data as they come: slices, offsets, borrowed memory, nothing at all."""

import numpy as np
import pyarrow as pa
import pytest
from type_cases import CASES, build

from arrow_jax import (
    ArrowJaxError,
    Dataset,
    Loader,
    Masked,
    UnsupportedTypeError,
    read_parquet,
    write_parquet,
)
from arrow_jax._plain import plain_type

# What Parquet can't hold; older releases write no list of a fixed size with a null.
OLD = int(pa.__version__.split(".")[0]) < 20
FIXED = ["fixed_size_list<int", "fixed_shape", "variable_shape"] if OLD else []
UNWRITABLE = ["union", "interval", *FIXED]
FORMATS = ["jax", "numpy", "arrow", None]


def dataset(array, **options):
    return Dataset.from_arrow(pa.table({"c": array})).with_format("numpy", **options)


def test_bits_and_bytes_of_every_offset():
    values = np.random.default_rng(0).integers(0, 2, 70).astype(bool).tolist()
    holes = [None if i % 3 == 0 else v for i, v in enumerate(values)]
    for start in range(17):
        array = pa.array(holes)[start : start + 20]
        got = dataset(array, nulls="mask")["c"]
        assert got.valid.tolist() == [v is not None for v in array.to_pylist()]
        assert got.values.tolist() == [bool(v) for v in array.to_pylist()]


def test_a_slice_of_a_slice_of_lists_in_lists():
    nested = pa.array([[[0], [1, 2]], [], [[3, 4, 5]], [[6]], None, [[7]]])[1:][1:-1]
    ds = dataset(nested[1:3], nulls="mask")
    assert ds["c"].valid.tolist() == [True, False]
    assert [x.tolist() for x in ds[0]["c"].values] == [[6]]


@pytest.mark.parametrize("fixed", [False, True])
def test_children_longer_than_their_parents(fixed):
    child = pa.array(range(100), pa.int16())
    if fixed:
        type_ = pa.list_(pa.int16(), 2)
        array = pa.Array.from_buffers(type_, 3, [None], offset=4, children=[child])
        wanted = [[8, 9], [10, 11], [12, 13]]
    else:
        offsets = pa.array([5, 7, 7, 10], pa.int32()).buffers()[1]
        type_ = pa.list_(pa.int16())
        array = pa.Array.from_buffers(type_, 3, [None, offsets], children=[child])
        wanted = [[5, 6], [], [7, 8, 9]]
    assert [np.asarray(x).tolist() for x in dataset(array)["c"]] == wanted


def test_a_struct_of_children_longer_than_itself():
    bits = pa.array([True, False, True]).buffers()[1]
    child = pa.array(range(100), pa.int16())
    array = pa.Array.from_buffers(
        pa.struct({"x": pa.int16()}), 2, [bits], offset=1, children=[child]
    )
    got = dataset(array, nulls="mask")["c"]["x"]
    assert got.valid.tolist() == [False, True]
    assert got.values.tolist() == [0, 2]


def test_what_lies_under_a_null_list_is_nobody_s():
    bits = pa.array([True, False, True]).buffers()[1]
    offsets = pa.array([0, 2, 5, 7], pa.int32()).buffers()[1]
    child = pa.array([1, 2, 2**40, 2**40, 2**40, 6, 7])
    type_ = pa.list_(pa.int64())
    array = pa.Array.from_buffers(type_, 3, [bits, offsets], children=[child])
    ds = Dataset.from_arrow(pa.table({"c": array})).with_format("jax", nulls="mask")
    assert ds["c"].values.tolist() == [[1, 2], [0, 0], [6, 7]]


@pytest.mark.parametrize("kind", FORMATS)
def test_a_read_only_memory_map(tmp_path, kind):
    table = pa.table({"c": [[1, 2], [3, 4]], "s": ["a", None], "f": [0.5, 1.5]})
    with pa.ipc.new_file(str(tmp_path / "t.arrow"), table.schema) as writer:
        writer.write_table(table)
    with pa.memory_map(str(tmp_path / "t.arrow")) as file:
        ds = Dataset.from_arrow(pa.ipc.open_file(file).read_all()).with_format(kind)
        assert [list(map(int, x)) for x in map(plainly, ds["c"])] == [[1, 2], [3, 4]]
        assert [plainly(x) for x in ds[:1]["s"]] == ["a"]
    # arrays made of it outlive the file
    if kind == "jax":
        assert ds[:]["f"].tolist() == [0.5, 1.5]


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("chunks", [0, 1, 3])
def test_no_rows(kind, chunks):
    columns = {
        name: pa.chunked_array([case.array([])] * chunks, case.type)
        for name, case in CASES.items()
        if not any(
            w in name for w in ("null", "decimal", "interval", "union", "opaque")
        )
    }
    ds = Dataset.from_arrow(pa.table(columns)).with_format(kind)
    assert len(ds) == 0
    assert list(ds.iter(batch_size=2)) == []
    assert len(ds[:]["int8"]) == 0
    assert len(ds[:]["list<string>"]) == 0
    if kind in ("jax", "numpy"):
        assert ds[:]["arrow.fixed_shape_tensor[3, 2]"].shape == (0, 2, 3)
        assert ds[:]["arrow.uuid"].shape == (0, 16)
        assert ds[:]["fixed_size_list<int32>[2]"].shape == (0, 2)
        assert ds[:]["bool"].dtype == bool


@pytest.mark.parametrize("kind", FORMATS)
def test_no_columns(kind):
    ds = Dataset.from_arrow(pa.table({})).with_format(kind)
    assert ds.column_names == []
    assert len(ds) == 0
    some = Dataset.from_dict({"x": [1, 2]}).with_format(kind, columns=[])
    assert some.column_names == []
    assert len(some[:]) == 0 if kind != "arrow" else some[:].column_names == []
    assert some.spec == {}


def test_columns_of_one_name_are_refused_with_the_way_out(tmp_path):
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["x", "x"])
    with pytest.raises(ArrowJaxError, match=r"'x' is there 2 times.*rename_columns"):
        Dataset.from_arrow(table)


@pytest.mark.parametrize("type_", [pa.list_(pa.uint8()), pa.binary(), pa.string()])
def test_offsets_that_pass_two_billion_together(type_):
    size = 1_500_000_000
    data = pa.py_buffer(np.zeros(size, np.uint8))  # never touched, so never in memory
    offsets = pa.array(np.array([0, 2, 3, size], np.int32)).buffers()[1]
    if pa.types.is_list(type_):
        child = pa.Array.from_buffers(pa.uint8(), size, [None, data])
        array = pa.Array.from_buffers(type_, 3, [None, offsets], children=[child])
    else:
        array = pa.Array.from_buffers(type_, 3, [None, offsets, data])
    ds = Dataset.from_arrow(pa.table({"c": pa.chunked_array([array, array])}))
    for formatted in (ds, ds.with_format("numpy"), ds.with_format("arrow")):
        picked = formatted[[4, 0, 3, 1]]["c"]
        assert [len(x) for x in list(map(plainly, picked))] == [1, 2, 2, 1]
        assert [len(plainly(x)) for x in formatted[3:5]["c"]] == [2, 1]
    assert len(ds.with_format("arrow")[:]["c"]) == 6


def plainly(x):
    return x.as_py() if isinstance(x, pa.Scalar) else x


def test_a_table_that_passes_two_billion_comes_in_several_chunks(monkeypatch):
    calls = []
    gather = pa.concat_arrays

    def small(arrays):
        calls.append(sum(map(len, arrays)))
        if calls[-1] > 2:
            raise pa.ArrowInvalid("offset overflow while concatenating arrays")
        return gather(arrays)

    monkeypatch.setattr("arrow_jax._chunks._SMALL", 0)
    monkeypatch.setattr("arrow_jax._chunks.pa.concat_arrays", small)
    chunks = pa.chunked_array([["a", "b"], ["c", "d"]])
    ds = Dataset.from_arrow(pa.table({"c": chunks})).with_format("arrow")
    assert ds[[3, 0, 2, 1]]["c"].to_pylist() == ["d", "a", "c", "b"]
    assert ds[[3, 0, 2, 1]]["c"].num_chunks == 2


def test_views_and_runs_in_chunks_and_in_a_loader(tmp_path):
    runs = build(pa.run_end_encoded(pa.int32(), pa.int8()), [1, 1, 2, 2, 2, 3])
    views = build(pa.list_view(pa.int8()), [[1], [2, 3], [], [4], [5, 6], [7]])
    table = pa.table(
        {
            "runs": pa.chunked_array([runs[:3], runs[3:]]),
            "views": pa.chunked_array([views[:1], views[1:]]),
        }
    )
    with Loader(Dataset.from_arrow(table), 4, ragged={"views": 2}) as loader:
        batches = list(loader)
    assert np.concatenate([b["runs"] for b in batches])[:6].tolist() == [
        1,
        1,
        2,
        2,
        2,
        3,
    ]
    assert batches[1]["views"].lengths.tolist()[:2] == [2, 1]


def test_a_mask_is_kept_through_every_layout():
    for type_ in (
        pa.list_view(pa.int8()),
        pa.large_list_view(pa.int8()),
        pa.run_end_encoded(pa.int32(), pa.int8()),
    ):
        value = 5 if "run" in str(type_) else [5]
        array = build(type_, [value, None, value])
        got = dataset(array, nulls="mask")["c"]
        assert isinstance(got, Masked)
        assert got.valid.tolist() == [True, False, True]


@pytest.mark.parametrize("name", CASES)
def test_parquet_gives_back_what_it_can_hold(tmp_path, name):
    case = CASES[name]
    table = pa.table({"c": case.array([*case.values[:2], None, *case.values[2:]])})
    path = tmp_path / "a.parquet"
    if any(word in name for word in UNWRITABLE):
        with pytest.raises(UnsupportedTypeError, match=r"was not written: .*'c'"):
            write_parquet(path, Dataset.from_arrow(table))
        assert list(tmp_path.iterdir()) == []
        return
    write_parquet(path, Dataset.from_arrow(table))
    read = read_parquet(path).with_format("arrow")[:]
    assert read["c"].to_pylist() == table["c"].to_pylist()
    kin = (case.type, plain_type(case.type), *_kin(case.type))
    assert read.schema.field("c").type in kin


def _kin(type_):
    """What Parquet readers of some releases give in place of a type."""
    if pa.types.is_time32(type_) and type_.unit == "s":
        return [pa.time32("ms")]
    if pa.types.is_timestamp(type_) and type_.unit == "s":
        return [pa.timestamp("ms", type_.tz)]
    if pa.types.is_date64(type_):
        return [pa.date32()]
    if pa.types.is_dictionary(type_):
        return [pa.dictionary(pa.int32(), type_.value_type)]
    if pa.types.is_decimal(type_):
        return [pa.decimal128(type_.precision, type_.scale)]
    return []

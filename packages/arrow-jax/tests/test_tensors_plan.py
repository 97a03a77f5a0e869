import json

import jax
import numpy as np
import pyarrow as pa
import pytest

from arrow_jax import (
    Dataset,
    Loader,
    NullsError,
    ShapeError,
    UnsupportedTypeError,
    read_parquet,
    write_parquet,
)
from arrow_jax._tensors_plan import permutation_of

NAME = "arrow.variable_shape_tensor"


def column(arrays, type_=None, **described):
    """A column as other libraries write it; None for a null row."""
    type_ = type_ or pa.float32()
    n_axes = next((a.ndim for a in arrays if a is not None), 2)
    storage = pa.struct(
        {"data": pa.list_(type_), "shape": pa.list_(pa.int32(), n_axes)}
    )
    rows = [a if a is None else {"data": a.ravel(), "shape": a.shape} for a in arrays]
    said = {"ARROW:extension:name": NAME}
    said["ARROW:extension:metadata"] = json.dumps(described)
    field = pa.field("c", storage, metadata=said)
    return pa.table([pa.array(rows, storage)], schema=pa.schema([field]))


def tensor(*shape):
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


UNEVEN = [tensor(2, 3), tensor(1, 3), tensor(3, 2)]
EVEN = [tensor(2, 3), tensor(2, 3) + 1]


def test_tensors_of_several_shapes_are_lists_of_arrays_always():
    ds = Dataset.from_arrow(column(UNEVEN)).with_format("jax")
    for got, wanted in zip(ds["c"], UNEVEN, strict=True):
        assert isinstance(got, jax.Array)
        np.testing.assert_array_equal(got, wanted)
    assert isinstance(ds[:1]["c"], list)
    np.testing.assert_array_equal(ds[2]["c"], UNEVEN[2])
    np.testing.assert_array_equal(ds[[2, 0]]["c"][1], UNEVEN[0])
    assert ds.spec["c"].shape == (0, 0)
    # as many elements, another shape
    turned = Dataset.from_arrow(column([tensor(2, 3), tensor(3, 2)])).with_format("jax")
    assert [x.shape for x in turned["c"]] == [(2, 3), (3, 2)]


def test_tensors_of_one_shape_are_one_array():
    ds = Dataset.from_arrow(column(EVEN)).with_format("jax")
    np.testing.assert_array_equal(ds["c"], np.stack(EVEN))
    assert ds.spec["c"].shape == ds[0]["c"].shape == (2, 3)
    assert ds[:0]["c"].shape == (0, 2, 3)
    with Loader(ds, 2) as loader:
        assert next(iter(loader))["c"].shape == (2, 2, 3)


@pytest.mark.parametrize("arrays", [EVEN, UNEVEN])
def test_the_permutation_says_the_order_of_the_axes(arrays):
    ds = Dataset.from_arrow(column(arrays, permutation=[1, 0], dim_names=["a", "b"]))
    for got, stored in zip(ds.with_format("numpy")["c"], arrays, strict=True):
        np.testing.assert_array_equal(got, stored.T)


@pytest.mark.parametrize("arrays", [EVEN, UNEVEN])
def test_they_are_the_same_through_a_stream(arrays):
    class Stream:
        def __arrow_c_stream__(self, requested_schema=None):
            table = column([*arrays, None], permutation=[1, 0])
            return table.__arrow_c_stream__(requested_schema)

    ds = Dataset.from_arrow(Stream()).with_format("numpy", nulls="mask")
    for got, stored in zip(ds["c"].values, arrays, strict=False):
        np.testing.assert_array_equal(got, stored.T)
    assert ds["c"].valid.tolist() == [True] * len(arrays) + [False]
    python = ds.with_format(None)
    assert python[[1, 0]]["c"][1]["shape"] == list(arrays[0].shape)


@pytest.mark.parametrize("arrays", [EVEN, UNEVEN])
def test_nulls(arrays):
    ds = Dataset.from_arrow(column([arrays[0], None, arrays[1]]))
    with pytest.raises(NullsError, match="column 'c', row 1"):
        ds.with_format("numpy")["c"]
    got = ds.with_format("numpy", nulls="mask")["c"]
    assert got.valid.tolist() == [True, False, True]
    np.testing.assert_array_equal(got.values[2], arrays[1])
    holed = column(arrays)
    data = holed["c"].chunk(0).to_pylist()
    data[0]["data"][0] = None
    holed = pa.table([pa.array(data, holed.schema.field("c").type)], holed.schema)
    masked = Dataset.from_arrow(holed).with_format("numpy", nulls="mask")
    row = masked[0]["c"].values
    assert row.valid.tolist() == [[False, True, True], [True, True, True]]
    if arrays is EVEN:
        specs = jax.tree.map(lambda a: a.shape, masked[0]["c"])
        assert specs == jax.tree.map(lambda s: s.shape, masked.spec["c"])


def test_a_shape_that_the_elements_do_not_fill_names_the_row():
    table = column(UNEVEN)
    rows = table["c"].to_pylist()
    rows[1]["shape"] = [2, 2]
    table = pa.table([pa.array(rows, table.schema.field("c").type)], table.schema)
    ds = Dataset.from_arrow(table).with_format("jax")
    with pytest.raises(ShapeError, match=r"'c', row 1: found 3 elements.*\[2, 2\]"):
        ds["c"]


def test_a_loader_says_that_they_have_no_one_shape():
    ds = Dataset.from_arrow(column(UNEVEN))
    with pytest.raises(ShapeError, match="column 'c'"):
        Loader(ds, 2)
    with pytest.raises(ShapeError, match=r"'c' holds tensors of different shapes"):
        Loader(ds, 2, ragged={"c": 9})


def test_elements_that_are_no_numbers_are_refused():
    text = column([np.array([["a"]], object)], pa.string())
    with pytest.raises(UnsupportedTypeError, match="column 'c'"):
        Dataset.from_arrow(text).with_format("jax")


def test_a_file_keeps_what_they_are(tmp_path):
    write_parquet(tmp_path / "a.parquet", Dataset.from_arrow(column(UNEVEN)))
    ds = read_parquet(tmp_path / "a.parquet").with_format("numpy")
    np.testing.assert_array_equal(ds[2]["c"], UNEVEN[2])


@pytest.mark.parametrize("arrays", [UNEVEN, [tensor(2, 3), tensor(3, 2)]])
def test_a_part_of_uneven_tensors_stays_a_list(tmp_path, arrays):
    whole = Dataset.from_arrow(column(arrays))
    write_parquet(tmp_path / "a.parquet", whole.take(1))
    part = read_parquet(tmp_path / "a.parquet").with_format("numpy")
    assert isinstance(part["c"], list)
    np.testing.assert_array_equal(part["c"][0], arrays[0])


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"ARROW:extension:name": "vendor.tensor"},
        {"ARROW:extension:name": NAME, "ARROW:extension:metadata": "{not json"},
        {
            "ARROW:extension:name": NAME,
            "ARROW:extension:metadata": '{"permutation": [7]}',
        },
    ],
)
def test_other_structs_stay_structs(metadata):
    type_ = column(EVEN).schema.field("c").type
    assert permutation_of(pa.field("c", type_, metadata=metadata)) is None
    assert permutation_of(pa.field("c", pa.int8(), metadata=metadata)) is None

"""What users of other loaders have reported, each as a test of what is right here."""

import io

import jax
import jax.numpy as jnp
import numpy as np
import PIL.Image
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from arrow_jax import (
    Array2D,
    Dataset,
    Features,
    Image,
    List,
    Loader,
    Masked,
    NarrowingError,
    NullsError,
    ShapeError,
    Value,
    read_parquet,
    write_parquet,
)


def dataset(values, type_=None, **options):
    table = pa.table({"c": pa.array(values, type_)})
    return Dataset.from_arrow(table).with_format("jax", **options)


def traces(ds, batch_size):
    """How often a jitted step is traced for the batches of a dataset."""
    seen = []

    @jax.jit
    def step(batch):
        seen.append(jax.tree.map(jnp.shape, batch))
        return batch

    for batch in ds.iter(batch_size):
        step(batch)
    return len(seen)


def test_integers_stay_integers_whichever_batch_has_the_null():
    ds = dataset([1, 2, None, 4], nulls="mask")
    batches = [batch["c"] for batch in ds.iter(batch_size=2)]
    assert [b.values.dtype for b in batches] == [jnp.int32] * 2
    assert [b.valid.tolist() for b in batches] == [[True, True], [False, True]]
    assert traces(ds, 2) == 1


def test_booleans_and_lists_with_nulls_are_traced_once():
    table = pa.table(
        {"b": [True, None, False, True], "l": [[1, 2], None, [3, 4], [5, 6]]}
    )
    ds = Dataset.from_arrow(table).with_format("jax", nulls="mask")
    assert traces(ds, 1) == 1
    assert ds[0]["b"].values.dtype == bool


def test_a_tensor_with_a_null_row_is_not_cast_to_float():
    type_ = pa.list_(pa.int64(), 1)
    with jax.enable_x64(new_val=True):
        got = dataset([[2**53 + 1], None], type_, nulls="mask")["c"]
        assert got.values.dtype == jnp.int64
        assert got.values[0].tolist() == [2**53 + 1]
        assert got.valid.tolist() == [True, False]
    with pytest.raises(NarrowingError, match="column 'c', row 0: 9007199254740993"):
        dataset([[2**53 + 1], None], type_, nulls="mask")["c"]


def test_columns_without_rows_keep_dtype_and_row_shape():
    table = pa.table(
        {
            "i": pa.array([], pa.int8()),
            "l": pa.array([], pa.list_(pa.float32(), 3)),
            "s": pa.array([], pa.string()),
        }
    )
    got = Dataset.from_arrow(table).with_format("jax")[:]
    assert (got["i"].shape, got["i"].dtype) == ((0,), jnp.int8)
    assert (got["l"].shape, got["l"].dtype) == ((0, 3), jnp.float32)
    assert got["s"] == []


def test_a_declared_shape_is_never_reached_by_regrouping():
    table = pa.table({"m": [[[1, 2], [3, 4]], [[1, 2, 3], [4]]]})
    features = Features({"m": Array2D((2, 2), "int64")})
    ds = Dataset.from_arrow(table, features).with_format("jax")
    with pytest.raises(ShapeError, match=r"column 'm', row 1: found a list of 3"):
        ds[0]


def test_nulls_raise_by_default_and_name_the_first_row():
    with pytest.raises(NullsError, match=r"column 'c', row 2: found a null"):
        dataset([1, 2, None])["c"]


def test_int64_next_to_a_null_is_exact_both_ways(tmp_path):
    table = pa.table({"c": pa.array([2**53 + 1, None])})
    ds = Dataset.from_arrow(table).with_format("numpy", nulls="mask")
    assert ds["c"].values.dtype == np.int64
    write_parquet(tmp_path / "a.parquet", {"c": ds["c"]})
    back = pq.read_table(tmp_path / "a.parquet")
    assert back["c"].to_pylist() == [2**53 + 1, None]


def test_bytes_keep_their_trailing_zeros():
    fixed = pa.array([b"\1\0\0\0", b"\0\0\0\0"], pa.binary(4))
    table = pa.table({"f": fixed, "b": [b"\1\0", b"\0"], "s": ["a\0", "\0"]})
    got = Dataset.from_arrow(table).with_format("jax")[:]
    assert got["f"] == [b"\1\0\0\0", b"\0\0\0\0"]
    assert got["b"] == [b"\1\0", b"\0"]
    assert got["s"] == ["a\0", "\0"]
    asked = Dataset.from_arrow(table, {"f": List(Value("uint8"), 4)}).with_format("jax")
    assert asked["f"].tolist() == [[1, 0, 0, 0], [0, 0, 0, 0]]
    assert asked["f"].dtype == jnp.uint8


def test_bytes_do_not_depend_on_a_neighbour_that_is_null():
    ds = dataset([b"\1\0", None, b"\2\0"])
    assert [ds[i]["c"] for i in range(3)] == ds["c"] == [b"\1\0", None, b"\2\0"]


def test_strings_are_not_cut_to_the_first_one_s_length():
    ds = Dataset.from_dict({"x": [1, 2], "s": ["a", "bbb"]})
    with Loader(ds, 2, host=["s"]) as loader:
        run = iter(loader)
        next(run)
        assert run.host_columns == {"s": ["a", "bbb"]}


def test_no_number_wraps():
    with pytest.raises(OverflowError, match="column 'c', row 0: 1099511627781"):
        dataset([2**40 + 5])["c"]
    assert dataset([2**32 - 1], pa.uint32())["c"].tolist() == [2**32 - 1]
    assert dataset([2**32 - 1], pa.uint32())["c"].dtype == jnp.uint32
    with pytest.raises(NarrowingError, match=r"1e\+300"):
        dataset([1e300])["c"]
    with jax.enable_x64(new_val=True):
        assert dataset([2**64 - 1], pa.uint64())["c"].tolist() == [2**64 - 1]
        assert dataset([1e300])["c"].dtype == jnp.float64
    inside = dataset([{"x": 2**40 + 5}])
    with pytest.raises(NarrowingError, match=r"column 'c\.x', row 0"):
        inside["c"]


def png(array, mode=None):
    image = PIL.Image.fromarray(array)
    file = io.BytesIO()
    (image.convert(mode) if mode else image).save(file, "png")
    return file.getvalue()


def test_images_of_several_modes_are_made_one_on_request():
    grey, colour = np.zeros((4, 4), np.uint8), np.zeros((4, 4, 4), np.uint8)
    data = {"im": [png(grey), png(colour), png(grey, "P")]}
    ds = Dataset.from_dict(data, Features({"im": Image(mode="RGB")}))
    assert ds.with_format("jax")["im"].shape == (3, 4, 4, 3)
    mixed = Dataset.from_dict(data, Features({"im": Image()}))
    with pytest.raises(ShapeError, match=r"column 'im'.*Image\(mode=\"RGB\""):
        Loader(mixed, 3)


def test_a_slice_of_lists_begins_where_it_should():
    sliced = pa.array([[0], [1, 2], [3, 4, 5], [6]]).slice(1, 2)
    got = Dataset.from_arrow(pa.table({"c": sliced})).with_format("jax")["c"]
    assert [x.tolist() for x in got] == [[1, 2], [3, 4, 5]]


def test_a_slice_of_fixed_lists_with_nulls_from_outside():
    class Producer:
        def __arrow_c_stream__(self, requested_schema=None):
            values = [[0, 0], [1, 2], [3, 4], None, [7, 8]]
            sliced = pa.array(values, pa.list_(pa.int32(), 2)).slice(1, 3)
            return pa.table({"c": sliced}).__arrow_c_stream__(requested_schema)

    ds = Dataset.from_arrow(Producer()).with_format("jax", nulls="mask")
    assert ds["c"].values.tolist() == [[1, 2], [3, 4], [0, 0]]
    assert ds["c"].valid.tolist() == [True, True, False]


def test_nested_columns_in_many_row_groups_are_read_whole(tmp_path):
    rows = [{"a": [[i], [i, i]], "b": {"x": str(i)}} for i in range(100)]
    table = pa.table({"c": rows})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=7)
    ds = read_parquet(tmp_path / "a.parquet")
    assert ds["c"] == rows
    got = ds.with_format("jax")
    assert [x.tolist() for x in got[99]["c"]["a"]] == [[99], [99, 99]]
    assert got[[99, 0]]["c"]["b"]["x"] == ["99", "0"]


@pytest.mark.parametrize("kind", ["numpy", "arrow"])
def test_a_random_batch_of_many_chunks_allocates_a_batch(monkeypatch, kind):
    monkeypatch.setattr("arrow_jax._chunks._SMALL", 0)  # as if each chunk were big
    chunk = pa.array(
        np.zeros((100, 64), np.float32).tolist(), pa.list_(pa.float32(), 64)
    )
    table = pa.table({"c": pa.chunked_array([chunk] * 100)})
    ds = Dataset.from_arrow(table).with_format(kind)
    rows = np.random.default_rng(0).integers(0, len(ds), 32)
    ds[rows]
    before = pa.total_allocated_bytes()
    batch = ds[rows]["c"]
    n_bytes = 32 * 64 * 4
    assert batch.nbytes <= 1.1 * n_bytes
    assert pa.total_allocated_bytes() - before <= 4 * n_bytes


def test_masks_mean_null_and_nan_stays_nan():
    got = dataset([float("nan"), None, 1.0], pa.float32(), nulls="mask")["c"]
    assert isinstance(got, Masked)
    assert np.isnan(got.values[0])
    assert got.valid.tolist() == [True, False, True]

import jax.numpy as jnp
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arrow_jax import (
    Array2D,
    ArrowJaxError,
    ClassLabel,
    Dataset,
    List,
    Masked,
    NarrowingError,
    NullsError,
    Ragged,
    ShapeError,
    Value,
    to_arrow,
)


def test_arrays_of_any_rank_and_their_types():
    tree = {
        "a": np.arange(4, dtype=np.uint16),
        "b": jnp.ones((4, 3), jnp.float32),
        "c": np.zeros((4, 2, 3), bool),
        "d": np.zeros((4, 0, 2), np.int8),
        "e": np.zeros((4, 1, 2, 1), np.float16),
    }
    table = to_arrow(tree)
    assert table.schema.field("a").type == pa.uint16()
    assert table.schema.field("c").type == pa.fixed_shape_tensor(pa.bool_(), (2, 3))
    got = Dataset.from_arrow(table).with_format("numpy")[:]
    for name, array in tree.items():
        np.testing.assert_array_equal(got[name], array)
        assert got[name].dtype == array.dtype


def test_no_rows_keep_shape():
    table = to_arrow({"a": np.zeros((0, 2, 3), np.int8)})
    got = Dataset.from_arrow(table).with_format("jax")[:]["a"]
    assert (got.shape, got.dtype) == ((0, 2, 3), np.int8)


@pytest.mark.parametrize("nulls", ["mask"])
def test_what_a_dataset_gives_goes_back(nulls):
    table = pa.table(
        {
            "a": [1, None, 3],
            "r": pa.array([[1, None], None, [3, 4, 5]], pa.list_(pa.int16())),
            "f": pa.array([[1, 2], None, [None, 4]], pa.list_(pa.int8(), 2)),
            "s": [{"x": 1.0, "y": True}, {"x": 2.0, "y": False}, {"x": 3.0, "y": True}],
            "t": ["a", None, "c\0"],
        }
    )
    batch = Dataset.from_arrow(table).with_format("numpy", nulls=nulls)[:]
    r = batch["r"]
    rows = [Masked(row.values, row.valid) for row in r.values]
    padded = np.zeros((3, 3), np.int16)
    known = np.zeros((3, 3), bool)
    for i, row in enumerate(rows):
        padded[i, : len(row.values)] = row.values
        known[i, : len(row.values)] = row.valid
    lengths = np.array([len(row.values) for row in rows])
    batch["r"] = Masked(Ragged(Masked(padded, known), lengths), r.valid)
    back = to_arrow(batch)
    for name in ("a", "r", "t", "s"):
        assert back[name].to_pylist() == table[name].to_pylist()
    storage = back["f"].combine_chunks().storage
    assert storage.to_pylist() == table["f"].to_pylist()


def test_lists_of_arrays():
    rows = [np.ones((2, 3), np.float32), np.zeros((1, 3), np.float32)]
    got = Dataset.from_dict({"a": rows, "b": [jnp.arange(2), jnp.arange(3)]})
    got = got.with_format("numpy")[:]
    assert [x.shape for x in got["a"]] == [(2, 3), (1, 3)]
    assert got["a"][0].dtype == np.float32
    assert [x.tolist() for x in got["b"]] == [[0, 1], [0, 1, 2]]
    deep = Dataset.from_dict({"a": [np.ones((1, 2, 3)), np.ones((2, 2, 3))]})
    assert [x.shape for x in deep.with_format("numpy")["a"]] == [(1, 2, 3), (2, 2, 3)]
    odd = Dataset.from_dict({"a": [np.ones((1, 2)), np.ones((2, 1))]})
    assert odd["a"] == [[[1, 1]], [[1], [1]]]


def test_integers_beyond_int64():
    top = Dataset.from_dict({"a": [2**64 - 1, 0]}).with_format("numpy")["a"]
    assert top.tolist() == [2**64 - 1, 0]
    assert top.dtype == np.uint64
    with pytest.raises(NarrowingError, match="column 'a' could not become"):
        Dataset.from_dict({"a": [2**70]})


def test_columns_of_structs():
    got = Dataset.from_dict({"s": {"x": np.arange(2), "y": np.ones((2, 2))}})
    assert got.with_format("numpy")[1]["s"]["y"].tolist() == [1, 1]


@pytest.mark.parametrize(
    ("values", "feature", "wanted"),
    [
        ([1, 2], Value("uint8"), pa.uint8()),
        (np.array([1.0, 2.0]), Value("float16"), pa.float16()),
        ([[1], [2, 3]], List(Value("int16")), pa.list_(pa.int16())),
        (np.ones((2, 3)), List(Value("float32"), 3), pa.list_(pa.float32(), 3)),
        (["a", "b"], ClassLabel(["a", "b"]), pa.int64()),
        (np.ones((2, 1, 3)), Array2D((1, 3), "int8"), pa.list_(pa.list_(pa.int8()))),
    ],
)
def test_features_decide_the_type(values, feature, wanted):
    assert to_arrow({"c": values}, {"c": feature}).schema.field("c").type == wanted


def test_what_can_not_be_is_said_by_column():
    with pytest.raises(NarrowingError, match=r"column 'c', row 0: can't become.*300"):
        to_arrow({"c": [300]}, {"c": Value("int8")})
    with pytest.raises(ArrowJaxError, match=r"column 'c', row 0: can't become.*'x'"):
        to_arrow({"c": ["x"]}, {"c": Value("int8")})
    with pytest.raises(ArrowJaxError, match="column 'c' could not become an Arrow"):
        to_arrow({"c": [1, "x"]})
    with pytest.raises(ArrowJaxError, match="bfloat16"):
        to_arrow({"c": jnp.ones(3, jnp.bfloat16)})
    with pytest.raises(
        ShapeError, match=r"column 'c' is array\(3\), wanted one value a row"
    ):
        to_arrow({"c": np.array(3)})
    with pytest.raises(ArrowJaxError, match="Arrow has no type of that name"):
        to_arrow({"c": [1]}, {"c": Value("int7")})
    with pytest.raises(ArrowJaxError, match=r"int is no feature|3 is no feature"):
        to_arrow({"c": [1]}, {"c": 3})
    with pytest.raises(ArrowJaxError, match=r"features name the column 'z'.*\['c'\]"):
        to_arrow({"c": [1]}, {"z": Value("int8")})


@given(
    st.sampled_from(["int8", "uint32", "float16", "float64", "bool"]),
    st.lists(st.integers(0, 3), max_size=3),
    st.integers(0, 4),
)
def test_arrays_round_trip(dtype, shape, n):
    array = np.random.default_rng(n).integers(0, 2, (n, *shape)).astype(dtype)
    got = Dataset.from_arrow(to_arrow({"a": array})).with_format("numpy")[:]["a"]
    assert got.dtype == array.dtype
    np.testing.assert_array_equal(got, array)


def test_masks_within_ragged_lists_go_back_as_nulls():
    for values in ([[1, None], [2], []], [[True, None], [False], []]):
        ds = Dataset.from_dict({"c": values}).with_format("numpy", nulls="mask")
        assert to_arrow({"c": ds["c"]})["c"].to_pylist() == values
    for values in ([[[1, None]], [], [None, [2]]], [[[1], None, [2, 3]], None]):
        ds = Dataset.from_dict({"c": values}).with_format("numpy", nulls="mask")
        assert to_arrow({"c": ds["c"]})["c"].to_pylist() == values


def test_ragged_lists_of_tensors_of_any_rank():
    rng = np.random.default_rng(0)
    rows = [rng.integers(0, 9, (k, 2, 3, 4)).astype(np.int8) for k in (1, 3, 2)]
    back = Dataset.from_arrow(to_arrow({"c": rows})).with_format("numpy")["c"]
    for got, wanted in zip(back, rows, strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_lists_of_ragged_lists_come_back_from_every_format():
    rows = [[[1, 2], [3]], [], [[4], []]]
    table = pa.table({"x": pa.array(rows, pa.list_(pa.list_(pa.int32())))})
    for kind in ("jax", "numpy"):
        got = to_arrow(Dataset.from_arrow(table).with_format(kind)[:])
        assert got == table


def test_a_null_among_lists_of_no_elements_is_not_lost():
    type_ = pa.list_(pa.list_(pa.int64()))
    for rows in ([[None], [[]]], [[[], None], [[]]], [[None]], [None, [None]]):
        table = pa.table({"x": pa.array(rows, type_)})
        ds = Dataset.from_arrow(table)
        with pytest.raises(NullsError, match="column 'x', row"):
            ds.with_format("numpy")[:]
        masked = ds.with_format("jax", nulls="mask")[:]
        assert to_arrow(masked)["x"].to_pylist() == rows


@pytest.mark.parametrize("dtype", [">i4", ">f8", ">u2"])
def test_either_order_of_bytes_is_read(dtype):
    values = np.array([[1, 2], [3, 4]], dtype)
    for column in (values, values[:, 0], list(values)):
        got = Dataset.from_dict({"x": column}).with_format("numpy")["x"]
        np.testing.assert_array_equal(got, column)
        assert got.dtype == np.dtype(dtype).newbyteorder("=")
    cast = Dataset.from_dict({"x": values}, {"x": List(Value("int8"))})
    assert cast["x"] == values.tolist()


@pytest.mark.parametrize("columns", [[1], None, "x", pa.table({"x": [1]})])
def test_what_is_no_dict_of_columns_is_refused(columns):
    with pytest.raises(ArrowJaxError, match=r"got a .*, wanted a dict of columns"):
        Dataset.from_dict(columns)


@pytest.mark.parametrize(
    ("values", "lengths", "said"),
    [
        (np.ones((2, 3)), [5, 1], "row 0: the length 5 is not within 0 and 3"),
        (np.ones((2, 3)), [2, -1], "row 1: the length -1 is not within 0 and 3"),
        (np.ones((2, 3)), [1], r"\(values\[2, 3\], lengths\[1\]\), wanted values"),
        (np.ones(5), [2, 3], r"\(values\[5\], lengths\[2\]\), wanted values \[n, cap"),
        (Masked(np.ones((1, 2)), np.ones((1, 2), bool)), [3], "row 0: the length 3 is"),
    ],
)
def test_lengths_that_reach_beyond_their_values_are_refused(values, lengths, said):
    with pytest.raises(ShapeError, match=f"column 'x'.*{said}"):
        to_arrow({"x": Ragged(values, np.array(lengths))})


def test_a_name_that_is_no_string_is_refused():
    with pytest.raises(ArrowJaxError, match="column 1 has no string for a name"):
        to_arrow({1: [1]})

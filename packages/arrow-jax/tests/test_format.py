import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pyarrow as pa
import pytest

from arrow_jax import (
    ArrowJaxError,
    ClassLabel,
    Dataset,
    DatasetDict,
    Loader,
    NarrowingError,
    UnsupportedTypeError,
)
from arrow_jax._format import make_format


def test_kinds():
    for kind in ("jax", "numpy", "arrow", None):
        assert make_format(kind, ["a"]).kind == kind
    with pytest.raises(ArrowJaxError, match=r"with_format\('torch'\): wanted \"jax\""):
        make_format("torch", ["a"])


def test_one_column_may_be_given_by_its_name():
    made = make_format("numpy", ["a", "b", "ab"], columns="ab")
    assert made.columns == ("ab",)


def test_only_jax_narrows():
    assert not make_format("jax", []).x64
    assert make_format("numpy", []).x64


def test_a_dtype_is_for_all_integers_and_floats():
    columns = {"i": [1, 2], "f": [0.5, 1.0], "b": [True, False], "s": ["x", "y"]}
    columns |= {"l": [[1], [2, 3]], "y": [0, 1]}
    ds = Dataset.from_dict(columns, {"y": ClassLabel(["no", "yes"])})
    got = ds.with_format("jax", dtype=jnp.bfloat16)[:]
    found = {n: got[n].dtype for n in "ifby"} | {"l": got["l"][1].dtype}
    assert found == {
        "i": jnp.bfloat16,
        "f": jnp.bfloat16,
        "b": np.bool_,
        "y": np.int32,
        "l": jnp.bfloat16,
    }
    assert got["s"] == ["x", "y"]
    assert got["l"][1].tolist() == [2, 3]


def test_a_dtype_by_column_reaches_any_column_of_numbers():
    ds = Dataset.from_dict({"b": [True, None], "y": [0, 1], "f": [1.0, 2.0]})
    ds = ds.with_format("numpy", dtype={"b": "float32", "y": bool}, nulls="nan")
    np.testing.assert_array_equal(ds["b"], np.array([1, np.nan], np.float32))
    assert ds["y"].tolist() == [False, True]
    assert ds["f"].dtype == np.float64
    assert ds.spec["b"].dtype == np.float32
    again = pickle.loads(pickle.dumps(ds))
    assert again["y"].dtype == np.bool_


def test_a_dtype_is_checked_for_the_rows_of_the_view():
    ds = Dataset.from_dict({"x": [1, 300, 2], "f": [1.0, 2.5, np.nan]})
    with pytest.raises(
        NarrowingError, match=r"'x', row 1: 300 \(int64\).*uint8.*asked"
    ):
        ds.with_format("jax", dtype={"x": "uint8"})[:]
    assert ds.select([2, 0]).with_format("jax", dtype={"x": "i1"})["x"].tolist() == [
        2,
        1,
    ]
    with pytest.raises(NarrowingError, match=r"'f', row 1: 2\.5 .*int32"):
        ds.with_format("numpy", dtype={"f": "int32"})["f"]
    with pytest.raises(NarrowingError, match=r"'f', row 2: nan"):
        ds.skip(2).with_format("numpy", dtype={"f": "int32"})["f"]


def test_a_dtype_spares_numbers_the_narrowing_of_their_own():
    ds = Dataset.from_dict({"x": [2**40]})
    assert ds.with_format("jax", dtype="float32")["x"].tolist() == [2.0**40]


def test_what_is_no_dtype_says_so():
    table = pa.table({"t": pa.array([1], pa.timestamp("s")), "x": [1]})
    ds = Dataset.from_arrow(table)
    assert ds.with_format("jax", dtype="float32")["t"].dtype == np.int32
    with pytest.raises(UnsupportedTypeError, match=r"column 't' has type timestamp"):
        ds.with_format("jax", dtype={"t": "float32"})
    with pytest.raises(ArrowJaxError, match="dtype='abacus' is none"):
        ds.with_format("jax", dtype="abacus")
    with pytest.raises(ArrowJaxError, match="<U3 is not one of integers"):
        ds.with_format("jax", dtype="U3")
    with pytest.raises(ArrowJaxError, match=r"use ds\.cast_column"):
        ds.with_format("arrow", dtype="int8")
    with pytest.raises(ArrowJaxError, match="no column 'q'"):
        ds.with_format("jax", dtype={"q": "int8"})
    wide = "column 'x': float64 needs jax_enable_x64"
    with pytest.raises(ArrowJaxError, match=wide):
        ds.with_format("jax", dtype="float64")
    with jax.enable_x64(True):  # noqa: FBT003  (jax's own signature)
        made = ds.with_format("jax", dtype="float64")
    assert made["x"].dtype == np.float64


def test_a_loader_keeps_the_dtype():
    ds = Dataset.from_dict({"x": [1, 2]}).with_format("jax", dtype="float16")
    with Loader(ds, 2) as loader:
        assert loader.spec["x"].dtype == np.float16
        assert next(iter(loader))["x"].dtype == np.float16


def test_set_format_changes_the_dataset_itself():
    ds = Dataset.from_dict({"x": [1, 2], "y": [3, 4]}).with_format("numpy")
    ds[:]
    ds.set_format("jax", columns=["y"], dtype="float32")
    assert ds[:]["y"].dtype == np.float32
    assert ds.column_names == ["y"]
    ds.set_format()
    assert ds[:] == {"x": [1, 2], "y": [3, 4]}
    with pytest.raises(ArrowJaxError, match="wanted"):
        ds.set_format("torch")
    assert ds[0] == {"x": 1, "y": 3}


def test_the_format_goes_by_two_names():
    ds = Dataset.from_dict({"x": [1]})
    assert ds.with_format(type="jax").format == ds.with_format("jax").format
    assert ds.with_format("jax", type="jax").format.kind == "jax"
    ds.set_format(type="numpy")
    assert ds.format.kind == "numpy"
    splits = DatasetDict({"a": ds}).with_format(type="jax")
    assert splits["a"].format.kind == "jax"
    with pytest.raises(ArrowJaxError, match="both say what rows are given as"):
        ds.with_format("jax", type="numpy")

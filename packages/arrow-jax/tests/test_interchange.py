"""Frames of other libraries come in through the Arrow C data interface."""
# ruff: noqa: PD011  (the values of a Masked, not of a frame)

import datetime as dt
from decimal import Decimal

import datasets
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from arrow_jax import (
    ArrowJaxError,
    ClassLabel,
    Dataset,
    Days,
    Features,
    Image,
    Loader,
    Value,
    read_parquet,
    write_parquet,
)

NOON = dt.datetime(2024, 2, 29, 12, tzinfo=dt.UTC)


def numbers(ds, **options):
    return ds.with_format("numpy", **options)[:]


def test_polars_of_every_kind():
    frame = pl.DataFrame(
        {
            "i": pl.Series([1, 2, 3], dtype=pl.Int16),
            "f": [0.5, None, 1.5],
            "s": ["a\0", None, "longer than a view holds inside"],
            "b": [b"\0", b"", None],
            "l": [[1], [], [2, 3]],
            "a": pl.Series([[1, 2], [3, 4], [5, 6]], dtype=pl.Array(pl.Int8, 2)),
            "c": pl.Series(["x", "y", "x"], dtype=pl.Categorical),
            "st": [{"x": 1, "y": "p"}, {"x": 2, "y": "q"}, {"x": 3, "y": None}],
            "d": pl.Series([dt.date(1970, 1, n) for n in (1, 2, 3)]),
            "t": [True, False, None],
        }
    )
    ds = Dataset.from_arrow(frame)
    assert ds[:] == frame.to_dict(as_series=False)
    got = numbers(ds, nulls="mask")
    assert got["i"].values.dtype == np.int16
    assert got["f"].valid.tolist() == [True, False, True]
    assert got["s"] == frame["s"].to_list()
    assert got["b"] == frame["b"].to_list()
    assert [x.tolist() for x in got["l"].values] == [[1], [], [2, 3]]
    assert got["a"].values.tolist() == [[1, 2], [3, 4], [5, 6]]
    names = np.array(ds.features["c"].values)
    assert names[got["c"].values].tolist() == ["x", "y", "x"]
    assert got["st"]["x"].values.tolist() == [1, 2, 3]
    assert got["d"].values.tolist() == [0, 1, 2]
    assert got["t"].valid.tolist() == [True, True, False]


def test_a_sliced_polars_array_with_nulls():
    values = [[0, 0], [1, 2], [3, 4], None, [7, 8]]
    series = pl.Series("f", values, dtype=pl.Array(pl.Int64, 2))
    frame = series.to_frame()
    exported = pa.RecordBatchReader.from_stream(frame.slice(1, 3)).read_all()
    if exported["f"].to_pylist() != values[1:4]:  # polars 1 has this fault, 2.1 not
        with pytest.raises(ArrowJaxError, match=r"'f' .* lists end before its rows do"):
            Dataset.from_arrow(frame.slice(1, 3))
        ds = Dataset.from_arrow(frame[[1, 2, 3]])  # the way out that the error names
    else:
        ds = Dataset.from_arrow(frame.slice(1, 3))
    got = numbers(ds, nulls="mask")["f"]
    assert got.values.tolist() == [[1, 2], [3, 4], [0, 0]]
    assert got.valid.tolist() == [True, True, False]


def test_polars_in_many_chunks_and_a_loader():
    parts = [pl.DataFrame({"x": [i], "y": [[i] * 3]}) for i in range(50)]
    frame = pl.concat(parts, rechunk=False)
    with Loader(Dataset.from_arrow(frame), 16, last="keep") as loader:
        got = np.concatenate([batch["x"] for batch in loader])
    assert got.tolist() == list(range(50))
    assert Dataset.from_arrow(frame).spec["y"].shape == (3,)


def test_polars_decimals_and_times_on_request():
    frame = pl.DataFrame({"p": [Decimal("1.5"), Decimal("2.25")], "t": [NOON, NOON]})
    ds = Dataset.from_arrow(frame, {"p": Value("float32"), "t": Days("ms")})
    got = ds.with_format("jax")[:]
    assert got["p"].tolist() == [1.5, 2.25]
    assert got["t"].tolist() == [[19782, 43_200_000]] * 2


def test_duckdb_relations():
    relation = duckdb.sql(
        """
        select i::utinyint as i, i / 2.0::double as f, [i, i + 1] as l,
               {'x': i, 'y': 'n' || i} as s, map([i], [i * 2]) as m,
               case when i = 1 then null else i end as n,
               cast(i as decimal(9, 2)) as p
        from range(4) t(i) order by i
        """
    )
    table = relation.arrow()
    table = table.read_all() if hasattr(table, "read_all") else table
    ds = Dataset.from_arrow(table, {"p": Value("float32")})
    got = numbers(ds, nulls="mask")
    assert got["i"].values.dtype == np.uint8
    assert got["f"].values.tolist() == [0.0, 0.5, 1.0, 1.5]
    assert got["l"].values.tolist() == [[0, 1], [1, 2], [2, 3], [3, 4]]
    assert got["s"]["y"] == ["n0", "n1", "n2", "n3"]
    assert got["m"]["value"].values.tolist() == [[0], [2], [4], [6]]
    assert got["n"].valid.tolist() == [True, False, True, True]
    assert got["p"].values.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_a_duckdb_relation_as_it_is():
    relation = duckdb.sql("select i from range(3000) t(i) order by i")
    ds = Dataset.from_arrow(relation).with_format("jax")
    assert ds[[2999, 0]]["i"].tolist() == [2999, 0]


def test_pandas_frames():
    frame = pd.DataFrame(
        {
            "x": np.arange(3, dtype=np.uint8),
            "n": pd.array([1, None, 3], dtype="Int32"),
            "s": ["a", "b\0", None],
            "t": pd.to_datetime(["1970-01-02", "1970-01-03", "1970-01-04"]),
            "c": pd.Categorical(["u", "v", "u"]),
        }
    )
    ds = Dataset.from_arrow(frame)
    got = numbers(ds, nulls="mask")
    assert got["x"].values.dtype == np.uint8
    assert got["n"].values.tolist() == [1, 0, 3]
    assert got["n"].valid.tolist() == [True, False, True]
    assert got["s"] == ["a", "b\0", None]
    days = {"s": 86_400, "us": 86_400 * 10**6, "ns": 86_400 * 10**9}
    unit = ds.features["t"].dtype.removeprefix("timestamp[").split(",")[0].rstrip("]")
    assert got["t"].values.tolist() == [n * days[unit] for n in (1, 2, 3)]
    assert got["c"].values.tolist() == [0, 1, 0]


def test_pandas_rows_picked_before_have_no_index_column_by_chance():
    frame = pd.DataFrame({"x": [1, 2, 3]})[lambda f: f.x > 1]
    ds = Dataset.from_arrow(pa.Table.from_pandas(frame, preserve_index=False))
    assert numbers(ds)["x"].tolist() == [2, 3]


def test_hugging_face_datasets_keep_features_and_selection():
    pixels = np.arange(3 * 4, dtype=np.uint8).reshape(3, 2, 2)
    features = datasets.Features(
        {
            "im": datasets.Image(),
            "label": datasets.ClassLabel(names=["cat", "dog"]),
            "m": datasets.Array2D((2, 2), "int8"),
        }
    )
    rows = {"im": list(pixels), "label": [0, 1, 1], "m": pixels.tolist()}
    theirs = datasets.Dataset.from_dict(rows, features=features)
    ds = Dataset.from_arrow(theirs)
    assert isinstance(ds.features["im"], Image)
    assert ds.features["label"] == ClassLabel(["cat", "dog"])
    got = numbers(ds)
    assert got["im"].tolist() == pixels.tolist()
    assert got["m"].dtype == np.int8
    picked = Dataset.from_arrow(theirs.select([2, 0]))
    assert numbers(picked)["label"].tolist() == [1, 0]


def test_a_file_goes_to_hugging_face_and_back(tmp_path):
    features = Features({"label": ClassLabel(["cat", "dog"])})
    path = tmp_path / "a.parquet"
    write_parquet(path, {"label": [1, 0], "x": [[1, 2], [3, 4]]}, features)
    theirs = datasets.Dataset.from_parquet(str(path), cache_dir=str(tmp_path / "c"))
    assert theirs.features["label"].names == ["cat", "dog"]
    theirs.to_parquet(str(tmp_path / "b.parquet"))
    ds = read_parquet(tmp_path / "b.parquet")
    assert ds.features["label"] == ClassLabel(["cat", "dog"])
    assert numbers(ds)["x"].tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("library", ["polars", "pandas", "duckdb"])
def test_what_we_give_others_can_read(library):
    ds = Dataset.from_dict({"x": [1, 2], "l": [[1], [2, 3]], "s": ["a", None]})
    table = ds.with_format("arrow")[:]
    if library == "duckdb":
        connection = duckdb.connect()
        connection.register("ours", table)
        got = [row[0] for row in connection.sql("select x from ours").fetchall()]
    elif library == "polars":
        got = pl.from_arrow(table)["x"].to_list()
    else:
        got = table.to_pandas()["x"].tolist()
    assert got == [1, 2]

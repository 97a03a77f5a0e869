import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from arrow_jax import (
    Audio,
    Image,
    Loader,
    ShapeError,
    UnsupportedTypeError,
    scan_parquet,
    write_parquet,
)
from arrow_jax._facts import Facts
from arrow_jax._scan_facts import check_known, scan_facts


def scan_of(path, table, **options):
    pq.write_table(pa.table(table), path / "a.parquet", **options)
    return scan_parquet(path / "a.parquet")


def test_what_types_and_footers_say(tmp_path):
    table = {
        "x": pa.array([1, 2]),
        "gap": pa.array([1, None]),
        "t": pa.array([[1], [2, 3]]),
        "f": pa.array([[1, 2], [3, 4]], pa.list_(pa.int8(), 2)),
        "r": pa.array([[[1, 2]], []], pa.list_(pa.list_(pa.int8(), 2))),
        "q": pa.array([[[1], [2, 3]]] * 2, pa.list_(pa.list_(pa.int8()), 2)),
        "s": pa.array([{"a": 1, "b": [1]}, {"a": None, "b": [2]}]),
    }
    assert scan_facts(scan_of(tmp_path, table)) == {
        "x": Facts((), (False, False)),
        "gap": Facts((), (True, False)),
        "t": Facts((None,), (False, False, False)),
        "f": Facts((2,), (False, False)),
        # An empty list counts as a null in a footer: there may be some.
        "r": Facts((None, 2), (True, True, True)),
        # A fixed length around lists of any length is no axis.
        "q": Facts((None, None), (False, False, False, False)),
        "s.a": Facts((), (True, False)),
        "s.b": Facts((None,), (False, False, False)),
    }
    without = scan_of(tmp_path, table, write_statistics=False)
    assert scan_facts(without)["x"] == Facts((), (True, False))


def test_what_our_own_files_say(tmp_path):
    write_parquet(tmp_path / "a.parquet", {"t": [[1, 2], [3, 4]], "u": [[1], []]})
    found = scan_facts(scan_parquet(tmp_path))
    assert found["t"].axes == (2,)
    assert found["u"].axes == (None,)
    loader = Loader(scan_parquet(tmp_path), 1, ragged={"u": 2})
    assert loader.spec["t"].shape == (1, 2)


def test_masks_are_the_same_in_every_row_group(tmp_path):
    rows = [[1, 2], [3], [None, 4], [5], None, [6]]
    scan = scan_of(tmp_path, {"t": rows}, row_group_size=2)
    loader = Loader(scan.with_format("jax", nulls="mask"), 2, ragged={"t": 2})
    batches = list(loader)
    masks = [b["t"].values.values.valid.tolist() for b in batches]
    assert masks == [
        [[True, True], [True, False]],
        [[False, True], [True, False]],
        [[False, False], [True, False]],
    ]
    assert batches[2]["t"].valid.tolist() == [False, True]


def test_columns_that_could_become_anything(tmp_path):
    pixels = [np.zeros((2, 2), np.uint8)]
    write_parquet(tmp_path / "i.parquet", {"im": pixels}, {"im": Image()})
    scan = scan_parquet(tmp_path / "i.parquet")
    with pytest.raises(ShapeError, match=r'features=\{"im": Image\(shape=\(28, 28\)\)'):
        Loader(scan, 1)
    features = {"im": Image(shape=(2, 2))}
    scan = scan_parquet(tmp_path / "i.parquet", features=features)
    assert next(iter(Loader(scan, 1)))["im"].shape == (1, 2, 2)
    scan = scan_parquet(tmp_path / "i.parquet", features={"im": Audio()})
    with pytest.raises(ShapeError, match="'im': sounds want a length"):
        check_known(scan, {})
    codes = pa.array(["a", "b"]).dictionary_encode()
    with pytest.raises(UnsupportedTypeError, match="a dictionary of its own"):
        Loader(scan_of(tmp_path, {"c": codes}), 1)

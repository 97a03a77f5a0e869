import pickle
import subprocess
import sys

import jax
import numpy as np
import pyarrow as pa
import pytest

from arrow_jax import ArrowJaxError, Dataset, DeviceError, ShapeError
from chex_harness import assert_compiles


def test_the_first_example_of_the_guide():
    ds = Dataset.from_dict({"data": [[1, 2], [3, 4]]}).with_format("jax")
    row = ds[0]["data"]
    assert isinstance(row, jax.Array)
    assert (row.tolist(), row.dtype) == ([1, 2], np.int32)
    assert ds[:2]["data"].shape == (2, 2)


def test_without_a_format_rows_are_python_objects():
    ds = Dataset.from_dict({"a": [1, None], "s": ["x\0", "y"], "l": [[1.5], []]})
    assert ds[0] == {"a": 1, "s": "x\0", "l": [1.5]}
    assert ds[:] == {"a": [1, None], "s": ["x\0", "y"], "l": [[1.5], []]}
    assert ds["a"] == [1, None]
    assert list(ds) == [ds[0], ds[1]]


def test_arrow_gives_tables():
    ds = Dataset.from_dict({"a": [1, 2, 3]}).with_format("arrow")
    assert ds[1:].equals(pa.table({"a": [2, 3]}))
    assert ds[[2, 0]].equals(pa.table({"a": [3, 1]}))
    assert ds[1].equals(pa.table({"a": [2]}))
    assert ds["a"].to_pylist() == [1, 2, 3]


def test_strings_and_bytes_stay_byte_for_byte():
    values = {"s": ["a\0", "", "é"], "b": [b"\x01\0\0", b"", b"\0"], "l": [["x\0"]] * 3}
    for kind in ("jax", "numpy"):
        ds = Dataset.from_dict(values).with_format(kind)
        assert ds[:] == values
        assert ds[0] == {"s": "a\0", "b": b"\x01\0\0", "l": ["x\0"]}
        assert ds.spec == {}


def test_structs_are_dicts_of_columns():
    rows = [{"x": 1, "y": [1.0, 2.0], "z": {"w": True}}, None]
    ds = Dataset.from_arrow(pa.table({"s": rows})).with_format("jax", nulls="mask")
    got = ds[:]["s"]
    assert got["x"].values.tolist() == [1, 0]
    assert got["x"].valid.tolist() == [True, False]
    assert got["y"].values.shape == (2, 2)
    assert got["z"]["w"].valid.tolist() == [True, False]
    assert list(got) == ["x", "y", "z"]
    assert ds[0]["s"]["x"].values == 1


def test_lists_of_structs_are_dicts_of_lists():
    ds = Dataset.from_dict({"s": [[{"a": 1}, {"a": 2}], [{"a": 3}]]}).with_format("jax")
    assert [x.tolist() for x in ds[:]["s"]["a"]] == [[1, 2], [3]]


@pytest.mark.parametrize("number", range(8))
def test_arrays_are_committed_to_the_device_named(number):
    device = jax.devices()[number]
    ds = Dataset.from_dict(
        {"a": [1, 2], "t": np.zeros((2, 3)), "r": [[1], [2, 3]], "n": [[[1]], [[2]]]}
    )
    for name in (str(device), device, f"{device.platform}:{device.id}"):
        formatted = ds.with_format("jax", device=name)
        for tree in (formatted[0], formatted[:], formatted["r"]):
            for leaf in jax.tree.leaves(tree):
                assert leaf.devices() == {device}
                assert leaf.committed
                assert (leaf + 1).devices() == {device}


def test_without_a_device_arrays_are_uncommitted():
    leaf = Dataset.from_dict({"a": [1]}).with_format("jax")[0]["a"]
    assert not leaf.committed
    assert leaf.devices() == {jax.devices()[0]}


def test_a_sharding_spreads_a_slice(mesh):
    sharding = jax.sharding.NamedSharding(mesh, jax.P("data"))
    ds = Dataset.from_dict({"a": np.arange(16)}).with_format("jax", device=sharding)
    assert ds[:]["a"].sharding == sharding
    assert ds[:]["a"].tolist() == list(range(16))


def test_a_sharding_that_does_not_fit_says_so(mesh):
    sharding = jax.sharding.NamedSharding(mesh, jax.P("data"))
    ds = Dataset.from_dict({"a": np.arange(16)}).with_format("jax", device=sharding)
    with pytest.raises(ShapeError, match=r"does not fit arrays of shapes \[\(5,\)\]"):
        ds[:5]


def test_an_unknown_device_lists_the_known_ones():
    ds = Dataset.from_dict({"a": [1]})
    with pytest.raises(DeviceError, match=r"device 'gpu:7' is not one.*7'\. Pass"):
        ds.with_format("jax", device="gpu:7")
    with pytest.raises(ArrowJaxError, match='only "jax" puts arrays'):
        ds.with_format("numpy", device="cpu:0")


def test_a_formatted_dataset_pickles_into_another_process():
    device = jax.devices()[3]
    ds = Dataset.from_dict({"a": [[1, 2], [3, 4]]}).with_format("jax", device=device)
    again = pickle.loads(pickle.dumps(ds.select([1])))
    assert again[0]["a"].tolist() == [3, 4]
    assert again[0]["a"].devices() == {device}
    code = (
        "import pickle, sys; ds = pickle.load(sys.stdin.buffer);"
        "x = ds[1]['a']; print(x.tolist(), x.devices())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=pickle.dumps(ds),
        capture_output=True,
        check=True,
    )
    assert done.stdout.decode().strip() == f"[3, 4] {{{device!r}}}"


def test_one_transfer_a_batch(monkeypatch):
    calls = []
    put = jax.device_put
    monkeypatch.setattr(jax, "device_put", lambda *a: calls.append(1) or put(*a))
    columns = {f"c{i}": np.arange(4) for i in range(5)} | {"r": [[1], [], [2, 3], []]}
    Dataset.from_dict(columns).with_format("jax")[:]
    assert len(calls) == 1


def test_iter_gives_batches_and_the_last_one():
    ds = Dataset.from_dict({"a": range(10)}).with_format("jax")
    assert [len(b["a"]) for b in ds.iter(4)] == [4, 4, 2]
    assert [len(b["a"]) for b in ds.iter(4, drop_last_batch=True)] == [4, 4]
    assert [b["a"].tolist() for b in ds.iter(5)] == [[*range(5)], [*range(5, 10)]]


def test_batches_of_one_shape_trace_once():
    rows = [[1, 2], [3, 4], None, [5, 6], [7, 8], [9, 9]]
    ds = Dataset.from_arrow(pa.table({"a": rows})).with_format("jax", nulls="mask")
    step = jax.jit(lambda batch: batch["a"].values.sum() + batch["a"].valid.sum())
    with assert_compiles(1):
        for batch in ds.iter(2):
            step(batch)


def test_verbs_are_views_in_the_right_order():
    ds = Dataset.from_dict({"a": range(10)})
    assert ds.skip(3).take(4)["a"] == [3, 4, 5, 6]
    assert ds.take(100)["a"] == [*range(10)]
    assert len(ds.skip(100)) == len(ds.take(-1)) == 0
    assert ds.select([5, 1]).skip(1)["a"] == [1]
    assert ds.skip(2).select([0, -1])["a"] == [2, 9]
    shuffled = ds.shuffle(seed=3)
    assert sorted(shuffled["a"]) == [*range(10)]
    assert shuffled["a"] == ds.shuffle(seed=3)["a"] != ds.shuffle(seed=4)["a"]
    assert shuffled.take(3)["a"] == shuffled["a"][:3]
    assert shuffled.source is ds.source


def test_columns_and_facts():
    ds = Dataset.from_dict({"a": [1], "b": [2.0]})
    assert (ds.column_names, ds.num_rows, len(ds)) == (["a", "b"], 1, 1)
    only = ds.with_format("jax", columns=["b"])
    assert (only.column_names, list(only[0]), list(only.features)) == (
        ["b"],
        ["b"],
        ["b"],
    )
    with pytest.raises(ArrowJaxError, match=r"no column 'z'; there are \['a', 'b'\]"):
        ds["z"]
    with pytest.raises(ArrowJaxError, match="no column 'z'"):
        ds.with_format("jax", columns=["z"])


def test_what_it_looks_like():
    text = repr(Dataset.from_dict({"a": [1] * 1200, "long": [2.0] * 1200}))
    assert text.splitlines() == [
        "Dataset of 1,200 rows, given as Python objects",
        "  a     Value(dtype='int64')",
        "  long  Value(dtype='float64')",
    ]


def test_from_dict_copies_what_it_is_given():
    mine = np.arange(1000)
    ds = Dataset.from_dict({"a": mine, "t": mine.reshape(-1, 2, 5).repeat(10, 0)})
    mine[:] = -1
    assert ds.with_format("numpy")["a"].tolist() == list(range(1000))


def test_batches_do_not_change_when_others_are_made():
    x = np.random.default_rng(0).normal(size=(64, 256)).astype(np.float32)
    ds = Dataset.from_dict({"x": x}).with_format("jax")
    first = ds[list(range(0, 64, 2))]["x"]
    before = np.array(first)
    for _ in range(10):
        ds[list(range(1, 64, 2))]
    np.testing.assert_array_equal(first, before)


def test_unequal_columns_raise():
    with pytest.raises(ShapeError, match="'b' has 1 rows, column 'a' has 2"):
        Dataset.from_dict({"a": [1, 2], "b": [1]})


def test_duplicate_names_raise():
    table = pa.table([[1], [2]], names=["a", "a"])
    with pytest.raises(ArrowJaxError, match=r"'a' is there 2 times.*rename_columns"):
        Dataset.from_arrow(table)

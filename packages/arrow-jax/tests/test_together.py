"""What goes together is what would have gone alone."""

import jax
import numpy as np
import pyarrow as pa
import pytest

from arrow_jax import ArrowJaxError, Dataset, NullsError, _together
from arrow_jax._together import find_together

N = 4 * 40 + 3


def table():
    rng = np.random.default_rng(0)
    columns = {f"f{i}": pa.array(rng.standard_normal(N)) for i in range(5)}
    columns |= {f"i{i}": pa.array(rng.integers(0, 99, N)) for i in range(4)}
    columns |= {"b": pa.array(rng.random(N) > 0.5), "s": pa.array(["x"] * N)}
    columns["v"] = pa.FixedSizeListArray.from_arrays(pa.array(np.arange(N * 3.0)), 3)
    columns["n"] = pa.array([1.0, None] * (N // 2) + [1.0])
    columns["r"] = pa.array([[1] * (i % 3) for i in range(N)])
    columns["e"] = pa.array([[]] * N, pa.list_(pa.int8()))
    columns["st"] = pa.array([{"a": i, "b": [0.5]} for i in range(N)])
    return pa.table(columns)


def formats():
    return [
        {"nulls": {"n": 0}},
        {"nulls": "mask"},
        {"nulls": {"n": "mask"}, "device": str(jax.local_devices()[-1])},
        {"nulls": "nan", "columns": ["i3", "f0", "i1", "f2", "f3", "f1", "i0", "i2"]},
        {"nulls": {"n": 0}, "dtype": {"f0": "float16", "i1": "uint8"}},
        {"columns": ["f0"]},
        {"columns": ["s", "r"]},
    ]


def check_same(got, wanted):
    assert list(got) == list(wanted)
    assert jax.tree.structure(got) == jax.tree.structure(wanted)
    for one, other in zip(*map(jax.tree.leaves, (got, wanted)), strict=True):
        if isinstance(other, jax.Array):
            np.testing.assert_array_equal(one, other)
            assert (one.dtype, one.committed) == (other.dtype, other.committed)
            assert (one.devices(), one.weak_type) == (other.devices(), other.weak_type)
        else:
            assert one == other


@pytest.mark.parametrize("options", formats())
@pytest.mark.parametrize("view", ["all", "shuffled", "chunks"])
@pytest.mark.parametrize(
    ("pays_after", "limits"),
    [(0, (1 << 16, 1 << 19)), (9, (16, 32)), (10**9, (1 << 16, 1 << 19))],
)
def test_batches_are_those_of_slices(options, view, pays_after, limits, monkeypatch):
    monkeypatch.setattr(_together, "PAYS_AFTER", pays_after)
    for name, limit in zip(("SMALL", "_GREAT"), limits, strict=True):
        monkeypatch.setattr(_together, name, limit)
    if pays_after == 9:  # so that it is from then on compiled, in each of these
        _together.sender_of.cache_clear()
    ds = Dataset.from_arrow(table())
    if view == "chunks":
        rows = table().to_batches()[0]
        ds = Dataset.from_arrow(pa.Table.from_batches([rows[:50], rows[50:]]))
    ds = ds.shuffle(seed=0) if view == "shuffled" else ds
    ds = ds.with_format("jax", **options)
    batches = list(ds.iter(4))  # all at once: what comes later changes nothing before
    assert len(batches) == N // 4 + 1
    for i in (0, 1, 2, 9, 30, len(batches) - 1):
        check_same(batches[i], ds[4 * i : 4 * i + 4])
    assert len(list(ds.iter(4, drop_last_batch=True))) == N // 4
    check_same(next(ds.take(3).iter(4)), ds[:3])


def test_a_kind_of_batch_is_compiled_once(monkeypatch):
    monkeypatch.setattr(_together, "PAYS_AFTER", 0)
    _together.sender_of.cache_clear()
    ds = Dataset.from_arrow(table()).with_format("jax", columns=["f0", "f1", "b", "v"])
    for _ in range(3):
        list(ds.iter(4))
    list(ds.shuffle(seed=1).iter(4))
    assert _together.sender_of.cache_info().currsize == 1
    plans = {name: ds._plan(name) for name in ds.column_names}
    found = find_together(plans, ds.format, 4)
    sender = _together.sender_of((4, *found.packed, *found.whole), None)
    assert sender.n_sent == 4 * (N // 4)
    assert (sender.split._cache_size(), sender.same._cache_size()) == (1, 1)


def test_columns_go_by_their_size():
    ds = Dataset.from_arrow(table()).with_format("jax", nulls=0)
    found = find_together(ds._plans, ds.format, 4)
    floats = ("f0", "f1", "f2", "f3", "f4", "n")
    ints = ("i0", "i1", "i2", "i3")
    assert [bunch.names for bunch in found.packed] == [floats, ints]
    assert [bunch.dtype for bunch in found.packed] == [np.float32, np.int32]
    assert found.whole == [("b", "v")]
    found = find_together(ds._plans, ds.format, 1 << 15)
    assert (found.packed, found.great) == ([], ())
    assert [len(names) for names in found.whole] == [8, 4]
    assert find_together(ds._plans, ds.format, 1 << 18).great == (
        *floats[:5],
        *ints,
        "v",
        "n",
    )
    assert find_together({"s": ds._plan("s")}, ds.format, 4) is None
    spread = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    ds = ds.with_format("jax", device=spread)
    assert find_together(ds._plans, ds.format, 4) is None


@pytest.mark.parametrize(("rows", "ahead"), [(1, 16), (1 << 20, 4), (1 << 23, 1)])
def test_what_is_ahead_has_a_bound(rows, ahead):
    ds = Dataset.from_dict({"x": np.zeros(2, np.float32)}).with_format("jax")
    assert find_together({"x": ds._plan("x")}, ds.format, rows).ahead == ahead


def test_a_reader_of_one_batch_waits_for_one(monkeypatch):
    ds = Dataset.from_arrow(table()).with_format("jax", columns=["f0", "i0"])
    seen = []
    put = jax.device_put
    monkeypatch.setattr(
        jax, "device_put", lambda x, *a: seen.append(len(x)) or put(x, *a)
    )
    batches = ds.iter(4)
    next(batches)
    assert seen == [2]
    next(batches)
    assert seen == [2, 8]


@pytest.mark.parametrize("device", [None, 3])
def test_a_mesh_that_was_set_changes_nothing(device, monkeypatch):
    monkeypatch.setattr(_together, "PAYS_AFTER", 0)
    if device is not None:
        device = str(jax.devices()[device])
    columns = ["f0", "f1", "b", "v"]
    ds = Dataset.from_arrow(table()).with_format("jax", columns=columns, device=device)
    with jax.set_mesh(jax.make_mesh((8,), ("data",))):
        check_same(next(ds.iter(8)), ds[:8])


@pytest.mark.parametrize("pays_after", [0, 10**9])
def test_wide_numbers_stay_so_with_x64(pays_after, monkeypatch):
    monkeypatch.setattr(_together, "PAYS_AFTER", pays_after)
    with jax.enable_x64(True):  # noqa: FBT003  (jax's own signature)
        ds = Dataset.from_arrow(table()).with_format(
            "jax", columns=["i0", "i1", "i2", "i3"]
        )
    batch = next(ds.iter(4))
    assert batch["i0"].dtype == np.int64
    assert batch["i0"].tolist() == ds[:4]["i0"].tolist()


def test_errors_come_as_early_as_before():
    ds = Dataset.from_arrow(table()).with_format("jax")
    with pytest.raises(ArrowJaxError, match="batch_size=0"):
        ds.iter(0)
    with pytest.raises(NullsError, match="column 'n', row 1"):
        next(ds.iter(4))

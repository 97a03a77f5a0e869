"""What goes together is what would have gone alone."""

import jax
import numpy as np
import pyarrow as pa
import pytest

from arrow_jax import ArrowJaxError, Dataset, NullsError
from arrow_jax._together import FEWEST_BATCHES, find_together

N = 4 * FEWEST_BATCHES + 3


def table():
    rng = np.random.default_rng(0)
    columns = {f"f{i}": pa.array(rng.standard_normal(N)) for i in range(5)}
    columns |= {f"i{i}": pa.array(rng.integers(0, 99, N)) for i in range(4)}
    columns |= {"b": pa.array(rng.random(N) > 0.5), "s": pa.array(["x"] * N)}
    columns["v"] = pa.FixedSizeListArray.from_arrays(pa.array(np.arange(N * 3.0)), 3)
    columns["n"] = pa.array([1.0, None] * (N // 2) + [1.0])
    columns["r"] = pa.array([[1] * (i % 3) for i in range(N)])
    return pa.table(columns)


def formats():
    return [
        {"nulls": {"n": 0}},
        {"nulls": "mask"},
        {"nulls": {"n": "mask"}, "device": str(jax.local_devices()[-1])},
        {"nulls": "nan", "columns": ["i3", "f0", "i1", "f2", "f3", "f1", "i0", "i2"]},
        {"nulls": {"n": 0}, "dtype": {"f0": "float16", "i1": "uint8"}},
    ]


@pytest.mark.parametrize("options", formats())
@pytest.mark.parametrize("shuffled", [False, True])
def test_batches_are_those_of_slices(options, shuffled):
    ds = Dataset.from_arrow(table())
    ds = ds.shuffle(seed=0) if shuffled else ds
    ds = ds.with_format("jax", **options)
    batches = list(ds.iter(4))
    assert len(batches) == N // 4 + 1
    for i in (0, 1, FEWEST_BATCHES, len(batches) - 1):
        wanted = ds[4 * i : 4 * i + 4]
        assert list(batches[i]) == list(wanted)
        assert jax.tree.structure(batches[i]) == jax.tree.structure(wanted)
        for got, one in zip(*map(jax.tree.leaves, (batches[i], wanted)), strict=True):
            if isinstance(one, jax.Array):
                np.testing.assert_array_equal(got, one)
                assert (got.dtype, got.committed) == (one.dtype, one.committed)
                assert (got.devices(), got.weak_type) == (one.devices(), one.weak_type)
            else:
                assert got == one


def test_few_columns_and_great_ones_go_alone():
    ds = Dataset.from_arrow(table()).with_format("jax", nulls="mask")
    assert find_together(ds._plans, ds.format, 4) is None
    ds = ds.with_format("jax", columns=["f0", "f1", "f2", "n", "r", "s"], nulls=0)
    assert find_together(ds._plans, ds.format, 4) is None
    ds = ds.with_format("jax", columns=["s", "f0", "b", "v", "i0"])
    found = find_together(ds._plans, ds.format, 4)
    assert list(found.small) == ["f0", "b", "v", "i0"]
    assert find_together(ds._plans, ds.format, 1 << 20) is None
    spread = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    ds = ds.with_format("jax", device=spread)
    assert find_together(ds._plans, ds.format, 4) is None


def test_wide_numbers_stay_so_with_x64():
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

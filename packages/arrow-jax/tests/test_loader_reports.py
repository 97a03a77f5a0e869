"""What users of other loaders have reported, each as a test that it is not so here."""

import sys

import jax
import numpy as np
import pyarrow as pa
import pyarrow.feather
import pytest

from arrow_jax import Buckets, Dataset, Loader, Pack, read_ipc, read_parquet
from arrow_jax import write_parquet as write

PRIMITIVES = [
    *(getattr(pa, f"{sign}int{n}")() for sign in ("", "u") for n in (8, 16, 32)),
    pa.float16(),
    pa.float32(),
    pa.bool_(),
]


def test_read_only_mapped_memory_goes_through_for_all_primitives(tmp_path):
    values = np.arange(40) % 2
    table = pa.table({str(t): pa.array(values).cast(t) for t in PRIMITIVES})
    pyarrow.feather.write_feather(table, str(tmp_path / "a.arrow"))
    for shuffle in (False, True):
        for batch in Loader(read_ipc(tmp_path / "a.arrow"), 8, shuffle=shuffle):
            columns = [np.asarray(batch[str(t)]).astype(int) for t in PRIMITIVES]
            assert all((column == columns[0]).all() for column in columns)


def test_a_shuffled_batch_has_rows_of_many_files(tmp_path):
    for i in range(100):
        write(tmp_path / f"{i:03}.parquet", {"file": np.full(100, i)})
    spread = [
        len(set(batch["file"].tolist()))
        for batch in Loader(read_parquet(tmp_path), 50, shuffle=True)
    ]
    # 50 draws from 100 files meet 39.5 of them; five deviations of one batch is 24.
    assert min(spread) > 27
    assert abs(np.mean(spread) - 39.5) < 1


@pytest.mark.devices(4)
def test_what_does_not_divide_is_padded_and_no_row_is_lost(devices):
    mesh = jax.sharding.Mesh(devices, ("data",))
    sharding = jax.sharding.NamedSharding(mesh, jax.P("data"))
    ds = Dataset.from_dict({"x": np.arange(19)})
    (batch,) = Loader(ds, 20, sharding=sharding)
    real = [int(shard.data.sum()) for shard in batch["valid"].addressable_shards]
    assert real == [5, 5, 5, 4]
    assert np.asarray(batch["x"])[np.asarray(batch["valid"])].tolist() == [*range(19)]


@pytest.mark.devices(4)
def test_values_and_lengths_of_lists_are_sharded_alike_over_two_axes(devices):
    mesh = jax.sharding.Mesh(np.reshape(devices, (2, 2)), ("data", "sequence"))
    spec = jax.P("data", "sequence")
    sharding = jax.sharding.NamedSharding(mesh, spec)
    ds = Dataset.from_dict({"t": [[i] * (i % 5) for i in range(8)]})
    batch = next(iter(Loader(ds, 4, ragged={"t": 6}, sharding=sharding)))
    assert batch["t"].values.sharding.shard_shape((4, 6)) == (2, 3)
    assert batch["t"].lengths.sharding.shard_shape((4,)) == (2,)


def calls_of(run):
    """How many Python functions are called for one batch."""
    for _ in range(3):
        next(run)
    count = 0

    def profile(_, event, __):
        nonlocal count
        count += event == "call"

    sys.setprofile(profile)
    try:
        next(run)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("form", [None, 9, Buckets([4, 9], block=4), Pack(16)])
def test_python_calls_do_not_grow_with_the_batch(form):
    columns = {"t": [[1] * (i % 9) for i in range(20_000)]}
    if form is None:
        columns = {"x": np.arange(20_000.0), "v": np.zeros((20_000, 3))}
    ds = Dataset.from_dict(columns)
    ragged = {} if form is None else {"t": form}
    counts = [
        calls_of(iter(Loader(ds, size, shuffle=True, prefetch=0, ragged=ragged)))
        for size in (8, 256)
    ]
    assert abs(counts[1] - counts[0]) < 20
    assert max(counts) < 600


def test_a_batch_is_one_transfer(monkeypatch):
    puts = []
    put = jax.device_put
    monkeypatch.setattr(
        jax, "device_put", lambda *args, **kw: puts.append(1) or put(*args, **kw)
    )
    ds = Dataset.from_dict({"x": np.arange(8), "v": np.zeros((8, 2)), "t": [[1]] * 8})
    assert len(list(Loader(ds, 2, prefetch=0))) == len(puts) == 4

"""What holds for a loader whatever decides which rows are in a batch."""

import atexit
import collections
import json
import pathlib
import shutil
import tempfile

import jax
import numpy as np
import pyarrow.parquet as pq
import pytest

from arrow_jax import (
    Buckets,
    Dataset,
    Flat,
    Loader,
    Pack,
    Pad,
    Poisson,
    Window,
    mix,
    scan_parquet,
)
from arrow_jax._ledger import Ledger
from arrow_jax._placement import Placement
from arrow_jax._step import Position
from chex_harness import assert_trees_close

LENGTHS = np.random.default_rng(0).integers(0, 9, 37)


def tokens(first, lengths):
    """Rows whose elements all say which row they are."""
    return [[first + i] * n for i, n in enumerate(lengths)]


DS = Dataset.from_dict({"t": tokens(1, LENGTHS), "id": np.arange(1, 38)})
ONLY = DS.with_format(columns=["t"])
OTHER = Dataset.from_dict({"t": tokens(101, LENGTHS[:5]), "id": np.arange(101, 106)})

FILES = pathlib.Path(tempfile.mkdtemp())
atexit.register(shutil.rmtree, FILES)
for start, stop in ((0, 17), (17, 19), (19, 37)):
    pq.write_table(
        DS.source.table[start:stop], FILES / f"{start:02}.parquet", row_group_size=5
    )
SCAN = scan_parquet(FILES)
SCAN_ONLY = SCAN.with_format(columns=["t"])

CASES = {
    "rows": (DS, {"ragged": {"t": 8}}),
    "shuffled": (DS, {"ragged": {"t": Pad(8)}, "shuffle": True}),
    "flat": (DS, {"ragged": {"t": Flat(64)}, "shuffle": True}),
    "buckets": (DS, {"ragged": {"t": Buckets([2, 5, 8], block=3)}, "shuffle": True}),
    "buckets in order": (DS, {"ragged": {"t": Buckets([2, 8], block=2)}}),
    "chosen buckets": (DS, {"ragged": {"t": Buckets(max_buckets=3)}, "shuffle": True}),
    "packed": (ONLY, {"ragged": {"t": Pack(10, block=1)}, "shuffle": True}),
    "packed in order": (ONLY, {"ragged": {"t": Pack(8, block=2)}}),
    "split": (ONLY, {"ragged": {"t": Pack(7, split=True)}, "shuffle": True}),
    "mix": (mix([DS, OTHER], [2, 1]), {"ragged": {"t": 8}, "shuffle": True}),
    "mixed buckets": (
        mix([DS, OTHER], [2, 1], seed=3),
        {"ragged": {"t": Buckets([4, 8], block=2)}, "shuffle": True},
    ),
    "files": (SCAN, {"ragged": {"t": 8}}),
    "windows": (SCAN, {"ragged": {"t": 8}, "shuffle": Window(2)}),
    "windows of chunks": (DS, {"ragged": {"t": 8}, "shuffle": Window(3)}),
    "buckets of files": (
        SCAN,
        {"ragged": {"t": Buckets([2, 5, 8], block=2)}, "shuffle": Window(3)},
    ),
    "packed files": (SCAN_ONLY, {"ragged": {"t": Pack(9)}, "shuffle": Window(3)}),
    "split files": (SCAN_ONLY, {"ragged": {"t": Pack(7, split=True)}}),
    "poisson": (DS, {"ragged": {"t": 8}, "sampling": Poisson(0.1)}),
}


def loaders():
    for name, (ds, options) in CASES.items():
        for last in ("mask",) if "sampling" in options else ("mask", "drop", "keep"):
            yield pytest.param(ds, options | {"last": last}, id=f"{name}-{last}")


every_order = pytest.mark.parametrize(("ds", "options"), [*loaders()])


def size_of(options):
    return 20 if "sampling" in options else 4


def elements(batches):
    """How often each row's elements came, padding apart."""
    found = collections.Counter()
    for batch in batches:
        column = jax.tree.map(np.asarray, batch["t"])
        valid = np.asarray(batch.get("valid", np.ones(len(column[1]), bool)))
        if hasattr(column, "segment_ids"):
            held = column.values[column.segment_ids > 0]
            assert not column.values[column.segment_ids == 0].any()
            assert not (column.segment_ids[~valid]).any()
        elif column.values.ndim == 1:
            n = int(column.lengths[valid].sum())
            held = column.values[:n]
        else:
            within = np.arange(column.values.shape[1]) < column.lengths[:, None]
            held = column.values[within & valid[:, None]]
        found.update(held.tolist())
    return found


def whole(ds, epochs):
    if len(ds) != len(DS):
        return None
    return {i + 1: n * epochs for i, n in enumerate(LENGTHS.tolist()) if n}


@every_order
def test_every_row_comes_once_an_epoch_and_the_length_is_right(ds, options):
    loader = Loader(ds, size_of(options), epochs=2, prefetch=0, **options)
    batches = list(loader)
    assert len(batches) == len(loader)
    if "sampling" in options or len(ds) != len(DS):
        return
    found = elements(batches)
    if options["last"] != "drop":
        assert found == whole(ds, 2)
    else:
        assert all(found[row] <= n for row, n in whole(ds, 2).items())
        missing = sum(whole(ds, 2).values()) - found.total()
        assert 0 <= missing < 4 * 10


@every_order
def test_batches_have_the_specs_and_a_step_is_traced_once_a_spec(ds, options):
    options = options | {"last": "drop" if options["last"] == "keep" else "mask"}
    if "sampling" in options:
        options["last"] = "mask"
    loader = Loader(ds, size_of(options), epochs=2, prefetch=0, **options)
    traced = []

    @jax.jit
    def step(batch):
        traced.append(batch)
        return batch["t"]

    specs = [jax.tree.map(lambda s: (s.shape, s.dtype), s) for s in loader.specs]
    seen = []
    for batch in loader:
        found = jax.tree.map(lambda a: (a.shape, a.dtype), batch)
        assert found in specs
        seen.append(specs.index(found))
        step(batch)
    assert len(traced) == len(set(seen))
    assert sorted(set(seen)) == [*range(len(specs))]


@every_order
def test_resuming_after_any_batch_is_the_run_that_never_stopped(ds, options):
    loader = Loader(ds, size_of(options), epochs=2, prefetch=0, **options)
    states, batches = [], []
    run = iter(loader)
    states.append(run.state())
    for batch in run:
        batches.append(jax.tree.map(np.asarray, batch))
        states.append(json.loads(json.dumps(run.state())))
    for k in range(0, len(states), 3):
        again = Loader(
            ds, size_of(options), epochs=2, prefetch=2 * (k % 2), **options
        ).resume(states[k])
        for at in range(k, min(k + 2, len(batches))):
            assert_trees_close(next(again), batches[at], rtol=0, atol=0)
        # A second time, from a state that a resumed run has saved.
        state = again.state()
        again.close()
        rest = list(loader.resume(state))
        assert len(rest) == max(len(batches) - k - 2, 0)
        for batch, wanted in zip(rest, batches[k + 2 :], strict=True):
            assert_trees_close(batch, wanted, rtol=0, atol=0)


@every_order
@pytest.mark.parametrize("size", [1, 3, 16])
def test_another_batch_size_has_the_remaining_rows(ds, options, size):
    if "sampling" in options:
        size = 20
    if isinstance(options["ragged"]["t"], Flat):
        options = options | {"ragged": {"t": Flat(200)}}
    loader = Loader(ds, size_of(options), epochs=2, prefetch=0, **options)
    one = 20 if "sampling" in options else 1  # with batches of one nothing is dropped
    everything = elements(Loader(ds, one, epochs=2, prefetch=0, **options))
    other = Loader(ds, size, epochs=2, prefetch=0, **options)
    for k in (1, 5, 8, len(loader)):
        run = iter(loader)
        given = [next(run) for _ in range(min(k, len(loader)))]
        found = elements(given) + elements(other.resume(run.state()))
        assert not found - everything
        # Less than a batch is dropped, each of whose rows has ten elements at most.
        most = 10 * (size - 1) if options["last"] == "drop" else 0
        assert (everything - found).total() <= most


@pytest.mark.parametrize("form", [Buckets(), Buckets([2, 8]), Pack(10), Pack(8)])
def test_what_is_dropped_does_not_go_by_length(form):
    seen = collections.Counter()
    for seed in range(12):
        options = {"ragged": {"t": form}, "shuffle": True, "seed": seed}
        size = 12 if isinstance(form, Pack) else 16
        loader = Loader(ONLY, size, prefetch=0, last="drop", **options)
        seen.update(elements(loader).keys())
    assert seen.keys() == whole(DS, 1).keys()
    dropped = {int(LENGTHS[row - 1]) for row, n in seen.items() if n < 12}
    assert len(dropped) > 4


@every_order
def test_putting_shard_by_shard_is_putting_at_once(ds, options, monkeypatch):
    if isinstance(options["ragged"]["t"], Flat) or options["last"] == "keep":
        return
    devices = np.array(jax.devices()[:4])[[2, 0, 3, 1]]
    mesh = jax.sharding.Mesh(devices, ("data",))
    sharding = jax.sharding.NamedSharding(mesh, jax.P("data"))
    loader = Loader(ds, size_of(options), prefetch=0, sharding=sharding, **options)
    at_once = [jax.tree.map(np.asarray, batch) for batch in loader]
    by_shard = Placement(loader._placement.shardings, by_shard=True)
    # As if the first and the third device were another process's.
    local = np.array([0, 2])
    monkeypatch.setattr(loader, "_placement", by_shard)
    assert_trees_close(list(loader), at_once, rtol=0, atol=0)
    step = loader._order.step(Position(), size_of(options))
    part, _ = loader._feed.open(Ledger(), 0).make(step.draft, local)
    for name, column in part.items():
        wanted = jax.tree.map(lambda a: a[local], at_once[0][name])
        assert_trees_close(column, wanted, rtol=0, atol=0)

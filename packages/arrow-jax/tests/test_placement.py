import ast
import os
import socket
import subprocess
import sys

import jax
import numpy as np
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from arrow_jax import ArrowJaxError, Buckets, Dataset, Loader, ShapeError
from arrow_jax._placement import Placement, shardings_of


@pytest.fixture
def ds():
    return Dataset.from_dict({"x": np.arange(40), "v": np.arange(160.0).reshape(40, 4)})


def check_shards(array, wanted):
    for shard in array.addressable_shards:
        np.testing.assert_array_equal(shard.data, wanted[shard.index])


def test_a_batch_is_spread_over_eight_devices(ds, mesh):
    sharding = NamedSharding(mesh, P("data"))
    loader = Loader(ds, 16, shuffle=True, sharding=sharding)
    plain = Loader(ds, 16, shuffle=True)
    for batch, wanted in zip(loader, plain, strict=True):
        assert batch["x"].sharding == sharding
        for name, array in batch.items():
            assert len(array.addressable_shards) == 8
            check_shards(array, np.asarray(wanted[name]))
    assert loader.spec["x"].sharding == sharding


def test_shardings_by_column_and_two_axes(ds):
    mesh = jax.make_mesh((4, 2), ("b", "m"), (jax.sharding.AxisType.Auto,) * 2)
    by_column = {
        "x": NamedSharding(mesh, P("b")),
        "v": NamedSharding(mesh, P("b", "m")),
    }
    batch = next(iter(Loader(ds, 8, sharding=by_column)))
    assert batch["v"].sharding == by_column["v"]
    assert {s.data.shape for s in batch["v"].addressable_shards} == {(2, 2)}
    check_shards(batch["v"], np.arange(32.0).reshape(8, 4))
    assert batch["valid"].sharding.spec == P("b")


def test_one_sharding_of_more_axes_fits_columns_of_fewer(ds):
    mesh = jax.make_mesh((4, 2), ("b", "m"), (jax.sharding.AxisType.Auto,) * 2)
    batch = next(iter(Loader(ds, 8, sharding=NamedSharding(mesh, P("b", "m")))))
    assert batch["x"].sharding.spec == P("b")
    assert {s.data.shape for s in batch["v"].addressable_shards} == {(2, 2)}


def test_explicit_axes_and_a_transform(ds):
    mesh = jax.make_mesh((8,), ("data",), (jax.sharding.AxisType.Explicit,))
    sharding = NamedSharding(mesh, P("data"))
    loader = Loader(ds, 8, sharding=sharding, transform=lambda b: b["v"] * 2)
    got = next(iter(loader))
    assert got.sharding.is_equivalent_to(sharding, got.ndim)
    check_shards(got, np.arange(32.0).reshape(8, 4) * 2)


def test_what_the_devices_do_not_divide_is_said_when_the_loader_is_made(ds, mesh):
    sharding = NamedSharding(mesh, P("data"))
    with pytest.raises(
        ShapeError, match=r"column 'x': a batch of shape \[12\].*divide"
    ):
        Loader(ds, 12, sharding=sharding)
    Loader(ds, 16, sharding=sharding, last="keep")
    with pytest.raises(ShapeError, match=r"a batch of shape \[4\]"):
        Loader(ds.take(36), 16, sharding=sharding, last="keep")


def test_a_short_batch_that_only_a_resumed_run_has(ds, mesh):
    with iter(Loader(ds, 4, last="keep")) as run:
        next(run)
        state = run.state()
    loader = Loader(ds, 16, sharding=NamedSharding(mesh, P("data")), last="keep")
    # 36 rows are left: two batches of 16, and 4 rows for eight devices.
    with pytest.raises(ShapeError, match=r"column 'x': a batch of shape \[4\]"):
        loader.resume(state)


def test_each_column_needs_a_sharding(ds, mesh):
    sharding = NamedSharding(mesh, P("data"))
    with pytest.raises(ArrowJaxError, match="'v' is in one only"):
        Loader(ds, 8, sharding={"x": sharding})
    with pytest.raises(ArrowJaxError, match="'z' is in one only"):
        Loader(ds, 8, sharding={"x": sharding, "v": sharding, "z": sharding})


def permuted(axes, names):
    order = [5, 0, 3, 6, 1, 7, 2, 4]
    devices = np.array(jax.devices())[order].reshape(axes)
    return jax.sharding.Mesh(devices, names)


@pytest.mark.parametrize(
    ("axes", "spec"),
    [
        ((8,), P("a")),
        ((4, 2), P("a", "b")),
        ((4, 2), P("b", "a")),
        ((4, 2), P(("b", "a"))),
        ((4, 2), P("a")),
        ((4, 2), P()),
        ((4, 2), P(None, "b")),
    ],
)
def test_putting_shard_by_shard_is_putting_at_once_on_a_permuted_mesh(axes, spec):
    sharding = NamedSharding(permuted(axes, ("a", "b")[: len(axes)]), spec)
    batch = {"v": np.arange(64.0, dtype=np.float32).reshape(16, 4)}
    shape = {"v": jax.ShapeDtypeStruct((16, 4), np.float32)}
    placement = Placement(shardings_of(shape, sharding), by_shard=True)
    local = placement.local_rows(shape)
    got = placement.put({"v": batch["v"][local]}, 16, local)["v"]
    whole = jax.device_put(batch["v"], sharding)
    assert got.sharding == whole.sharding
    for a, b in zip(got.addressable_shards, whole.addressable_shards, strict=True):
        assert a.device == b.device
        np.testing.assert_array_equal(a.data, b.data)


class FewDevices:
    """A sharding as another process sees it: it has some of the devices only."""

    is_fully_addressable = False

    def __init__(self, sharding, mine):
        self.sharding, self.mine = sharding, mine

    def addressable_devices_indices_map(self, shape):
        indices = self.sharding.devices_indices_map(shape)
        return {d: i for d, i in indices.items() if d.id in self.mine}


def test_a_process_needs_the_rows_of_its_own_devices_wherever_they_are():
    sharding = NamedSharding(permuted((8,), ("a",)), P("a"))
    shape = {"v": jax.ShapeDtypeStruct((16, 4), np.float32)}
    # Devices 0 to 3 are at places 1, 4, 6 and 2 of the mesh.
    placement = Placement.of({"v": FewDevices(sharding, {0, 1, 2, 3})})
    assert placement.by_shard
    assert placement.local_rows(shape).tolist() == [2, 3, 4, 5, 8, 9, 12, 13]


def test_a_loader_by_shard_gathers_local_rows_only(ds, monkeypatch):
    sharding = NamedSharding(permuted((8,), ("a",)), P("a"))
    loader = Loader(ds, 16, shuffle=True, sharding=sharding, prefetch=0, epochs=2)
    wanted = [jax.tree.map(np.asarray, b) for b in loader]
    by_shard = Placement(loader._placement.shardings, by_shard=True)
    monkeypatch.setattr(loader, "_placement", by_shard)
    for batch, whole in zip(loader, wanted, strict=True):
        for name in batch:
            check_shards(batch[name], whole[name])


WORKER = """
import sys
import ast
import os
import socket
import subprocess
import sys

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from arrow_jax import Dataset, Loader

address, number = sys.argv[1], int(sys.argv[2])
jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(address, 2, number)
devices = np.array(jax.devices())[[5, 0, 3, 6, 1, 7, 2, 4]]
sharding = NamedSharding(Mesh(devices, ("d",)), PartitionSpec("d"))
ds = Dataset.from_dict({"x": np.arange(40)})
total = lambda batch: batch | {"sum": batch["x"].sum()}
loader = Loader(ds, 16, shuffle=True, epochs=2, sharding=sharding, transform=total)
for batch in loader:
    x = batch["x"].addressable_shards
    shards = [(s.index[0].start, s.data.tolist()) for s in x]
    print(int(batch["sum"]), sorted(shards))
"""


def test_two_processes_hold_the_rows_of_one_on_a_permuted_mesh(ds):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    environment = os.environ | {"JAX_NUM_CPU_DEVICES": "4"}
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, address, str(number)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(2)
    ]
    try:
        said = [worker.communicate(timeout=60) for worker in workers]
    finally:
        for worker in workers:
            worker.kill()
    assert [w.returncode for w in workers] == [0, 0], said
    lines = [
        [line for line in out.splitlines() if line.endswith("])]")] for out, _ in said
    ]
    plain = list(Loader(ds, 16, shuffle=True, epochs=2))
    assert len(lines[0]) == len(lines[1]) == len(plain) == 6
    for first, second, batch in zip(*lines, plain, strict=True):
        rows = {}
        for line in (first, second):
            total, shards = line.split(" ", 1)
            assert int(total) == batch["x"].sum()
            rows |= dict(ast.literal_eval(shards))
        whole = [row for start in sorted(rows) for row in rows[start]]
        assert whole == batch["x"].tolist()


@pytest.mark.devices(8)
@pytest.mark.parametrize("explicit", [False, True])
def test_a_step_is_compiled_ahead_of_time_for_what_a_transform_gives(explicit, devices):
    kind = jax.sharding.AxisType.Explicit if explicit else jax.sharding.AxisType.Auto
    mesh = jax.sharding.Mesh(devices, ("data",), axis_types=(kind,))
    sharding = NamedSharding(mesh, P("data"))
    ds = Dataset.from_dict(
        {"x": np.arange(40.0), "t": [[1] * (i % 3) for i in range(40)]}
    )
    loader = Loader(
        ds,
        8,
        sharding=sharding,
        ragged={"t": Buckets([1, 2])},
        transform=lambda b: b | {"y": b["x"] * 2, "sum": b["x"].sum()},
    )
    step = jax.jit(lambda b: jax.tree.map(lambda a: a + a, b))
    compiled = [step.lower(spec).compile() for spec in loader.specs]
    for batch in loader:
        which = batch["t"].values.shape[1] - 1
        made = compiled[which](batch)
        assert made["y"].tolist() == (batch["x"] * 4).tolist()
        shardings = jax.tree.map(lambda a: a.sharding, batch)
        assert shardings == jax.tree.map(lambda s: s.sharding, loader.specs[which])

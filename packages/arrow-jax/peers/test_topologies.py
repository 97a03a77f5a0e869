"""Rows on the layouts of real pods, which need libtpu and no TPU."""

import math

import jax
import numpy as np
import pytest
from jax.experimental import mesh_utils, topologies
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from arrow_jax._placement import Placement

PODS = [
    pytest.param("v5e:4x4", {}, id="v5e-16"),
    pytest.param("v6e:4x4", {}, id="v6e-16"),
    pytest.param("v4:2x2x4", {"chip_config_name": "megacore"}, id="v4-32"),
    pytest.param("v5p:4x4x4", {}, id="v5p-128"),
    pytest.param("v5e:4x4", {"num_slices": 2}, id="two-v5e-16"),
]


def devices_of(name, options, shape):
    """The devices of a pod as a mesh, in the order of its torus, or tori."""
    topology = topologies.get_topology_desc(name, platform="tpu", **options)
    slices, rest = options.get("num_slices", 1), shape[1:]
    first = len(topology.devices) // math.prod(rest) // slices
    if slices == 1:
        return mesh_utils.create_device_mesh((first, *rest), topology.devices)
    across = (slices, *[1] * len(rest))
    return mesh_utils.create_hybrid_device_mesh(
        (first, *rest), across, topology.devices
    )


def host_of(device):
    """Which host a device is of; the hosts of each slice count from 0."""
    return getattr(device, "slice_index", 0), device.process_index


def rows_of_hosts(monkeypatch, sharding, shape):
    """What a loader on each host of the pod would read of a batch."""
    found = {}
    spec = {"x": jax.ShapeDtypeStruct(shape, "float32")}
    for host in sorted({host_of(device) for device in sharding.device_set}):

        def own(self, shape, host=host):
            indices = self.devices_indices_map(shape)
            return {d: i for d, i in indices.items() if host_of(d) == host}

        with monkeypatch.context() as patch:
            patch.setattr(NamedSharding, "addressable_devices_indices_map", own)
            found[host] = Placement.of({"x": sharding}).local_rows(spec)
    return found


@pytest.mark.parametrize("axis_type", [AxisType.Auto, AxisType.Explicit])
@pytest.mark.parametrize(("name", "options"), PODS)
def test_each_host_reads_the_rows_of_its_own_devices(
    monkeypatch, name, options, axis_type
):
    devices = devices_of(name, options, (-1,))
    n = devices.size
    mesh = Mesh(devices, ("data",), axis_types=(axis_type,))
    found = rows_of_hosts(monkeypatch, NamedSharding(mesh, P("data")), (3 * n, 2))
    # The device at place i of the mesh holds rows 3 i to 3 i + 2.
    for host, rows in found.items():
        places = [i for i, d in enumerate(mesh.devices) if host_of(d) == host]
        assert rows.tolist() == [3 * i + k for i in places for k in range(3)]
    every = np.concatenate(list(found.values()))
    assert sorted(every.tolist()) == list(range(3 * n))


def test_hosts_of_a_torus_are_not_next_to_each_other(monkeypatch):
    mesh = Mesh(devices_of("v5e:4x4", {}, (-1,)), ("data",))
    found = rows_of_hosts(monkeypatch, NamedSharding(mesh, P("data")), (16, 2))
    assert found[0, 0].tolist() == [0, 1, 6, 15]


@pytest.mark.parametrize(("name", "options"), PODS)
def test_hosts_that_share_rows_both_read_them(monkeypatch, name, options):
    devices = devices_of(name, options, (-1, 4))
    n = devices.size
    mesh = Mesh(devices, ("data", "model"))
    sharding = NamedSharding(mesh, P("data", "model"))
    found = rows_of_hosts(monkeypatch, sharding, (n // 2, 8))
    for host, rows in found.items():
        own = [
            i for i, row in enumerate(mesh.devices) for d in row if host_of(d) == host
        ]
        assert rows.tolist() == sorted({2 * i + k for i in own for k in range(2)})

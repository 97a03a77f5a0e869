"""Two real processes against one: files of uneven size, windows, buckets, packing."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from host_loaders import loaders

HERE = str(Path(__file__).parent)

WORKER = """
import json, sys
import jax, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from host_loaders import loaders

address, number, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]
jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(address, 2, number)
devices = np.array(jax.devices())[[2, 0, 3, 1]]
sharding = NamedSharding(Mesh(devices, ("d",)), PartitionSpec("d"))
found = {}
for name, loader in loaders(folder, sharding).items():
    run, batches, states = iter(loader), [], []
    for batch in run:
        own = batch["t"].values.addressable_shards
        batches.append({str(s.index[0].start): s.data.tolist() for s in own})
        states.append(run.state())
    found[name] = {"n": len(loader), "batches": batches, "states": states}
print(json.dumps(found))
"""


@pytest.fixture
def folder(tmp_path):
    """Three files of 5, 1 and 3 rows."""
    for name, first, n in (("a", 0, 5), ("b", 5, 1), ("c", 6, 3)):
        x = np.arange(first, first + n)
        table = pa.table({"x": x, "t": [[int(i) + 1] * (i % 4 + 1) for i in x]})
        pq.write_table(table, tmp_path / f"{name}.parquet", row_group_size=2)
    return tmp_path


def on_two_hosts(folder):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, address, str(number), str(folder)],
            env=os.environ | {"JAX_NUM_CPU_DEVICES": "2", "PYTHONPATH": HERE},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(2)
    ]
    try:
        said = [worker.communicate(timeout=90) for worker in workers]
    finally:
        for worker in workers:
            worker.kill()
    assert [w.returncode for w in workers] == [0, 0], said
    return [json.loads(out.splitlines()[-1]) for out, _ in said]


def test_two_hosts_give_the_batches_of_one_and_their_states_go_on_there(folder):
    hosts = on_two_hosts(folder)
    for name, loader in loaders(folder, None).items():
        plain = [np.asarray(batch["t"].values) for batch in loader]
        one, other = (host[name] for host in hosts)
        assert one["n"] == other["n"] == len(loader) == len(plain)
        assert len(one["batches"]) == len(other["batches"]) == len(plain)
        assert one["states"] == other["states"]
        for first, second, whole in zip(
            one["batches"], other["batches"], plain, strict=True
        ):
            shards = first | second
            joined = [row for start in sorted(shards, key=int) for row in shards[start]]
            assert joined == whole.tolist()
        for k, state in enumerate(one["states"]):
            rest = [np.asarray(batch["t"].values) for batch in loader.resume(state)]
            assert len(rest) == len(plain) - k - 1
            for batch, wanted in zip(rest, plain[k + 1 :], strict=True):
                np.testing.assert_array_equal(batch, wanted)

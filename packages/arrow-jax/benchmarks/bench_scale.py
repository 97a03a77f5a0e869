"""Checks that a loader's cost does not grow with the data: ratios in one run.

    python benchmarks/bench_scale.py [--rounds 5] [--only WORD] [--json FILE]
                                     [--gigabytes 2]

A batch of 1e8 mapped rows against one of 1e5, 10,000 chunks against one, and a folder
of Parquet in windows of row groups against `pyarrow.parquet` reading it once, each in a
process of its own whose greatest memory is read from /proc.
"""

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from arrow_jax import Dataset, Loader, read_ipc

_RNG = np.random.default_rng(0)


def main() -> None:
    """Runs the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", metavar="WORD")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--gigabytes", type=float, default=2.0)
    options = parser.parse_args()
    print("| at scale | measured | wanted |\n|---|--:|--:|")
    rows = []
    for check in (long_file, many_chunks, big_folder):
        if options.only not in check.__name__:
            continue
        with tempfile.TemporaryDirectory() as folder:
            for row in check(Path(folder), options):
                measured = f"{row['measured']:.2f}"
                print(f"| {row['name']} | {measured} | {row['wanted']} |", flush=True)
                rows.append(row)
    if options.json:
        options.json.write_text(json.dumps({"rows": rows}, indent=1) + "\n")


def seconds_a_batch(loader: Loader, n: int = 300) -> float:
    """The median over batches, the first ones apart."""
    times = []
    with iter(loader) as run:
        start = time.perf_counter()
        for batch in itertools.islice(run, n):
            jax.block_until_ready(batch)
            now = time.perf_counter()
            times.append(now - start)
            start = now
    return statistics.median(times[20:])


def long_file(folder: Path, options: Any) -> Iterable[dict[str, Any]]:
    """Cost of a batch of 1e8 mapped rows, against 1e5, and that of `numpy.take`."""
    ours, alone = {}, {}
    for n in (10**5, 10**8):
        path = folder / f"{n}.arrow"
        schema = pa.schema({"x": pa.float32()})
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, schema) as out:
            for first in range(0, n, 10**7):
                part = np.arange(first, min(first + 10**7, n), dtype=np.float32)
                out.write_table(pa.table({"x": part}))
        ds = read_ipc(path)
        loader = Loader(ds, 1024, shuffle=True, epochs=None, last="drop", prefetch=0)
        ours[n] = min(seconds_a_batch(loader) for _ in range(options.rounds))
        n_bytes = path.stat().st_size // 4 * 4  # the file's bytes will do
        values = np.memmap(path, np.uint8, "r")[:n_bytes].view(np.float32)[:n]
        alone[n] = min(seconds_a_take(values) for _ in range(options.rounds))
        del ds, loader
    yield {
        "name": "a batch of 1e8 mapped rows / of 1e5, shuffled (numpy.take and "
        f"device_put alone: {alone[10**8] / alone[10**5]:.1f})",
        "measured": ours[10**8] / ours[10**5],
        "wanted": "at most 1.5",
    }


def seconds_a_take(values: np.ndarray) -> float:
    """The median cost of picking random rows and sending them."""
    times = []
    for rows in _RNG.integers(0, len(values), (300, 1024)):
        start = time.perf_counter()
        jax.block_until_ready(jax.device_put(values[rows]))
        times.append(time.perf_counter() - start)
    return statistics.median(times[20:])


def many_chunks(folder: Path, options: Any) -> Iterable[dict[str, Any]]:
    """Cost of a batch of 10,000 chunks, against one."""
    del folder
    x = _RNG.random((100_000, 64), np.float32)
    flat = pa.FixedSizeListArray.from_arrays(pa.array(x.reshape(-1)), 64)
    parts = [flat[i : i + 10] for i in range(0, len(flat), 10)]
    found = []
    for chunks in ([flat], parts):
        ds = Dataset.from_arrow(pa.table({"x": pa.chunked_array(chunks)}))
        loader = Loader(ds, 256, shuffle=True, last="drop", prefetch=0)
        found.append(min(seconds_a_batch(loader) for _ in range(options.rounds)))
    yield {
        "name": "a batch of 10,000 chunks / of one, shuffled",
        "measured": found[1] / found[0],
        "wanted": "at most 1.5",
    }


_WORKER = """
import sys, time
import jax, numpy as np, pyarrow as pa, pyarrow.dataset, pyarrow.parquet as pq
from arrow_jax import Loader, Window, scan_parquet
kind, folder = sys.argv[1:]
jax.block_until_ready(jax.numpy.zeros(3))
pa.set_cpu_count(2)
def peak():
    return int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) / 1024
before, start, n = peak(), time.perf_counter(), 0
if kind == "ours":
    for batch in Loader(scan_parquet(folder), 256, shuffle=Window(8), last="drop"):
        jax.block_until_ready(batch)
        n += len(batch["x"])
elif kind == "pyarrow":
    import pathlib
    for path in sorted(pathlib.Path(folder).iterdir()):
        with pq.ParquetFile(path) as file:
            for group in range(file.num_row_groups):
                n += len(file.read_row_group(group))
print(n / (time.perf_counter() - start), peak() - before)
"""


def big_folder(folder: Path, options: Any) -> Iterable[dict[str, Any]]:
    """A folder of Parquet bigger than what is kept, in windows of row groups."""
    inside = folder / "big"
    inside.mkdir()
    per_file = int(options.gigabytes * 2**30 / 20 / (768 * 4))
    for i in range(20):
        x = _RNG.random((per_file, 768), np.float32).reshape(-1)
        table = pa.table({"x": pa.FixedSizeListArray.from_arrays(pa.array(x), 768)})
        pq.write_table(
            table, inside / f"{i:02}.parquet", row_group_size=2048, compression="none"
        )
    results: dict[str, list[list[float]]] = {"ours": [], "pyarrow": []}
    for _ in range(min(options.rounds, 3)):
        for kind, runs in results.items():
            done = subprocess.run(  # noqa: S603
                [sys.executable, "-c", _WORKER, kind, str(inside)],
                capture_output=True,
                check=True,
                text=True,
                env=os.environ | {"OMP_NUM_THREADS": "2"},
            )
            runs.append([float(x) for x in done.stdout.split()])
    best = {kind: max(run[0] for run in runs) for kind, runs in results.items()}
    size = f"{options.gigabytes:g} GB of Parquet, Window(8)"
    yield {
        "name": f"{size}: rows a second / pyarrow.parquet reading it once",
        "measured": best["ours"] / best["pyarrow"],
        "wanted": "at least 0.7",
    }
    yield {
        "name": f"{size}: MB of memory above the bare process",
        "measured": max(run[1] for run in results["ours"]),
        "wanted": "under 600",
    }


if __name__ == "__main__":
    main()

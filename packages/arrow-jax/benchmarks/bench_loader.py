"""Times the loader: shuffled batches on the device, beside `grain` and `datasets`.

    python benchmarks/bench_loader.py [--rounds 5] [--only WORD] [--json FILE]
                                      [--plot FILE]

All readers of a case go through the same rows in turn, so that what else the machine
does falls on all of them; each batch is waited for. `grain` is given its best of four
settings: rows read by the reader itself or by 2 or 16 threads, or batches one by one;
we the better of two: with the thread that makes batches ahead and without. The bare
loop is `numpy.take` into aligned memory and `jax.device_put`. In the row with a step,
the reader's thread works on each batch for as long as a small model would.

Needs `datasets`, `grain` and `pillow`, which the dependency group "bench" has.
"""

import argparse
import io
import json
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
import pyarrow as pa
from loader_plot import plot
from rates import Reader, rate_of

from arrow_jax import Buckets, Dataset, Image, Loader

_SECONDS = (0.5, 2.5)  # passes are repeated for so long, or cut short
_RNG = np.random.default_rng(0)


class Case(NamedTuple):
    """What is read, and by whom.

    Attributes:
      name: of the row.
      batch_size: rows in a batch.
      readers: name -> what makes the batches.
      wanted: peer -> how many times as fast as it we are to be.
    """

    name: str
    batch_size: int
    readers: dict[str, Reader]
    wanted: dict[str, float]


def main() -> None:
    """Runs the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", metavar="WORD")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--plot", type=Path, metavar="FILE")
    options = parser.parse_args()
    versions = {m.__name__: m.__version__ for m in (jax, pa, np, *peers())}
    print(", ".join(f"{name} {version}" for name, version in versions.items()))
    print(
        "\n| thousand rows a second, best (median) | grain | datasets | bare loop |"
        " arrow-jax | ours / grain | ours / datasets | ours / bare |"
        "\n|---|--:|--:|--:|--:|--:|--:|--:|"
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        makers = (
            embeddings,
            embeddings_with_a_step,
            numbers,
            tokens,
            pictures,
            decoded,
        )
        rows = [
            measure(make(folder), options.rounds)
            for make in makers
            if options.only in make.__name__
        ]
    if options.json:
        facts = {"versions": versions, "rows": rows}
        options.json.write_text(json.dumps(facts, indent=1) + "\n")
    if options.plot:
        plot(rows, options.plot)


def peers() -> tuple[Any, Any]:
    """The peers, or an exit that says how to get them."""
    try:
        import datasets  # noqa: PLC0415  (a peer, not a dependency)
        import grain  # noqa: PLC0415
    except ImportError as error:
        sys.exit(f"{error}: pip install datasets grain pillow matplotlib")
    datasets.disable_progress_bars()
    return datasets, grain


def measure(case: Case, rounds: int) -> dict[str, Any]:
    """Runs the readers of a case in turn, and prints a row of the table."""
    rates: dict[str, list[float]] = {name: [] for name in case.readers}
    for reader in case.readers.values():
        rate_of(reader, case.batch_size, (0.0, 0.5))
    for _ in range(rounds):
        for name, reader in case.readers.items():
            rates[name].append(rate_of(reader, case.batch_size, _SECONDS))
    groups = {
        peer: max(
            (r for name, r in rates.items() if name.startswith(peer)),
            key=max,
            default=None,
        )
        for peer in ("grain", "datasets", "bare", "arrow-jax")
    }
    ours = groups["arrow-jax"]
    assert ours is not None  # noqa: S101
    ratios = {
        peer: max(ours) / max(found)
        for peer, found in groups.items()
        if found is not None and peer != "arrow-jax"
    }

    def cell(peer: str) -> str:
        found = groups[peer]
        if found is None:
            return ""
        return f"{max(found) / 1e3:,.1f} ({statistics.median(found) / 1e3:,.1f})"

    def ratio(peer: str) -> str:
        if peer not in ratios:
            return ""
        digits = 2 if ratios[peer] < 10 else 0
        asked = f" of {case.wanted[peer]:g}" if peer in case.wanted else ""
        return f"{ratios[peer]:.{digits}f}{asked}"

    cells = [cell(p) for p in groups] + [
        ratio(p) for p in ("grain", "datasets", "bare")
    ]
    print(f"| {case.name} | {' | '.join(cells)} |", flush=True)
    return {
        "name": case.name,
        "rows_per_second": {
            name: {"best": max(found), "median": statistics.median(found)}
            for name, found in rates.items()
        },
        "ratios": ratios,
        "wanted": case.wanted,
    }


def grain_readers(
    row: Callable[[int], dict[str, Any]], n: int, batch_size: int
) -> dict[str, Reader]:
    """The settings of grain that are tried."""
    import grain  # noqa: PLC0415  (see peers)

    class Rows:
        def __len__(self) -> int:
            return n

        def __getitem__(self, i: int) -> dict[str, Any]:
            return row(i)

    def batches() -> Any:
        return grain.MapDataset.source(Rows()).shuffle(seed=1).batch(batch_size)

    def by_index() -> Iterable[Any]:
        made = batches()
        return (jax.device_put(made[i]) for i in range(n // batch_size))

    def threads(count: int) -> Reader:
        options = grain.ReadOptions(num_threads=count, prefetch_buffer_size=count)
        return lambda: map(jax.device_put, batches().to_iter_dataset(options))

    return {
        "grain, by index": by_index,
        "grain, in place": threads(0),
        "grain, 2 threads": threads(2),
        "grain, 16 threads": threads(16),
    }


def hugging_face(table: pa.Table, batch_size: int) -> dict[str, Reader]:
    """The reader of `datasets`, shuffled."""
    from datasets import Dataset as Peer  # noqa: PLC0415  (see peers)

    shuffled = Peer(table).shuffle(seed=1).with_format("jax")
    return {"datasets": lambda: shuffled.iter(batch_size, drop_last_batch=True)}


def loaders(ds: Dataset, batch_size: int, **options: Any) -> dict[str, Reader]:
    """Ours, with the thread that is the default."""
    shuffled = {"shuffle": True, "last": "drop"}
    ahead = Loader(ds, batch_size, **(shuffled | options))
    alone = Loader(ds, batch_size, prefetch=0, **(shuffled | options))
    return {"arrow-jax": lambda: ahead, "arrow-jax, no thread": lambda: alone}


def bare(columns: dict[str, np.ndarray], batch_size: int) -> dict[str, Reader]:
    """The loop that nobody can do without."""
    n = len(next(iter(columns.values())))

    def read() -> Iterable[Any]:
        order = _RNG.permutation(n)
        for i in range(0, n - batch_size + 1, batch_size):
            rows = order[i : i + batch_size]
            yield jax.device_put({k: taken(v, rows) for k, v in columns.items()})

    return {"bare": read}


def taken(values: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Rows, in 64-byte aligned memory."""
    n_bytes = len(rows) * values[:1].nbytes
    raw = np.empty(n_bytes + 64, np.uint8)
    skip = -raw.ctypes.data % 64
    out = raw[skip : skip + n_bytes].view(values.dtype)
    out = out.reshape(len(rows), *values.shape[1:])
    return np.take(values, rows, axis=0, out=out, mode="clip")


def embeddings(folder: Path) -> Case:
    """Rows of float32[768], batch 256."""
    del folder
    x = _RNG.random((50_000, 768), np.float32)
    flat = pa.array(x.reshape(-1))
    table = pa.table({"x": pa.FixedSizeListArray.from_arrays(flat, 768)})
    return Case(
        "float32[768], batch 256",
        256,
        {
            **grain_readers(lambda i: {"x": x[i]}, len(x), 256),
            **hugging_face(table, 256),
            **bare({"x": x}, 256),
            **loaders(Dataset.from_arrow(table), 256),
        },
        {"grain": 60, "datasets": 100, "bare": 0.8},
    )


def embeddings_with_a_step(folder: Path) -> Case:
    """The same while a step runs on each batch."""
    case = embeddings(folder)
    w = jax.device_put(_RNG.random((768, 256), np.float32))
    step = jax.jit(lambda x: jax.nn.relu(x @ w).sum())

    def working(reader: Reader) -> Reader:
        return lambda: ((batch, step(batch["x"])) for batch in reader())

    readers = {
        name: working(reader)
        for name, reader in case.readers.items()
        if name.startswith(("bare", "arrow-jax"))
    }
    return Case("the same with a step on each batch", 256, readers, {"bare": 1.0})


def numbers(folder: Path) -> Case:
    """Twenty columns of float32, batch 1024."""
    del folder
    columns = {f"c{i:02}": _RNG.random(200_000, np.float32) for i in range(20)}
    table = pa.table(columns)
    return Case(
        "20 float32 columns, batch 1024",
        1024,
        {
            **grain_readers(
                lambda i: {k: v[i] for k, v in columns.items()}, 200_000, 1024
            ),
            **hugging_face(table, 1024),
            **bare(columns, 1024),
            **loaders(Dataset.from_arrow(table), 1024),
        },
        {"grain": 100},
    )


def tokens(folder: Path) -> Case:
    """Lists of 1 to 512 tokens, padded to buckets, batch 64."""
    del folder
    lengths = _RNG.integers(1, 513, 20_000)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    flat = _RNG.integers(0, 50_000, offsets[-1]).astype(np.int32)
    table = pa.table({"t": pa.ListArray.from_arrays(pa.array(offsets), pa.array(flat))})

    def row(i: int) -> dict[str, Any]:
        padded = np.zeros(512, np.int32)
        padded[: lengths[i]] = flat[offsets[i] : offsets[i + 1]]
        return {"t": padded, "n": lengths[i]}

    buckets = {"t": Buckets(max_buckets=8)}
    return Case(
        "1 to 512 tokens to 8 buckets, batch 64 (grain: to 512)",
        64,
        {
            **grain_readers(row, len(lengths), 64),
            **hugging_face(table, 64),
            **loaders(Dataset.from_arrow(table), 64, ragged=buckets),
        },
        {"datasets": 100},
    )


def png_table(n: int) -> pa.Table:
    """Images like digits, compressed."""
    from PIL import Image as Pillow  # noqa: PLC0415  (see peers)

    def encode(pixels: np.ndarray) -> dict[str, Any]:
        out = io.BytesIO()
        Pillow.fromarray(pixels).save(out, "PNG")
        return {"bytes": out.getvalue(), "path": None}

    blots = np.zeros((n, 28, 28), np.uint8)
    for image in blots:
        y, x = _RNG.integers(4, 14, 2)
        image[y : y + 10, x : x + 8] = _RNG.integers(64, 256, (10, 8))
    struct = pa.struct({"bytes": pa.binary(), "path": pa.string()})
    return pa.table({"image": pa.array([encode(i) for i in blots], struct)})


def pictures(folder: Path) -> Case:
    """PNG of 28 x 28, decoded every time, batch 256."""
    del folder
    from PIL import Image as Pillow  # noqa: PLC0415  (see peers)

    table = png_table(8_000)
    contents = [row["bytes"] for row in table["image"].to_pylist()]

    def row(i: int) -> dict[str, Any]:
        return {"image": np.asarray(Pillow.open(io.BytesIO(contents[i])))}

    ds = Dataset.from_arrow(table, {"image": Image()})
    return Case(
        "28 x 28 PNG, batch 256, first epoch",
        256,
        {**grain_readers(row, len(contents), 256), **loaders(ds, 256)},
        {"grain": 4},
    )


def decoded(folder: Path) -> Case:
    """The same once materialized, and float32 of as many bytes a row."""
    ds = Dataset.from_arrow(png_table(8_000), {"image": Image()})
    made = ds.materialize(folder / "digits.arrow")
    x = _RNG.random((8_000, 196), np.float32)  # 784 bytes, as an image has
    same = loaders(Dataset.from_dict({"x": x}), 256)["arrow-jax, no thread"]
    return Case(
        "28 x 28 materialized, batch 256 (bare: float32[196] by the loader)",
        256,
        {"bare": same, **loaders(made, 256)},
        {"bare": 0.5},
    )


if __name__ == "__main__":
    main()

"""Times `with_format("jax").iter`: ours, Hugging Face `datasets`, and a bare loop.

    python benchmarks/bench_formats.py [--rounds 7] [--only WORD] [--json FILE]

The same table goes through all three, in turn, so that what else the machine does falls
on all of them. The bare loop is what no reader can do without: for numbers the rows
gathered by `numpy.take` and one `jax.device_put` a batch, for lists a slice and a
transfer of each row's array, for images Pillow on each and the transfer of the batch.
On the first pass `datasets` pays for every length of a list that it has not seen, since
jax compiles for each.

Needs `datasets`, which the dependency group "test" has.
"""

import argparse
import io
import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image
from rates import rate_of

from arrow_jax import Dataset

_SECONDS_A_ROUND = (0.5, 2.0)  # passes are repeated for so long, or cut short
_RNG = np.random.default_rng(0)


class Case(NamedTuple):
    """A table, how it is read, and what is asked of us.

    Attributes:
      name: of the row.
      table: what is read.
      batch_size: rows in a batch.
      target: times faster than `datasets` we are to be.
      bare: the loop that nobody can do without; yields a tree for each batch.
    """

    name: str
    table: pa.Table
    batch_size: int
    target: int
    bare: Callable[[], Iterable[Any]]


def main() -> None:
    """Runs the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="", metavar="WORD")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    try:
        import datasets  # noqa: PLC0415  (a peer, not a dependency)
    except ImportError:
        sys.exit(
            'this compares with Hugging Face datasets: pip install "datasets>=4.0"'
        )
    datasets.disable_progress_bars()
    versions = {m.__name__: m.__version__ for m in (jax, pa, np, datasets)}
    print(", ".join(f"{name} {version}" for name, version in versions.items()))
    seconds = import_seconds()
    print(f"import arrow_jax, on top of jax and pyarrow: {seconds:.3f} s\n")
    print(
        "| thousand rows a second, best (median) | datasets | arrow-jax | bare loop |"
        " ours / datasets | on the first pass | wanted | ours / bare |"
        "\n|---|--:|--:|--:|--:|--:|--:|--:|"
    )
    cases = (doubles, embeddings, tensors, ragged, pictures)
    chosen = [make for make in cases if options.only in make.__name__]
    rows = [measure(make(), options.rounds) for make in chosen]
    if options.json:
        facts = {"versions": versions, "import_seconds": seconds, "rows": rows}
        options.json.write_text(json.dumps(facts, indent=1) + "\n")


def measure(case: Case, rounds: int) -> dict[str, Any]:
    """Runs the three readers in turn, and prints a row of the table."""
    from datasets import Dataset as Peer  # noqa: PLC0415  (see main)

    table = as_read(case.table)
    peer = Peer(table).with_format("jax")
    ours = Dataset.from_arrow(table).with_format("jax")
    readers: dict[str, Callable[[], Iterable[Any]]] = {
        "datasets": lambda: peer.iter(case.batch_size),
        "arrow-jax": lambda: ours.iter(case.batch_size),
        "bare": case.bare,
    }
    first = {
        name: rate_of(reader, case.batch_size, (0.0, _SECONDS_A_ROUND[1]))
        for name, reader in readers.items()
    }
    cold = first["arrow-jax"] / first["datasets"]
    rates: dict[str, list[float]] = {name: [] for name in readers}
    for _ in range(rounds):
        for name, reader in readers.items():
            rates[name].append(rate_of(reader, case.batch_size, _SECONDS_A_ROUND))
    best = {name: max(found) for name, found in rates.items()}
    middle = {name: statistics.median(found) for name, found in rates.items()}
    ratio, limit = (
        best["arrow-jax"] / best["datasets"],
        best["arrow-jax"] / best["bare"],
    )
    cells = [f"{best[n] / 1e3:,.1f} ({middle[n] / 1e3:,.1f})" for n in readers]
    print(
        f"| {case.name} | {' | '.join(cells)} | {ratio:.0f} | {cold:.0f} |"
        f" {case.target} | {limit:.2f} |",
        flush=True,
    )
    return {
        "name": case.name,
        "ratio": ratio,
        "ratio_first_pass": cold,
        "target": case.target,
        "of_bare": limit,
        "rows_per_second": {
            n: {"best": best[n], "median": middle[n], "first_pass": first[n]}
            for n in readers
        },
    }


def as_read(table: pa.Table) -> pa.Table:
    """Sends a table through Parquet, so that its memory lies as a reader leaves it."""
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    return pq.read_table(io.BytesIO(buffer.getvalue())).combine_chunks()


def import_seconds() -> float:
    """What importing arrow_jax costs a program that has jax and pyarrow, at best."""
    code = (
        "import jax, pyarrow, time; t = time.perf_counter(); import arrow_jax;"
        "print(time.perf_counter() - t)"
    )
    run = [sys.executable, "-c", code]
    return min(
        float(subprocess.run(run, capture_output=True, check=True).stdout)  # noqa: S603
        for _ in range(5)
    )


def _bare_numbers(columns: dict[str, np.ndarray], batch_size: int) -> Iterable[Any]:
    n = len(next(iter(columns.values())))
    for start in range(0, n, batch_size):
        at = np.arange(start, min(start + batch_size, n))
        yield jax.device_put({k: np.take(v, at, axis=0) for k, v in columns.items()})


def _numbers(name: str, table: pa.Table, values: Any, size: int, target: int) -> Case:
    return Case(name, table, size, target, lambda: _bare_numbers(values, size))


def doubles() -> Case:
    """Twenty columns of float64."""
    values = {f"x{i}": _RNG.standard_normal(1024 * 64) for i in range(20)}
    singles = {name: column.astype(np.float32) for name, column in values.items()}
    return _numbers(
        "20 float64 columns, batch 1024", pa.table(values), singles, 1024, 50
    )


def embeddings() -> Case:
    """Vectors of one length."""
    values = _RNG.standard_normal((256 * 16, 768)).astype(np.float32)
    column = pa.FixedSizeListArray.from_arrays(values.reshape(-1), 768)
    table = pa.table({"x": column})
    return _numbers(
        "fixed_size_list<float32, 768>, batch 256", table, {"x": values}, 256, 150
    )


def tensors() -> Case:
    """Small pictures as nested lists of bytes, which `datasets` has a feature for."""
    from datasets import Array2D, Features  # noqa: PLC0415  (see main)
    from datasets import Dataset as Peer  # noqa: PLC0415

    values = _RNG.integers(0, 256, (256 * 16, 28, 28), np.uint8)
    features = Features({"x": Array2D((28, 28), "uint8")})
    made = Peer.from_dict({"x": list(values)}, features)
    table = made.data.table
    return _numbers(
        "uint8[28, 28] tensor column, batch 256", table, {"x": values}, 256, 100
    )


def ragged() -> Case:
    """Lists of tokens."""
    lengths = _RNG.integers(0, 513, 64 * 16)
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    tokens = _RNG.integers(0, 50_000, ends[-1]).astype(np.int32)
    table = pa.table({"x": pa.ListArray.from_arrays(ends, tokens)})

    def bare() -> Iterable[Any]:
        for start in range(0, len(lengths), 64):
            rows = range(start, start + 64)
            yield jax.device_put([tokens[ends[i] : ends[i + 1]] for i in rows])

    return Case("ragged int32 lists, mean 256, batch 64", table, 64, 50, bare)


def pictures() -> Case:
    """Handwritten digits are such pictures."""
    contents = []
    for _ in range(256 * 4):
        pixels = np.zeros((28, 28), np.uint8)
        pixels[6:22, 8:20] = _RNG.integers(0, 256, (16, 12))
        buffer = io.BytesIO()
        Image.fromarray(pixels).save(buffer, "PNG")
        contents.append(buffer.getvalue())
    type_ = pa.struct({"bytes": pa.binary(), "path": pa.string()})
    column = pa.array([{"bytes": c, "path": None} for c in contents], type_)
    said = json.dumps({"info": {"features": {"x": {"_type": "Image"}}}})
    table = pa.table({"x": column}).replace_schema_metadata({"huggingface": said})

    def bare() -> Iterable[Any]:
        for start in range(0, len(contents), 256):
            out = np.empty((256, 28, 28), np.uint8)
            for i, content in enumerate(contents[start : start + 256]):
                with Image.open(io.BytesIO(content)) as image:
                    out[i] = np.asarray(image)
            yield jax.device_put(out)

    return Case("28x28 PNG, batch 256", table, 256, 4, bare)


if __name__ == "__main__":
    main()

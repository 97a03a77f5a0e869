"""`python -m arrow_jax`: what is in a file, and how fast it comes."""

import argparse
import math
import sys
import textwrap
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax

from arrow_jax._buckets import Buckets
from arrow_jax._dataset import Dataset
from arrow_jax._errors import ArrowJaxError
from arrow_jax._inspect import Report, inspect_columns
from arrow_jax._ipc import IPC, read_ipc
from arrow_jax._ledger import Stats
from arrow_jax._loader import Loader
from arrow_jax._parquet import PARQUET, read_parquet
from arrow_jax._rows import check_batch_size
from arrow_jax._text import CSV, JSON, read_csv, read_json

_READERS = (
    (PARQUET, read_parquet),
    (IPC, read_ipc),
    (CSV, read_csv),
    (JSON, read_json),
)
_WIDTH = 30  # of the bars


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command.

    Args:
      argv: the arguments; those of the process by default.

    Returns:
      The exit code: 0, or 2 if the input is at fault.
    """
    parser = argparse.ArgumentParser(
        prog="python -m arrow_jax", description="Arrow and Parquet to jax.Array."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    look = commands.add_parser("inspect", help="what the columns are and become")
    time_ = commands.add_parser("bench", help="how fast shuffled batches come")
    for command in (look, time_):
        command.add_argument("path", help="a file, a folder, a glob or an address")
        command.add_argument("--columns", nargs="+", metavar="NAME")
    time_.add_argument("--batch-size", type=int, default=256, metavar="N")
    time_.add_argument("--seconds", type=float, default=3.0)
    options = parser.parse_args(argv)
    try:
        ds = _read(options.path)
        if options.columns:
            ds = ds.with_format(columns=options.columns)
        if options.command == "inspect":
            text = inspect_text(options.path, ds)
        else:
            check_batch_size(options.batch_size)
            text = bench_text(ds, options.batch_size, options.seconds)
    except (ArrowJaxError, OSError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    except KeyboardInterrupt:
        return 130
    sys.stdout.write(f"{_printable(text)}\n")
    return 0


def _printable(text: str) -> str:
    """Shows what could move the cursor, which names of columns may hold."""
    return "".join(
        c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode()
        for c in text
    )


def _read(path: str) -> Dataset:
    names = [path]
    if Path(path).is_dir():
        names = [file.name for file in Path(path).rglob("*")]
    for kind, read in _READERS:
        if any(name.endswith(kind.endings) for name in names):
            return read(path)
    if not Path(path).exists() and "://" not in path and "*" not in path:
        raise FileNotFoundError(f"there is nothing at {path}. Check the path")
    known = ", ".join(ending for kind, _ in _READERS for ending in kind.endings)
    raise ArrowJaxError(f"{path} holds no file that ends in one of: {known}")


def inspect_text(path: str, ds: Dataset) -> str:
    """Says what the columns of a dataset are.

    Args:
      path: where it comes from.
      ds: the dataset.

    Returns:
      Lines for the terminal.
    """
    reports = inspect_columns(ds)
    total = sum(report.n_bytes for report in reports)
    rows = [("column", "Arrow type", "becomes", "nulls", "lengths", "bytes", "batch")]
    rows += [
        (
            _named(r.name),
            r.type,
            r.becomes,
            f"{r.nulls:,}" if r.nulls else "",
            r.lengths,
            in_words(r.n_bytes),
            r.way,
        )
        for r in reports
    ]
    shown = [i for i in range(7) if any(row[i] for row in rows[1:])]
    widths = {i: max(len(row[i]) for row in rows) for i in shown}
    right = {3, 5}
    lines = [f"{path}: {len(ds):,} rows, {in_words(total)} in memory", ""]
    lines += [
        "  ".join(
            row[i].rjust(widths[i]) if i in right else row[i].ljust(widths[i])
            for i in shown
        ).rstrip()
        for row in rows
    ]
    advice = _advice(reports) if len(ds) else ["It has no rows: nothing to load."]
    return "\n".join([*lines, "", *advice])


def _advice(reports: list[Report]) -> list[str]:
    lines = []
    if sum(bool(report.edges) for report in reports) > 1:
        lines.append("A batch has one family of Buckets: pad the others to one length.")
    for report in reports:
        if report.advice:
            text = report.advice.removeprefix("! ")
            if not text.startswith("column"):
                text = f"{_named(report.name)}: {text}"
            lines += textwrap.wrap(text, 96, subsequent_indent="  ")
    return lines or ["Loader(ds, batch_size) takes it as it is."]


def _named(name: str) -> str:
    return name.replace("\n", "\\n")


def bench_text(ds: Dataset, batch_size: int, seconds: float) -> str:
    """Times shuffled batches of the columns that become arrays.

    Args:
      ds: the dataset.
      batch_size: rows in a batch.
      seconds: how long.

    Returns:
      Lines for the terminal.

    Raises:
      ArrowJaxError: if there are no rows, or no column becomes an array.
    """
    if not len(ds):
        raise ArrowJaxError("it has no rows: nothing to load")
    reports = [report for report in inspect_columns(ds) if report.usable]
    if not reports:
        raise ArrowJaxError("no column becomes an array. See: inspect")
    ragged = {r.name: Buckets(r.edges) for r in reports if r.edges}
    nulls = {r.name: "mask" for r in reports if r.masked}
    ds = ds.with_format(columns=[r.name for r in reports], nulls=nulls)
    size = min(batch_size, len(ds))
    loader = Loader(
        ds, size, shuffle=True, epochs=None, last="drop", ragged=_one(ragged)
    )
    n, n_bytes = 0, 0
    with iter(loader) as run:
        jax.block_until_ready(next(run))  # it pays for what is found once
        before, start = run.stats(), time.perf_counter()
        while not n or time.perf_counter() - start < seconds:
            batch = jax.block_until_ready(next(run))
            n, n_bytes = n + 1, n_bytes + _size(batch)
        taken = time.perf_counter() - start
        after = run.stats()
    names = ", ".join(report.name for report in reports)
    rates = (
        f"{n * size / taken:,.0f} rows/s, {n_bytes / taken / 1e9:.2f} GB/s, "
        f"{taken / n * 1e6:,.0f} us a batch of {in_words(n_bytes / n)}"
    )
    fewer = f" (all rows; {batch_size:,} were asked for)" if size < batch_size else ""
    head = [f"{_named(names)}: shuffled batches of {size:,}{fewer}", rates, ""]
    return "\n".join([*head, *_bars(before, after, n)])


def _one(ragged: dict[str, Buckets]) -> dict[str, Any]:
    """One family of buckets, since a batch has one; other columns to their longest."""
    first = next(iter(ragged.values()), None)
    return {
        name: form if form == first else (form.edges or (0,))[-1]
        for name, form in ragged.items()
    }


def _size(batch: Any) -> int:
    return sum(leaf.nbytes for leaf in jax.tree.leaves(batch))


def _bars(before: Stats, after: Stats, n: int) -> list[str]:
    spent = {k: after.seconds[k] - before.seconds[k] for k in after.seconds}
    most = max(*spent.values(), 1e-9)
    width = max(map(len, spent))
    lines = []
    for what, s in spent.items():
        bar = "#" * round(_WIDTH * s / most)
        lines.append(f"{what:{width}}  {1e6 * s / n:8,.0f} us  {bar}".rstrip())
    return lines


def in_words(n_bytes: float) -> str:
    """Says how many bytes.

    Args:
      n_bytes: the number.

    Returns:
      Words such as "3.1 MB".
    """
    units = ("B", "kB", "MB", "GB", "TB")
    power = min(int(math.log10(max(n_bytes, 1))) // 3, len(units) - 1)
    size = n_bytes / 1000**power
    return f"{size:.{0 if power == 0 or size >= 100 else 1}f} {units[power]}"

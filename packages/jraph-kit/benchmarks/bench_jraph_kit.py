"""Trains and times what the package is for; prints a table.

    python benchmarks/bench_jraph_kit.py [--only TASK ...] [--json FILE] [--plot FILE]

Tasks are the files in `tasks/`. Timings of rivals are taken in turn in one process.
"""

import argparse
import importlib
import json
import sys
import time
from pathlib import Path
from typing import Any

import jax
from matplotlib.figure import Figure

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
TASKS = ["karate", "triangles", "citations", "epoch", "batching"]


def main() -> None:
    """Runs the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=TASKS, default=TASKS)
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--plot", type=Path, metavar="FILE")
    options = parser.parse_args()
    print(f"jax {jax.__version__}, {jax.default_backend()}")
    rows = []
    for name in options.only:
        start = time.perf_counter()
        found = importlib.import_module(f"tasks.{name}").run()
        for row in found:
            values = ", ".join(f"{value:,}" for value in row["values"])
            verdict = "reached" if row["ok"] else "MISSED"
            print(f"\n{row['task']}\n  {row['figure']}\n  {values}", end="")
            print(f"   (wanted {row['wanted']}: {verdict})")
        rows += found
        print(f"  {time.perf_counter() - start:.0f} s", flush=True)
    if options.json:
        facts = {"jax": jax.__version__, "backend": jax.default_backend()}
        options.json.write_text(json.dumps({**facts, "rows": rows}, indent=1) + "\n")
    if options.plot:
        pairs = [row for row in rows if row["figure"].startswith("graphs/s")]
        _plot(pairs, options.plot)


def _plot(rows: list[dict[str, Any]], path: Path) -> None:
    """Draws how many times as many graphs a second each pair makes."""
    figure = Figure(figsize=(10, 0.45 * len(rows) + 1), layout="constrained")
    axes = figure.add_subplot()
    for i, row in enumerate(rows):
        ours, theirs, ratio = row["values"]
        axes.barh(i, ratio, 0.7, color="#1b4965")
        said = f" {ratio}: {ours:,} against {theirs:,} a second"
        axes.text(ratio, i, said, va="center", color="#1b4965")
    axes.axvline(1, color="#8a9ba8", linewidth=1)
    axes.set_yticks(range(len(rows)), [row["task"] for row in rows])
    axes.invert_yaxis()
    axes.set_xlim(0, 1.9 * max(row["values"][2] for row in rows))
    axes.set_xlabel("times as many graphs as padded to the largest, or by jraph")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()

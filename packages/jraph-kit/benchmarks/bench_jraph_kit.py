"""Trains and times what the package is for; prints a table.

    python benchmarks/bench_jraph_kit.py [--only TASK ...] [--json FILE]

Tasks are the files in `tasks/`. Timings of rivals are taken in turn in one process.
"""

import argparse
import importlib
import json
import sys
import time
from pathlib import Path

import jax

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
TASKS = ["karate", "triangles", "citations", "epoch", "batching"]


def main() -> None:
    """Runs the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=TASKS, default=TASKS)
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    print(f"jax {jax.__version__}, {jax.default_backend()}")
    rows = []
    for name in options.only:
        start = time.perf_counter()
        found = importlib.import_module(f"tasks.{name}").run()
        for row in found:
            values = ", ".join(f"{value:,}" for value in row["values"])
            verdict = {True: "reached", False: "MISSED", None: ""}[row["ok"]]
            print(f"\n{row['task']}\n  {row['figure']}\n  {values}", end="")
            print(f"   (wanted {row['wanted']}: {verdict})" if row["wanted"] else "")
        rows += found
        print(f"  {time.perf_counter() - start:.0f} s", flush=True)
    if options.json:
        facts = {"jax": jax.__version__, "backend": jax.default_backend()}
        options.json.write_text(json.dumps({**facts, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()

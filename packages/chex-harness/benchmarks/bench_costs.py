"""What the harness costs: processes beside a bare import, checks beside checkify.

    python benchmarks/bench_costs.py [--rounds 3] [--json FILE]

The rows of a table run in turn, and the median of the rounds is shown; each table has
its baseline in the first row.
"""

import argparse
import functools
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import checkify

from chex_harness import check, checked, run_processes, simulate_devices


def nothing() -> None:
    """What a process does whose start is timed."""


def bare_import() -> None:
    """Starts one process that imports jax, and does no more."""
    program = "import jax"
    env = {**os.environ, "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-c", program]
    subprocess.run(command, check=True, env=env)  # noqa: S603  (our own program)


def started(processes: int) -> Callable[[], object]:
    """Starts a job that does nothing."""
    return lambda: run_processes(nothing, processes=processes, devices=2)


def step(x: jax.Array) -> jax.Array:
    """A step of about a millisecond."""
    for _ in range(4):
        x = jnp.tanh(x @ x)
    return x


def with_check(x: jax.Array) -> jax.Array:
    """The step with a check of ours."""
    x = step(x)
    check(jnp.isfinite(x), "x must be finite", x=x)
    return x


def with_checkify(x: jax.Array) -> jax.Array:
    """The step with a check of jax."""
    x = step(x)
    checkify.check(jnp.isfinite(x).all(), "x must be finite")
    return x


def checks() -> Mapping[str, Callable[[], object]]:
    """Calls of one step, compiled before."""
    x = jnp.eye(256)
    plain, ours = jax.jit(step), jax.jit(with_check)
    theirs = jax.jit(checkify.checkify(with_checkify))
    told = checked(ours)
    for fn in (plain, ours, theirs, told):
        jax.block_until_ready(fn(x))
    return {
        "no check": lambda: plain(x).block_until_ready(),
        "check, nobody listens": lambda: ours(x).block_until_ready(),
        "check in checked()": functools.partial(told, x),
        "checkify": lambda: theirs(x)[0].throw(),  # noqa: PLW0108  (not called yet)
    }


def timed(
    rows: Mapping[str, Callable[[], object]], rounds: int, calls: int
) -> dict[str, float]:
    """The median seconds of a call of each row."""
    seconds: dict[str, list[float]] = {name: [] for name in rows}
    for _ in range(rounds):
        for name, call in rows.items():
            start = time.perf_counter()
            for _ in range(calls):
                call()
            seconds[name].append((time.perf_counter() - start) / calls)
    return {name: statistics.median(values) for name, values in seconds.items()}


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    simulate_devices(8)
    jobs = {f"run_processes({n})": started(n) for n in (1, 2, 4)}
    found: dict[str, Any] = {
        "starting": timed({"import jax": bare_import, **jobs}, options.rounds, 1),
        "checking": timed(checks(), options.rounds, 200),
    }
    for title, rows in found.items():
        first = next(iter(rows.values()))
        print(f"\n{title:24}{'ms':>10}{'ratio':>8}")
        for name, seconds in rows.items():
            print(f"{name:24}{1e3 * seconds:10.2f}{seconds / first:8.2f}")
    if options.json:
        options.json.write_text(json.dumps(found, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()

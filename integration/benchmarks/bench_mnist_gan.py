"""Steps a second of the recipe `reference`, beside plain Haiku and Optax.

Both start from one seed and see the same batches; they take turns, a few steps each, so
that a change in the machine's speed falls on both. Prints a table, and JSON with
`--json FILE`.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import plain
from rich.console import Console
from rich.table import Table

import arrow_jax
from mnist_gan import _devices, _digits, _game
from mnist_gan._recipes import RECIPES

SEED = 0
BATCH = 64
CHUNK = 5  # steps in a turn
SIZE = 1024  # of the matrix product


def matmul_rate() -> float:
    """The best rate of XLA's own matrix product, in FLOP/s."""
    x = jnp.full((SIZE, SIZE), 1 / SIZE)
    product = jax.jit(jnp.dot)
    took = []
    for _ in range(20):
        start = time.perf_counter()
        x = jax.block_until_ready(product(x, x))
        took.append(time.perf_counter() - start)
    return 2 * SIZE**3 / min(took)


def turn(
    update: Callable[..., Any], state: Any, batches: Any
) -> tuple[Any, list[np.ndarray], float, float]:
    """Takes a turn; returns state, losses, seconds a step, and those spent waiting."""
    losses, waited = [], 0.0
    start = time.perf_counter()
    for _ in range(CHUNK):
        asked = time.perf_counter()
        images = next(batches)["image"]
        waited += time.perf_counter() - asked
        state, loss = update(state, images)
        losses.append(loss)
    jax.block_until_ready((state, losses))
    seconds = time.perf_counter() - start
    return state, losses, seconds / CHUNK, waited / CHUNK


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=12)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()

    recipe, on = RECIPES["reference"], _devices.place(1)
    digits = _digits.load(None).dataset
    ours = jax.jit(
        _game.update(recipe, on.mesh),
        donate_argnums=0,
        in_shardings=(on.replicated, on.spread),
        out_shardings=(on.replicated, on.replicated),
    )

    def step(state: Any, images: jax.Array) -> Any:
        state, losses = ours(state, [images])
        return state, jnp.concatenate(losses)

    runs = {
        "plain": [plain.update, plain.init(SEED)],
        "ours": [step, _game.init(recipe, SEED)],
    }
    loaders = {
        name: iter(
            arrow_jax.Loader(
                digits, BATCH, shuffle=True, seed=SEED, epochs=None, last="drop"
            )
        )
        for name in runs
    }
    losses: dict[str, list[np.ndarray]] = {name: [] for name in runs}
    took: dict[str, list[float]] = {name: [] for name in runs}
    waits: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(arguments.turns + 1):  # the first turn compiles
        for name, run in runs.items():
            run[1], loss, seconds, waited = turn(run[0], run[1], loaders[name])
            losses[name] += [np.asarray(x).ravel() for x in loss]
            took[name].append(seconds)
            waits[name].append(waited)
    for loader in loaders.values():
        loader.close()

    images = jax.ShapeDtypeStruct((BATCH, 28, 28), np.uint8)
    abstract = jax.eval_shape(lambda: plain.init(SEED))
    flop = plain.update.lower(abstract, images).compile().cost_analysis()["flops"]
    rate = matmul_rate()
    best = {name: min(seconds[1:]) for name, seconds in took.items()}
    middle = {name: float(np.median(seconds[1:])) for name, seconds in took.items()}
    apart = np.abs(np.divide(losses["ours"], losses["plain"]) - 1).max(1)
    result = {
        "steps_per_second": {name: 1 / s for name, s in best.items()},
        "median_ms": {name: 1e3 * s for name, s in middle.items()},
        "ratio": best["plain"] / best["ours"],
        "ratio_of_medians": middle["plain"] / middle["ours"],
        "gflop_per_step": flop / 1e9,
        "matmul_gflop_per_second": rate / 1e9,
        "share_of_matmul": {name: flop / s / rate for name, s in best.items()},
        "data_wait_share": float(np.median(waits["ours"][1:])) / middle["ours"],
        "losses_apart_10_steps": float(apart[:10].max()),
        "device": str(on.mesh.devices.flat[0].device_kind),
        "jax": jax.__version__,
    }
    show(result)
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=2) + "\n")


def show(result: dict[str, Any]) -> None:
    """Prints the table."""
    table = Table("", "plain Haiku", "ours", "ratio", box=None, pad_edge=False)
    speed, ms = result["steps_per_second"], result["median_ms"]
    share = result["share_of_matmul"]
    table.add_row(
        "steps/s, best turn",
        f"{speed['plain']:.2f}",
        f"{speed['ours']:.2f}",
        f"{result['ratio']:.1f}",
    )
    table.add_row(
        "ms a step, median",
        f"{ms['plain']:.0f}",
        f"{ms['ours']:.0f}",
        f"{result['ratio_of_medians']:.1f}",
    )
    table.add_row(
        "of the matrix product's rate",
        f"{share['plain']:.0%}",
        f"{share['ours']:.0%}",
    )
    out = Console(highlight=False)
    out.print(table)
    out.print(
        f"{result['gflop_per_step']:.2f} GFLOP a step in plain Haiku's form, "
        f"{result['matmul_gflop_per_second']:.0f} GFLOP/s in a {SIZE}x{SIZE} product; "
        f"data wait {result['data_wait_share']:.1%} of our step; losses apart by at "
        f"most {result['losses_apart_10_steps']:.0e} over 10 steps",
        soft_wrap=True,
    )


if __name__ == "__main__":
    main()

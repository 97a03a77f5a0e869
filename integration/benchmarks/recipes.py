"""Trains recipes, judges them as they go, and prints the table of the README.

    python benchmarks/recipes.py --data FOLDER_OF_MNIST --out recipes.json
    python benchmarks/recipes.py --recipe fast --every 100 --steps 1000 --seeds 1 ...

Every run is judged by `mnist-gan evaluate`'s figures, 10,000 samples each time. The
file is written after every run, and runs that are in it already are left out, so it
can be stopped. `--publish` writes what `evaluate` shows beside other runs.
"""

import argparse
import dataclasses
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
from rich.console import Console
from rich.table import Table

import arrow_jax
from mnist_gan import _classifier, _digits, _evaluate, _game, _labelled, _neighbours
from mnist_gan._batches import open_loader, seen
from mnist_gan._devices import place
from mnist_gan._recipes import RECIPES, Recipe
from mnist_gan._sample import draw

N = _evaluate.PUBLISHED_N
LOOKED_FOR = 1_000  # nearest neighbours
PUBLISHED = Path(__file__).resolve().parent.parent / "src/mnist_gan/published.json"


class Judge:
    """The figures of `mnist-gan evaluate`, for generators in memory."""

    def __init__(self, learned: np.ndarray) -> None:
        self._learned = learned
        self.classifier = _classifier.load()
        new = _labelled.load(None, "test").images[:LOOKED_FOR]
        self._real = _neighbours.nearest(new, learned).distance

    def figures(self, recipe: Recipe, gen_params: Any) -> dict[str, Any]:
        """Judges 10,000 samples."""
        samples = draw(recipe, gen_params, seed=0, n=N)
        opinions = _classifier.judge(self.classifier.params, samples)
        near = _neighbours.nearest(samples[:LOOKED_FOR], self._learned)
        found = _evaluate.figures(self.classifier, opinions, near.distance, self._real)
        return dataclasses.asdict(found)


def train(
    recipe: Recipe, digits: arrow_jax.Dataset, *, seed: int, steps: int, every: int
) -> Iterator[tuple[int, float, _game.TrainState]]:
    """Yields (step, seconds of training, state) each `every` steps, and at the end."""
    on = place(1)
    update = jax.jit(
        _game.update(recipe, on.mesh),
        donate_argnums=0,
        in_shardings=(on.replicated, on.spread),
        out_shardings=(on.replicated, on.replicated),
    )
    state = jax.jit(lambda: _game.init(recipe, seed), out_shardings=on.replicated)()
    loader = open_loader(recipe, digits, seed=seed, sharding=on.spread)
    seconds = 0.0
    with loader, iter(loader) as batches:
        update = update.lower(state, [seen(loader.spec)]).compile()
        start = time.perf_counter()
        for step in range(1, steps + 1):
            state, losses = update(state, [seen(next(batches))])
            if step % every == 0 or step == steps:
                jax.block_until_ready(losses)
                seconds += time.perf_counter() - start
                yield step, seconds, state
                start = time.perf_counter()


def main() -> None:
    """Runs what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", help="default: the shipped digits")
    parser.add_argument("--out", type=Path, required=True, help="a JSON file")
    parser.add_argument("--recipe", action="append", choices=RECIPES)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, help="default: the recipe's")
    parser.add_argument("--every", type=int, default=1000, help="steps between figures")
    parser.add_argument("--publish", action="store_true")
    asked = parser.parse_args()
    digits = _digits.load(asked.data).dataset
    judge = Judge(digits.with_format("numpy")[:]["image"])
    runs = json.loads(asked.out.read_text()) if asked.out.exists() else []
    for name in asked.recipe or RECIPES:
        recipe = RECIPES[name]
        steps = asked.steps or recipe.steps
        for seed in range(asked.seeds):
            if any(
                (r["recipe"], r["seed"], r["steps"]) == (name, seed, steps)
                for r in runs
            ):
                continue
            marks = []
            for step, seconds, state in train(
                recipe, digits, seed=seed, steps=steps, every=asked.every
            ):
                figures = judge.figures(recipe, state.average)
                marks.append({"step": step, "seconds": seconds, "figures": figures})
                print(
                    f"{name} seed {seed} step {step:,}: {seconds:.0f} s, Fréchet "
                    f"{figures['frechet']:.1f}, score {figures['score']:.2f}",
                    flush=True,
                )
            runs.append({"recipe": name, "seed": seed, "steps": steps, "marks": marks})
            asked.out.write_text(json.dumps(runs, indent=1) + "\n")
    show(runs)
    if asked.publish:
        publish(runs, judge.classifier.sha256)


def publish(runs: list[dict[str, Any]], sha256: str) -> None:
    """Writes the last figures of runs of the recipes' own lengths."""
    recipes: dict[str, list[Any]] = {}
    for run in runs:
        if run["steps"] == RECIPES[run["recipe"]].steps:
            last = run["marks"][-1]["figures"]
            entry = {"seed": run["seed"], "steps": run["steps"], "figures": last}
            recipes.setdefault(run["recipe"], []).append(entry)
    content = {"classifier_sha256": sha256, "samples": N, "recipes": recipes}
    PUBLISHED.write_text(json.dumps(content, indent=1) + "\n")


def show(runs: list[dict[str, Any]]) -> None:
    """Prints a row a recipe and length: means over seeds, with the range."""
    columns = ["steps", "seeds", "ms a step", "Fréchet", "score", "KL", "rarest"]
    table = Table("recipe", *columns, box=None, pad_edge=False)
    for name, steps in dict.fromkeys((r["recipe"], r["steps"]) for r in runs):
        found = [r for r in runs if (r["recipe"], r["steps"]) == (name, steps)]
        lasts = [r["marks"][-1] for r in found]
        frechet = [m["figures"]["frechet"] for m in lasts]
        table.add_row(
            name,
            f"{steps:,}",
            str(len(found)),
            f"{1e3 * np.mean([m['seconds'] for m in lasts]) / steps:.0f}",
            f"{np.mean(frechet):.0f} ({min(frechet):.0f} to {max(frechet):.0f})",
            f"{np.mean([m['figures']['score'] for m in lasts]):.2f}",
            f"{np.mean([m['figures']['class_divergence'] for m in lasts]):.3f}",
            f"{np.mean([min(m['figures']['class_shares']) for m in lasts]):.1%}",
        )
    Console(highlight=False).print(table)


if __name__ == "__main__":
    main()

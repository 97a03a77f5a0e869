"""Trains `best` with one of its choices made otherwise, and prints what that changes.

    python benchmarks/choices.py --data FOLDER_OF_MNIST --out choices.json
    python benchmarks/choices.py --only "R1 alone" --steps 5000 --seeds 3 ...

Rows are judged as `benchmarks/recipes.py` does. The file is written after every run,
and runs that are in it already are left out, so it can be stopped.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from recipes import Judge, train
from rich.console import Console
from rich.table import Table

from haiku_nets import DCGANDiscriminator
from mnist_gan import _digits
from mnist_gan._losses import Penalty
from mnist_gan._recipes import RECIPES
from optax_chains import Players, gan_adam


def _logistic_gen(real_logits: jax.Array, fake_logits: jax.Array) -> jax.Array:
    del real_logits
    return jnp.mean(jax.nn.softplus(-fake_logits))


def _logistic_disc(real_logits: jax.Array, fake_logits: jax.Array) -> jax.Array:
    return jnp.mean(jax.nn.softplus(-real_logits) + jax.nn.softplus(fake_logits))


def _normalised() -> DCGANDiscriminator:
    return DCGANDiscriminator((32, 64, 128), spectral_norm=True)


_BEST = RECIPES["best"]
_LOGISTIC = _BEST._replace(losses=Players(_logistic_gen, _logistic_disc))
CHOICES = {
    "best": _BEST,
    "R1 and R2 at each 4th step": _BEST._replace(penalty=Penalty(3.0, 4, fake=True)),
    "R1 and R2 at each 16th step": _BEST._replace(penalty=Penalty(3.0, 16, fake=True)),
    "gamma 1": _BEST._replace(penalty=Penalty(1.0, 2, fake=True)),
    "gamma 10": _BEST._replace(penalty=Penalty(10.0, 2, fake=True)),
    "R1 alone": _BEST._replace(penalty=Penalty(3.0, 2, fake=False)),
    "no penalty": _BEST._replace(penalty=None),
    "spectral norm and no penalty": _BEST._replace(
        penalty=None, discriminator=_normalised
    ),
    "spectral norm too": _BEST._replace(discriminator=_normalised),
    "logistic losses": _LOGISTIC,
    "logistic losses, fakes not shared": _LOGISTIC._replace(paired=False),
    "Adam 2e-4, 0.5, 0.999": _BEST._replace(
        chains=Players(gan_adam(2e-4), gan_adam(2e-4))
    ),
    "no average": _BEST._replace(average=0.0),
    "the reference's networks": _BEST._replace(
        generator=RECIPES["reference"].generator,
        discriminator=RECIPES["reference"].discriminator,
    ),
}


def main() -> None:
    """Runs what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", help="default: the shipped digits")
    parser.add_argument("--out", type=Path, required=True, help="a JSON file")
    parser.add_argument("--only", action="append", choices=CHOICES)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--steps", type=int, default=1_000)
    asked = parser.parse_args()
    digits = _digits.load(asked.data).dataset
    judge = Judge(digits.with_format("numpy")[:]["image"])
    runs = json.loads(asked.out.read_text()) if asked.out.exists() else []
    done = {(run["choice"], run["seed"], run["steps"]) for run in runs}
    for name in asked.only or CHOICES:
        for seed in range(asked.seeds):
            if (name, seed, asked.steps) in done:
                continue
            recipe, steps = CHOICES[name], asked.steps
            [mark] = train(recipe, digits, seed=seed, steps=steps, every=steps)
            figures = judge.figures(recipe, mark[2].average)
            print(f"{name}, seed {seed}: Fréchet {figures['frechet']:.1f}", flush=True)
            run = {"choice": name, "seed": seed, "steps": steps, "figures": figures}
            runs.append(run)
            asked.out.write_text(json.dumps(runs, indent=1) + "\n")
    show(runs)


def show(runs: list[dict[str, Any]]) -> None:
    """Prints a row a choice and length, means over seeds."""
    table = Table("choice", "steps", "seeds", "Fréchet", "rarest", box=None)
    for name, steps in dict.fromkeys((run["choice"], run["steps"]) for run in runs):
        found = [
            run["figures"]
            for run in runs
            if (run["choice"], run["steps"]) == (name, steps)
        ]
        table.add_row(
            name,
            f"{steps:,}",
            str(len(found)),
            f"{np.mean([figures['frechet'] for figures in found]):.0f}",
            f"{np.mean([min(figures['class_shares']) for figures in found]):.1%}",
        )
    Console(highlight=False).print(table)


if __name__ == "__main__":
    main()

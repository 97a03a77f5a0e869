"""Counts the modes that a recipe finds of a thousand: Stacked MNIST.

    python benchmarks/stacked.py --data FOLDER_OF_MNIST --out stacked.json

Three digits drawn at random are the red, green and blue of one image, so there are a
thousand kinds of image, all as frequent. The classifier of `mnist-gan evaluate` reads
the three channels of 25,600 samples; a kind counts as found if one sample is of it.

References:
  Metz et al., Unrolled Generative Adversarial Networks, 2016, section 3.3.1,
  https://arxiv.org/abs/1611.02163; Lin et al., PacGAN, 2018, section 4.1, for the
  number of samples, https://arxiv.org/abs/1712.04086
"""

import argparse
import contextlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from PIL import Image

import arrow_jax
from haiku_nets import DCGANGenerator
from mnist_gan import _classifier, _digits, _game, _pictures
from mnist_gan._batches import open_loader
from mnist_gan._devices import place
from mnist_gan._recipes import RECIPES, Recipe
from mnist_gan._sample import draw
from mnist_gan._scores import divergence

SAMPLES = 25_600
KINDS = 1_000
# As `best`, with colours, and more latents for a hundred times as many kinds.
RECIPE = RECIPES["best"]._replace(
    latents=64,
    generator=lambda: DCGANGenerator((96, 48), image_channels=3),
)


def train(
    recipe: Recipe, digits: arrow_jax.Dataset, *, seed: int, steps: int, every: int
) -> Iterator[tuple[int, float, _game.TrainState]]:
    """Yields (step, seconds of training, state) each `every` steps, and at the end."""
    on = place(1)

    def stacked(state: Any, channels: list[jax.Array]) -> Any:
        update = _game.update(recipe, on.mesh)
        return update(state, [jnp.stack(channels, -1)])

    update = jax.jit(stacked, donate_argnums=0)
    state = jax.jit(lambda: _game.init(recipe, seed))()
    loaders = [
        open_loader(recipe, digits, seed=3 * seed + channel, sharding=on.spread)
        for channel in range(3)
    ]
    seconds = 0.0
    with contextlib.ExitStack() as stack:
        streams = [stack.enter_context(iter(loader)) for loader in loaders]
        start = time.perf_counter()
        for step in range(1, steps + 1):
            channels = [next(stream)["image"] for stream in streams]
            state, losses = update(state, channels)
            if step % every == 0 or step == steps:
                jax.block_until_ready(losses)
                seconds += time.perf_counter() - start
                yield step, seconds, state
                start = time.perf_counter()


def judge(params: Any, images: np.ndarray) -> dict[str, float]:
    """Counts kinds in uint8[n, 28, 28, 3], and how evenly they come."""
    channels = [
        _classifier.judge(params, images[..., c]).log_probs.argmax(1) for c in range(3)
    ]
    kinds = np.ravel_multi_index(channels, (10, 10, 10))
    shares = np.bincount(kinds, minlength=KINDS) / len(kinds)
    even = np.full(KINDS, 1 / KINDS)
    return {"kinds": int((shares > 0).sum()), "divergence": divergence(shares, even)}


def main() -> None:
    """Trains, judges, writes."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", help="default: the shipped digits")
    parser.add_argument("--out", type=Path, required=True, help="a JSON file")
    parser.add_argument("--steps", type=int, default=5_000)
    parser.add_argument("--every", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    digits = _digits.load(asked.data).dataset
    params = _classifier.load().params
    real = digits.with_format("numpy")[:]["image"]
    rows = np.random.default_rng(asked.seed).integers(0, len(real), (SAMPLES, 3))
    marks = [{"step": "real digits", **judge(params, np.moveaxis(real[rows], 1, -1))}]
    print(marks[0], flush=True)
    for step, seconds, state in train(
        RECIPE, digits, seed=asked.seed, steps=asked.steps, every=asked.every
    ):
        samples = draw(RECIPE, state.average, seed=0, n=SAMPLES)
        marks.append({"step": step, "seconds": seconds, **judge(params, samples)})
        print(marks[-1], flush=True)
        asked.out.write_text(json.dumps(marks, indent=1) + "\n")
        sheet = [_pictures.grid(samples[:64, ..., c]) for c in range(3)]
        picture = Image.fromarray(np.stack(sheet, -1))
        picture.save(asked.out.with_suffix(".png"))


if __name__ == "__main__":
    main()

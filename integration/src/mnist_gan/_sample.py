"""Digits from a trained generator, as a sheet or as a Parquet file."""

from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np

import arrow_jax
from mnist_gan import _game, _pictures
from mnist_gan._checkpoints import load_last
from mnist_gan._errors import UserError
from mnist_gan._files import check_file
from mnist_gan._recipes import Recipe, find_recipe
from mnist_gan._run import RunFolder

SHEET = 64
_ENDINGS = (".parquet", ".png")


@partial(jax.jit, static_argnums=(0, 3))
def _sample(recipe: Recipe, gen_params: Any, key: jax.Array, n: int) -> jax.Array:
    return _game.sample(recipe, gen_params, key, n)


def draw(recipe: Recipe, gen_params: Any, *, seed: int, n: int) -> np.ndarray:
    """Draws digits; the first ones do not depend on how many are drawn.

    Args:
      recipe: of the run.
      gen_params: the generator's parameters.
      seed: of the latents.
      n: how many.

    Returns:
      uint8[n, 28, 28].
    """
    sheets = -(-n // SHEET)  # sheets of one size compile once and bound the memory
    keys = (jax.random.fold_in(jax.random.key(seed), i) for i in range(sheets))
    drawn = [np.asarray(_sample(recipe, gen_params, key, SHEET)) for key in keys]
    return np.concatenate(drawn)[:n]


def write_samples(path: Path, images: np.ndarray) -> None:
    """Writes digits as PNG images in a Parquet file, in the layout of the hub's MNIST.

    Args:
      path: the file.
      images: uint8[n, 28, 28].
    """
    features = arrow_jax.Features({"image": arrow_jax.Image()})
    arrow_jax.write_parquet(path, {"image": images}, features=features)


def sample(run: Path | str, *, n: int, seed: int, out: Path) -> None:
    """Draws digits from a run's last checkpoint.

    Args:
      run: the run's folder, or address.
      n: how many.
      seed: of the latents; the same seed gives the same digits.
      out: a PNG or a Parquet file, by its ending.

    Raises:
      UserError: if there is no run, no checkpoint, or the ending is another.
    """
    if out.suffix not in _ENDINGS:
        raise UserError(f"--out {out}: ends in neither {' nor '.join(_ENDINGS)}")
    check_file(out, "--out")
    folder = RunFolder(run)
    folder.pull()
    config = folder.load()
    recipe = find_recipe(config.recipe)
    like = jax.eval_shape(lambda: _game.init(recipe, config.seed))
    state = load_last(run, folder.checkpoints, like)
    images = draw(recipe, state.average, seed=seed, n=n)
    out.parent.mkdir(parents=True, exist_ok=True)
    if out.suffix == ".png":
        _pictures.save_samples(out, images)
    else:
        write_samples(out, images)

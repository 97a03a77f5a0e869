"""The train step as one portable file: for CPU, CUDA and TPU, run by jax alone.

What is exported takes and returns lists of plain arrays, so that a program without this
package, or without Haiku and Optax, can run it. The file beside it says which is which.
"""

import json
from pathlib import Path
from typing import Any

import jax
import numpy as np

from mnist_gan import _game
from mnist_gan._devices import place
from mnist_gan._errors import UserError
from mnist_gan._files import write_whole
from mnist_gan._recipes import find_recipe

PLATFORMS = ("cpu", "cuda", "rocm", "tpu")


def flatten(state: _game.TrainState) -> list[jax.Array]:
    """The arrays of a state, with the key as the numbers that it is."""
    return jax.tree.leaves(state._replace(key=jax.random.key_data(state.key)))


def export_step(recipe_name: str, *, batch_size: int, platforms: list[str]) -> Any:
    """Exports a recipe's train step on one device.

    Args:
      recipe_name: of the recipe.
      batch_size: digits a step.
      platforms: which it is lowered for.

    Returns:
      A `jax.export.Exported` of `(leaves, images) -> (leaves, [gen_loss, disc_loss])`.

    Raises:
      UserError: if there is no such platform.
    """
    from jax import export  # noqa: PLC0415  (half a second)

    unknown = [name for name in platforms if name not in PLATFORMS]
    if unknown:
        raise UserError(
            f"--platform {','.join(platforms)}: there is no {unknown[0]!r}; take some "
            f"of {','.join(PLATFORMS)}"
        )
    recipe = find_recipe(recipe_name)
    update = _game.update(recipe, place(1).mesh)
    abstract = jax.eval_shape(lambda: _game.init(recipe, 0))
    leaves, treedef = jax.tree.flatten(
        abstract._replace(key=jax.eval_shape(jax.random.key_data, abstract.key))
    )

    def step(leaves: list[jax.Array], images: jax.Array) -> tuple[Any, Any]:
        state = jax.tree.unflatten(treedef, leaves)
        state = state._replace(key=jax.random.wrap_key_data(state.key))
        state, losses = update(state, [images])
        return flatten(state), [losses.gen[0], losses.disc[0]]

    images = jax.ShapeDtypeStruct((batch_size, *_game.IMAGE_SHAPE), np.uint8)
    return export.export(jax.jit(step), platforms=platforms)(leaves, images)


def write_export(
    recipe_name: str, *, batch_size: int, platforms: list[str], out: Path
) -> None:
    """Writes the exported step, and beside it, in JSON, what goes in.

    Args:
      recipe_name: of the recipe.
      batch_size: digits a step.
      platforms: which it is lowered for.
      out: the file; the description goes to `out` with `.json` behind.

    Raises:
      UserError: if there is no such platform.
    """
    exported = export_step(recipe_name, batch_size=batch_size, platforms=platforms)
    abstract = jax.eval_shape(lambda: _game.init(find_recipe(recipe_name), 0))
    abstract = abstract._replace(key=jax.eval_shape(jax.random.key_data, abstract.key))
    names = [
        jax.tree_util.keystr(path, simple=True, separator="/")
        for path, _ in jax.tree.leaves_with_path(abstract)
    ]
    inputs = [
        {"name": name, "shape": list(leaf.shape), "dtype": str(leaf.dtype)}
        for name, leaf in zip([*names, "images"], exported.in_avals, strict=True)
    ]
    about = {
        "recipe": recipe_name,
        "platforms": list(exported.platforms),
        "takes": inputs,
        "returns": [*names, "gen_loss", "disc_loss"],
        "jax": jax.__version__,
    }
    out.parent.mkdir(parents=True, exist_ok=True)
    write_whole(out, lambda file: file.write(exported.serialize()))
    text = json.dumps(about, indent=1) + "\n"
    beside = out.with_name(out.name + ".json")
    write_whole(beside, lambda file: file.write(text.encode()))

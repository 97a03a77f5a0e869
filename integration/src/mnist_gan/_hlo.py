"""The train step on its way through XLA: as traced, as lowered, as optimised."""

import re
import time
from collections import Counter
from typing import Any, NamedTuple

import jax
import numpy as np

from mnist_gan import _game
from mnist_gan._devices import place
from mnist_gan._errors import UserError
from mnist_gan._recipes import find_recipe

STAGES = ("jaxpr", "stablehlo", "optimized")
_PATTERNS = {
    # An equation ends in "= name[...] operands" or "= name operands".
    "jaxpr": re.compile(r"= (\w+)(?:\[|\s)"),
    "stablehlo": re.compile(r'= "?stablehlo\.(\w+)'),
    "optimized": re.compile(r"= (?:\([^=]*?\)|\S+) ([a-z][\w-]*)\("),
}


class Stage(NamedTuple):
    """The step at one stage.

    Attributes:
      text: all of it.
      counts: operation -> how many there are in the text.
      fusions: how many fused kernels; 0 before the last stage.
    """

    text: str
    counts: dict[str, int]
    fusions: int


class Timing(NamedTuple):
    """What compiling buys, in seconds a step.

    Attributes:
      eager: op by op, as `jax.disable_jit` runs it.
      compiled: as one program.
    """

    eager: float
    compiled: float


def count_operations(text: str, stage: str) -> dict[str, int]:
    r"""Counts operations in a program's text, the commonest first.

    Args:
      text: the program.
      stage: which stage it is of.

    Returns:
      name -> number.

    Example:
      >>> count_operations("a:f32[] = mul b c\nd:f32[] = sin a", "jaxpr")
      {'mul': 1, 'sin': 1}
    """
    return dict(Counter(_PATTERNS[stage].findall(text)).most_common())


def lower(recipe_name: str, *, stage: str, platform: str, batch_size: int) -> Stage:
    """Takes a recipe's step to a stage.

    Args:
      recipe_name: of the recipe.
      stage: one of `STAGES`.
      platform: `cpu` or `tpu`; the optimised program of a TPU is that of one v5e chip,
        compiled here by libtpu.
      batch_size: digits a step.

    Returns:
      The step.

    Raises:
      UserError: if a TPU's compiler is asked for and not installed.
    """
    recipe = find_recipe(recipe_name)
    state = jax.eval_shape(lambda: _game.init(recipe, 0))
    image = jax.ShapeDtypeStruct((batch_size, *_game.IMAGE_SHAPE), np.uint8)
    if stage == "optimized" and platform == "tpu":
        text = _optimized_for_tpu(recipe, state, image)
    else:
        update = jax.jit(_game.update(recipe, place(1).mesh), donate_argnums=0)
        traced = update.trace(state, [image])
        if stage == "jaxpr":
            text = str(traced.jaxpr)
        else:
            lowered = traced.lower(lowering_platforms=(platform,))
            is_last = stage == "optimized"
            text = lowered.compile().as_text() if is_last else lowered.as_text()
    text = text or ""  # which XLA has for every platform here
    counts = count_operations(text, stage)
    return Stage(text, counts, counts.get("fusion", 0))


def _optimized_for_tpu(recipe: Any, state: Any, image: Any) -> str:
    from jax.experimental import topologies  # noqa: PLC0415
    from jax.sharding import Mesh, NamedSharding, PartitionSpec  # noqa: PLC0415

    try:
        found = topologies.get_topology_desc("v5e:1x1", platform="tpu")
    except RuntimeError as error:
        raise UserError(
            "--stage optimized --platform tpu needs libtpu, for its compiler: "
            "pip install 'mnist-gan[tpu]' (Linux x86-64)"
        ) from error
    mesh = Mesh(np.asarray(found.devices), ("data",))
    whole = NamedSharding(mesh, PartitionSpec())
    step = jax.jit(
        _game.update(recipe, mesh),
        donate_argnums=0,
        in_shardings=(whole, whole),
        out_shardings=(whole, whole),
    )
    return step.lower(state, [image]).compile().as_text() or ""


def measure(recipe_name: str, *, batch_size: int) -> Timing:
    """Times one step op by op and compiled, on this machine's first device.

    Args:
      recipe_name: of the recipe.
      batch_size: digits a step.

    Returns:
      Seconds a step: the least of three compiled ones, and one op by op.
    """
    recipe = find_recipe(recipe_name)
    step = _game.update(recipe, place(1).mesh)
    state = _game.init(recipe, 0)
    images = [jax.numpy.zeros((batch_size, *_game.IMAGE_SHAPE), np.uint8)]
    compiled = jax.jit(step).lower(state, images).compile()
    took = []
    for _ in range(3):
        start = time.perf_counter()
        jax.block_until_ready(compiled(state, images))
        took.append(time.perf_counter() - start)
    with jax.disable_jit():
        start = time.perf_counter()
        jax.block_until_ready(step(state, images))
        eager = time.perf_counter() - start
    return Timing(eager, min(took))

"""Gradients whose bits do not depend on how many devices compute them.

Floating-point sums depend on their order, and the order of a sum over a batch on how
the batch is split. Here it is always split into the same blocks, each is computed by
the same program, and the blocks are added in one order.
"""

import math
import os
from collections.abc import Callable
from typing import Any

import jax
from jax.sharding import Mesh, PartitionSpec

from mnist_gan._errors import UserError
from mnist_gan._recipes import Recipe

Gradient = Callable[[Any, Any], tuple[jax.Array, Any]]


def in_blocks(gradient: Gradient, blocks: int, mesh: Mesh) -> Gradient:
    """Computes a gradient block by block of the batch.

    Devices gather the gradients of all blocks instead of adding up their own, which
    moves `blocks / 2` times the bytes of an all-reduce, and weights that are split are
    gathered first.

    Args:
      gradient: `(params, batch) -> (loss, gradients)`, means over the batch.
      blocks: how many; a multiple of the number of devices that divides the batch.
      mesh: the devices. Blocks are spread over all of its axes.

    Returns:
      The same function of `params` and `batch`; equal to `gradient` but for rounding.
    """
    axes = tuple(mesh.axis_names)
    here = blocks // math.prod(mesh.axis_sizes)

    def local(params: Any, batch: Any) -> tuple[jax.Array, Any]:
        def split(x: jax.Array) -> jax.Array:
            return x.reshape(here, x.shape[0] // here, *x.shape[1:])

        def of_block(block: Any) -> tuple[jax.Array, Any]:
            return gradient(params, block)

        made = jax.lax.map(of_block, jax.tree.map(split, batch))
        every = jax.lax.all_gather(made, axes, tiled=True)
        return jax.tree.map(_mean, every)

    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(PartitionSpec(), PartitionSpec(axes)),
        out_specs=PartitionSpec(),
        check_vma=False,  # it cannot see that what is gathered is the same everywhere
    )


def fix_threads(blocks: int) -> None:
    """Has XLA use one number of threads on CPUs, whatever cores and devices there are.

    It splits the sums within products by their number, which is the larger of the
    variable `NPROC`, by default the cores, and the devices. Call it before jax looks
    for devices; what the user has set stays.

    Args:
      blocks: how many there are, which is no less than the devices.
    """
    os.environ.setdefault("NPROC", str(blocks))


def _mean(blocks: jax.Array) -> jax.Array:
    """The mean over the first axis, added up one after another."""

    def add(total: jax.Array, block: jax.Array) -> tuple[jax.Array, None]:
        return total + block, None

    total, _ = jax.lax.scan(add, blocks[0], blocks[1:])
    return total / blocks.shape[0]


def check_blocks(name: str, recipe: Recipe, n: int) -> None:
    """Checks that a recipe's step is a mean over blocks, and that they come out even.

    Args:
      name: the recipe's.
      recipe: with its blocks, and the digits a step.
      n: how many devices there are; 1 where nobody knows yet.

    Raises:
      UserError: if it is not, or they do not.
    """
    blocks, rows = recipe.blocks, recipe.batch_size
    if not blocks:
        return
    if recipe.normed:
        raise UserError(
            f"--blocks {blocks}: recipe {name} normalises over the batch as a whole; "
            "take --recipe reference, or leave --blocks out"
        )
    if rows % blocks or blocks % n:
        fits = [k for k in range(n, rows + 1, n) if rows % k == 0]
        near = min(fits, key=lambda k: abs(k - blocks), default=None)
        way = f"--blocks {near}" if near else f"a --batch-size that {n} divides"
        raise UserError(
            f"--blocks {blocks}: wanted a number that divides the batch of {rows}, and "
            f"that the number of devices, {n}, divides; take {way}"
        )

"""How the state lies on the mesh: copied along `data`, split along `model`."""

import math
from typing import Any

import jax
from jax.sharding import PartitionSpec

from haiku_nets import partition, partition_like
from mnist_gan._devices import Placement
from mnist_gan._game import TrainState

_SMALLEST = 1024  # elements; splitting less moves more than it saves


def layout(state: TrainState, placement: Placement) -> TrainState:
    """Gives each array of the state its sharding.

    Weights are split along `model` on their longest axis that divides, and what the
    optimizer keeps of them likewise; biases and counts are copied.

    Args:
      state: shapes, as `jax.eval_shape` gives them.
      placement: the mesh.

    Returns:
      A tree of `NamedSharding`, of the structure of `state`.
    """
    whole: Any = placement.replicated
    if placement.mesh.shape.get("model", 1) == 1:
        return jax.tree.map(lambda _: whole, state)
    ways = placement.mesh.shape["model"]
    rules = {
        jax.tree_util.keystr(path, simple=True, separator="/"): _spec(leaf.shape, ways)
        for path, leaf in jax.tree.leaves_with_path(state.params)
    }
    params = partition(state.params, rules, placement.mesh)
    by_player = [
        partition_like(state.opt_state, *pair)
        for pair in zip(state.params, params, strict=True)
    ]
    return TrainState(
        params=params,
        opt_state=jax.tree.map(lambda a, b: a if any(a.spec) else b, *by_player),
        average=params.gen,
        key=whole,
        step=whole,
    )


def _spec(shape: tuple[int, ...], ways: int) -> PartitionSpec:
    axes: list[Any] = [None] * len(shape)
    fits = [axis for axis, length in enumerate(shape) if length % ways == 0]
    if fits and math.prod(shape) >= _SMALLEST:
        axes[max(fits, key=lambda axis: (shape[axis], axis))] = "model"
    return PartitionSpec(*axes)

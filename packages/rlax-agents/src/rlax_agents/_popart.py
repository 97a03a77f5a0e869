"""PopArt: learn values of any size, in units that follow them.

Targets are shifted and scaled to mean 0 and deviation 1 by running statistics (ART),
and whenever these change, the last layer is changed so that no output does (POP). With
several tasks, each has statistics and an output of its own.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from rlax_agents._checks import (
    ArgumentError,
    check_actions,
    check_count,
    check_float,
    check_mask,
    check_range,
)
from rlax_agents._mean import widen
from rlax_agents._recurrence import fill_masked


class PopArtState(NamedTuple):
    """Statistics of the targets of each task; without a gradient.

    Attributes:
      shift: float32[tasks], their mean.
      scale: float32[tasks], their deviation, within the bounds.
      variance: float32[tasks], as it was found.
    """

    shift: jax.Array
    scale: jax.Array
    variance: jax.Array


@dataclasses.dataclass(frozen=True)
class PopArt:
    """Normalisation of value targets whose size is not known, or changes.

    The network predicts normalised values: regress them to `normalise` of the targets,
    and `unnormalise` them wherever values of the environment are meant. Means and
    variances are averaged, not squares: those lose all digits where a mean is large.

    Attributes:
      tasks: how many outputs have statistics of their own.
      step_size: how far the statistics move to those of a batch, in (0, 1].
      scale_min: least scale, above 0.
      scale_max: largest scale.

    Raises:
      ArgumentError: for a count, step size or bounds out of range.

    Example:
      >>> import jax.numpy as jnp
      >>> popart = PopArt(step_size=1.0)
      >>> state = popart.update(popart.init(), jnp.array([90.0, 110.0]))
      >>> popart.normalise(state, jnp.array([90.0, 110.0])).tolist()
      [-1.0, 1.0]

    References:
      Van Hasselt et al., 2016, [Learning values across many orders of
      magnitude](https://arxiv.org/abs/1602.07714), algorithm 1; for tasks, Hessel et
      al., 2019, [Multi-task Deep Reinforcement Learning with
      PopArt](https://arxiv.org/abs/1809.04474).
    """

    tasks: int = 1
    step_size: float = 3e-4
    scale_min: float = 1e-4
    scale_max: float = 1e6

    def __post_init__(self) -> None:
        check_count("PopArt", "tasks", self.tasks)
        check_range("PopArt", "step_size", self.step_size, 1e-30, 1.0)
        check_range("PopArt", "scale_min", self.scale_min, 1e-18)
        check_range("PopArt", "scale_max", self.scale_max, self.scale_min, 1e18)

    def init(self) -> PopArtState:
        """Statistics to start from, which change nothing."""
        one = jnp.ones(self.tasks, jnp.float32)
        return PopArtState(jnp.zeros_like(one), one, jnp.ones_like(one))

    def update(
        self,
        state: PopArtState,
        targets: Any,
        task: Any = None,
        *,
        mask_t: Any = None,
        axis_name: str | tuple[str, ...] | None = None,
    ) -> PopArtState:
        """Moves the statistics towards those of a batch of targets.

        Args:
          state: the statistics so far.
          targets: float[time, batch] or of any shape, in units of the environment.
          task: int like targets, or None where there is one task.
          mask_t: bool like targets: False where a target is not to count.
          axis_name: mesh axes over which the batch is split, in `shard_map` or `vmap`.

        Returns:
          The new statistics; a task without targets keeps its own.

        Raises:
          ArgumentError: for a wrong shape, dtype or range.
        """
        where = "PopArt.update"
        targets = check_float(where, "targets", targets)
        mask_t = check_mask(where, "mask_t", mask_t, targets.shape, like="targets")
        task = self._task(where, task, targets, mask_t)
        of_task = jax.nn.one_hot(task, self.tasks, dtype=state.shift.dtype)
        of_task = fill_masked(of_task, mask_t).reshape(-1, self.tasks)
        x = fill_masked(targets, mask_t).astype(state.shift.dtype).reshape(-1, 1)

        def mean(values: jax.Array) -> jax.Array:
            total = (of_task * values).sum(0)
            total = total if axis_name is None else lax.psum(total, axis_name)
            return total / jnp.maximum(count, 1)

        count = of_task.sum(0)
        count = count if axis_name is None else lax.psum(count, axis_name)
        center = mean(x)
        spread = mean((x - center[None]) ** 2)
        beta = self.step_size * (count > 0).astype(count.dtype)
        moved = center - state.shift
        variance = (1 - beta) * (state.variance + beta * moved**2) + beta * spread
        bounded = jnp.clip(variance, self.scale_min**2, self.scale_max**2)
        new = PopArtState(state.shift + beta * moved, jnp.sqrt(bounded), variance)
        return lax.stop_gradient(new)

    def normalise(self, state: PopArtState, values: Any, task: Any = None) -> jax.Array:
        """Values of the environment, in units of the network.

        Args:
          state: the statistics.
          values: float of any shape.
          task: int like values, or None where there is one task.

        Returns:
          float like values.

        Raises:
          ArgumentError: for a wrong shape, dtype or range.
        """
        values = check_float("PopArt.normalise", "values", values)
        task = self._task("PopArt.normalise", task, values, None)
        x = widen(values)
        shift, scale = (s[task].astype(x.dtype) for s in (state.shift, state.scale))
        return ((x - shift) / scale).astype(values.dtype)

    def unnormalise(
        self, state: PopArtState, values: Any, task: Any = None
    ) -> jax.Array:
        """Values of the network, in units of the environment.

        Args:
          state: the statistics.
          values: float of any shape.
          task: int like values, or None where there is one task.

        Returns:
          float like values.

        Raises:
          ArgumentError: for a wrong shape, dtype or range.
        """
        values = check_float("PopArt.unnormalise", "values", values)
        task = self._task("PopArt.unnormalise", task, values, None)
        x = widen(values)
        shift, scale = (s[task].astype(x.dtype) for s in (state.shift, state.scale))
        return (x * scale + shift).astype(values.dtype)

    def rescale(
        self, layer: Mapping[str, Any], old: PopArtState, new: PopArtState
    ) -> dict[str, jax.Array]:
        """Changes a linear layer so that its unnormalised outputs stay what they were.

        Args:
          layer: `"w"`: float[..., tasks] and `"b"`: float[tasks], as Haiku has them.
          old: the statistics that the layer was for.
          new: those that it is to be for.

        Returns:
          The layer for the new statistics.

        Raises:
          ArgumentError: if the layer has other arrays, or another number of outputs.

        Example:
          >>> import jax.numpy as jnp
          >>> popart = PopArt(step_size=0.5)
          >>> old, layer = popart.init(), {"w": jnp.ones((2, 1)), "b": jnp.zeros(1)}
          >>> new = popart.update(old, jnp.array([10.0, 20.0]))
          >>> layer = popart.rescale(layer, old, new)
          >>> outputs = jnp.array([1.0, 2.0]) @ layer["w"] + layer["b"]
          >>> popart.unnormalise(new, outputs).round(5).tolist()
          [3.0]
        """
        found = {name: jnp.shape(x) for name, x in layer.items()}
        ends = {shape[-1:] for shape in found.values()}
        if set(found) != {"w", "b"} or ends != {(self.tasks,)}:
            raise ArgumentError(
                f"PopArt.rescale: layer has {found}, wanted 'w' and 'b' with a last "
                f"axis of {self.tasks}; type params['name_of_the_last_layer']"
            )
        w, b = jnp.asarray(layer["w"]), jnp.asarray(layer["b"])
        ratio = jnp.expand_dims(old.scale / new.scale, range(w.ndim - 1))
        shifted = (old.scale * widen(b) + old.shift - new.shift) / new.scale
        return {"w": (widen(w) * ratio).astype(w.dtype), "b": shifted.astype(b.dtype)}

    def _task(
        self, where: str, task: Any, values: jax.Array, mask_t: jax.Array | None
    ) -> jax.Array:
        if task is None:
            if self.tasks != 1:
                raise ArgumentError(
                    f"{where}: task is None, and there are {self.tasks} tasks; wanted "
                    f"an int of each value; type task=jnp.zeros({values.shape}, int)"
                )
            return jnp.zeros(values.shape, jnp.int32)
        task = check_actions(
            *(where, "task", task, values.shape),
            n=self.tasks,
            like="values",
            mask=mask_t,
        )
        return fill_masked(task, mask_t)

"""The one loop behind all returns: a linear recurrence that runs back in time.

Lambda returns, advantages, V-trace and Retrace differ in two coefficients only, which
are elementwise. What is left is `x_t = a_t + b_t x_{t+1}`, once, for the whole batch.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from rlax_agents._checks import ArgumentError, check_mask

Method = Literal["scan", "associative_scan"]
_SMALL = 1 << 16  # numbers of an array, which then stays in a core's cache
Coefficients = Callable[..., tuple[jax.Array, jax.Array]]


def solve_backwards(
    coefficients: Coefficients,
    arrays: Sequence[jax.Array | None],
    init: jax.Array,
    *,
    time_axis: int,
    method: Method,
) -> jax.Array:
    """Solves `x_t = a_t + b_t x_{t+1}` for `a, b = coefficients(*arrays)`.

    Sums of 16-bit floats are kept in float32 and rounded once a step.

    Args:
      coefficients: elementwise function of the arrays.
      arrays: each with an axis of time, or with no axes, or None.
      init: the x after the last step, without the axis of time.
      time_axis: which axis of the arrays that is.
      method: `"scan"` takes T small steps, the fewest operations and the right choice
        on a CPU. `"associative_scan"` takes about 2 log2 T large ones, which is faster
        where launching a step costs more than computing it, as on GPUs.

    Returns:
      x, of the arrays' shape and of init's dtype.

    Raises:
      ArgumentError: if the method is neither.
    """
    dtype = init.dtype
    init = init.astype(accumulator(dtype))
    if method == "associative_scan":
        a, b = (x.astype(init.dtype) for x in coefficients(*arrays))
        end = lax.slice_in_dim(b, -1, None, axis=time_axis)
        end = end * jnp.expand_dims(init, time_axis)
        a = a + _pad(end, a.shape[time_axis] - 1, 0, axis=time_axis)

        def after(later: tuple, earlier: tuple) -> tuple:
            return earlier[0] + earlier[1] * later[0], earlier[1] * later[1]

        x = lax.associative_scan(after, (a, b), reverse=True, axis=time_axis)[0]
        return x.astype(dtype)
    if method != "scan":
        raise ArgumentError(
            f"method is {method!r}, wanted 'scan' or 'associative_scan'"
        )
    size = max(x.size for x in arrays if x is not None)
    if time_axis != 0 and size > _SMALL:
        # Two arrays are cheaper to turn around than all of them.
        a, b = (jnp.moveaxis(x, time_axis, 0) for x in coefficients(*arrays))
        arrays, coefficients = (a, b), lambda *both: both
    elif time_axis != 0:  # and small ones cheaper than to store two more
        arrays = [
            x if x is None or not x.ndim else jnp.moveaxis(x, time_axis, 0)
            for x in arrays
        ]
    constant = [x if x is None or not x.ndim else None for x in arrays]
    moving = [x if x is not None and x.ndim else None for x in arrays]

    # The coefficients are made in the loop, so that they are never stored.
    def step(x: jax.Array, now: list) -> tuple[jax.Array, jax.Array]:
        a, b = coefficients(
            *(c if m is None else m for c, m in zip(constant, now, strict=True))
        )
        x = a.astype(x.dtype) + b.astype(x.dtype) * x
        return x, x.astype(dtype)

    _, x = lax.scan(step, init, moving, reverse=True)
    return jnp.moveaxis(x, 0, time_axis)


def accumulator(dtype: Any) -> Any:
    """The dtype that sums of floats are kept in: 32 bits or more."""
    return jnp.float32 if jnp.finfo(dtype).bits < 32 else dtype


def next_step(array: jax.Array, last: jax.Array, *, time_axis: int) -> jax.Array:
    """What the array holds one step later; `last` after the last."""
    rest = lax.slice_in_dim(array, 1, None, axis=time_axis)
    last = jnp.expand_dims(last, time_axis).astype(array.dtype)
    return jnp.concatenate([rest, last], axis=time_axis)


def last_step(array: jax.Array, *, time_axis: int) -> jax.Array:
    """The array at its last step, without the axis of time."""
    return lax.index_in_dim(array, -1, time_axis, keepdims=False)


def _pad(array: jax.Array, before: int, after: int, *, axis: int) -> jax.Array:
    pads = [(0, 0)] * array.ndim
    pads[axis] = (before, after)
    return jnp.pad(array, pads)


class Steps(NamedTuple):
    """Which steps count, and which lead on to the next one.

    Attributes:
      time_axis: 0 or more.
      mask_t: bool, like the rewards, or None where all steps count.
      continues_t: bool, like the rewards, or None where all do: whether the return of
        the next step may be used. False at truncated steps and before masked ones;
        there a return bootstraps from the step's own value, as after the last step.
    """

    time_axis: int
    mask_t: jax.Array | None
    continues_t: jax.Array | None

    def fill(self, *arrays: jax.Array) -> list[jax.Array]:
        """Zeros in the place of masked steps, whatever stands there (NaN, too)."""
        return [fill_masked(array, self.mask_t) for array in arrays]

    def cut(self, array: jax.Array) -> jax.Array:
        """Zeros where a step does not lead on to the next one."""
        return cut(array, self.continues_t)


def cut(array: jax.Array, continues_t: jax.Array | None) -> jax.Array:
    """Zeros where a step does not lead on; the array as it is where all do."""
    if continues_t is None:
        return array
    return jnp.where(continues_t, array, jnp.zeros((), array.dtype))


def fill_masked(array: jax.Array, mask_t: jax.Array | None) -> jax.Array:
    """Zeros where the mask is False; the mask may have fewer axes, from the left."""
    if mask_t is None or not array.ndim:
        return array
    mask = mask_t.reshape(mask_t.shape + (1,) * (array.ndim - mask_t.ndim))
    return jnp.where(mask, array, jnp.zeros((), array.dtype))


def find_steps(
    where: str,
    r_t: jax.Array,
    *,
    truncated_t: jax.Array | None,
    mask_t: jax.Array | None,
    time_axis: int,
) -> Steps:
    """Checks the flags of a batch of sequences and combines them.

    Args:
      where: the function that asks.
      r_t: float array, the rewards.
      truncated_t: bool like r_t, or None: the episode was cut after this step, though
        its discount is not zero.
      mask_t: bool like r_t, or None: False at steps that are not to matter.
      time_axis: of r_t.

    Returns:
      The flags.

    Raises:
      ArgumentError: if a flag is not bool or not shaped like the rewards, or r_t has
        no such axis or no steps.
    """
    if not -r_t.ndim <= time_axis < r_t.ndim:
        raise ArgumentError(
            f"{where}: r_t has shape {r_t.shape}, which has no axis "
            f"time_axis={time_axis}; type time_axis=0 if the first axis is time"
        )
    time_axis %= r_t.ndim
    if r_t.shape[time_axis] == 0:
        raise ArgumentError(
            f"{where}: r_t has shape {r_t.shape}, wanted 1 step or more"
        )
    truncated_t = check_mask(where, "truncated_t", truncated_t, r_t.shape, like="r_t")
    mask_t = check_mask(where, "mask_t", mask_t, r_t.shape, like="r_t")
    continues_t = None if truncated_t is None else ~truncated_t
    if mask_t is not None:
        end = jnp.ones_like(last_step(mask_t, time_axis=time_axis))
        leads_on = next_step(mask_t, end, time_axis=time_axis)
        continues_t = leads_on if continues_t is None else continues_t & leads_on
    return Steps(time_axis, mask_t, continues_t)

"""Averages of parameters over training steps, as functions of trees.

`hk.ExponentialMovingAverage` lives inside networks with state. An average of the whole
parameter tree needs neither: it is one more tree beside the optimizer's.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from haiku_nets._checks import check_decay


class Ema(NamedTuple):
    """A running average.

    Attributes:
      total: what has been averaged so far, starting from zero; a tree of the
        parameters' shapes, floats in float32 at least. Integers and bools have no
        average: of them it is the latest.
      weight: float32[], how much of an average that is: 1 - decay ** updates.
    """

    total: Any
    weight: jax.Array


def ema_init(params: Any) -> Ema:
    """Starts an average of nothing.

    Args:
      params: a pytree of arrays or numbers.

    Returns:
      The average. Half-precision parameters are averaged in float32, in which a small
      step is not lost.

    Example:
      >>> import jax.numpy as jnp
      >>> ema = ema_init({"w": jnp.ones(2, jnp.bfloat16)})
      >>> ema.total["w"].dtype, float(ema.weight)
      (dtype('float32'), 0.0)
    """
    return Ema(
        jax.tree.map(lambda x: jnp.zeros_like(x, dtype=_wide(x)), params),
        jnp.zeros(()),
    )


def ema_update(ema: Ema, params: Any, *, decay: float | jax.Array) -> Ema:
    """Adds the parameters of one more step.

    Args:
      ema: the average so far.
      params: the parameters, of the shapes of `ema_init`'s.
      decay: how much of the old average stays, 0 or more and below 1; 0.999 looks
        back over about a thousand steps. It may change from step to step.

    Returns:
      The new average.

    Raises:
      TypeError: if `decay` is no number.
      ValueError: if it is out of range, or the parameters have other paths or shapes
        than the average.

    Example:
      >>> import jax.numpy as jnp
      >>> ema = ema_init({"w": jnp.float32(0)})
      >>> for step in range(3):
      ...     ema = ema_update(ema, {"w": jnp.float32(5)}, decay=0.9)
      >>> float(ema_params(ema, like={"w": jnp.float32(0)})["w"].round(4))
      5.0

    References:
      Polyak and Juditsky, Acceleration of Stochastic Approximation by Averaging, 1992,
      https://doi.org/10.1137/0330046; Kingma and Ba, Adam, 2014, section 3, for the
      correction of the start, https://arxiv.org/abs/1412.6980
    """
    check_decay("ema_update", decay)
    _check_shapes("ema_update", ema.total, params)

    def mix(old: jax.Array, new: Any) -> jax.Array:
        new = jnp.asarray(new)
        if not jnp.issubdtype(old.dtype, jnp.inexact):
            return new.astype(old.dtype)
        share = jnp.asarray(1 - decay, old.dtype)
        return old + share * (new.astype(old.dtype) - old)

    total = jax.tree.map(mix, ema.total, params)
    return Ema(total, mix(ema.weight, jnp.ones(())))


def ema_params(ema: Ema, *, like: Any) -> Any:
    """The averaged parameters, corrected for the zeros that the average starts from.

    Args:
      ema: the average.
      like: parameters, for the dtypes; they are what is returned before any update.

    Returns:
      A tree like the parameters.

    Raises:
      ValueError: if `like` has other paths or shapes than the average.

    Example:
      >>> import jax.numpy as jnp
      >>> params = {"w": jnp.float32(2)}
      >>> ema = ema_update(ema_init(params), params, decay=0.99)
      >>> float(ema_params(ema, like=params)["w"].round(4))  # not pulled towards 0
      2.0
    """
    _check_shapes("ema_params", ema.total, like)

    def read(total: jax.Array, now: Any) -> jax.Array:
        now = jnp.asarray(now)
        if not jnp.issubdtype(total.dtype, jnp.inexact):
            return jnp.where(ema.weight > 0, total.astype(now.dtype), now)
        weight = ema.weight.astype(total.dtype)
        averaged = (total / jnp.where(weight > 0, weight, 1)).astype(now.dtype)
        return jnp.where(weight > 0, averaged, now)

    return jax.tree.map(read, ema.total, like)


def _wide(x: Any) -> Any:
    dtype = jnp.result_type(x)
    half = jnp.issubdtype(dtype, jnp.inexact) and dtype.itemsize < 4
    return jnp.float32 if half else dtype


def _check_shapes(where: str, total: Any, params: Any) -> None:
    wanted, found = _shapes(total), _shapes(params)
    for path in sorted(wanted.keys() | found.keys()):
        if wanted.get(path) != found.get(path):
            raise ValueError(
                f"{where} found {_held(path, found)}, the average has "
                f"{_held(path, wanted)}: pass the parameters that ema_init was given, "
                "or start another average."
            )


def _held(path: str, shapes: dict[str, tuple[int, ...]]) -> str:
    return f"{path!r} of shape {shapes[path]}" if path in shapes else f"no {path!r}"


def _shapes(tree: Any) -> dict[str, tuple[int, ...]]:
    return {
        jax.tree_util.keystr(path, simple=True, separator="/"): jnp.shape(leaf)
        for path, leaf in jax.tree.leaves_with_path(tree)
    }

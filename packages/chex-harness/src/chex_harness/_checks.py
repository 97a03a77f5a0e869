"""Checks of values inside compiled programs.

An assertion on values cannot run under `jit`, where there are none yet.
`jax.experimental.checkify` threads an error through the program, and does not go
through `shard_map` on meshes with Explicit axes (jax issues 26890 and 40907). Here a
check is a reduction on the device and a callback that only a failure calls.
"""

import contextlib
import functools
import logging
import threading
from collections.abc import Callable
from typing import Any, NamedTuple, ParamSpec, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

_P = ParamSpec("_P")
_R = TypeVar("_R")
_LOG = logging.getLogger("chex_harness")
# Failures go to the innermost `checked` call; those of two threads take turns.
_TURN = threading.RLock()
_OPEN: list["list[_Failure]"] = []


class CheckError(AssertionError):
    """A check has failed on values inside a program."""


class _Failure(NamedTuple):
    message: str
    count: int
    index: tuple[int, ...]
    values: dict[str, Any]

    def __str__(self) -> str:
        at = f", the first at {list(self.index)}" if self.index else ""
        values = ", ".join(f"{name} = {value}" for name, value in self.values.items())
        return f"{self.message}: {self.count} failed{at}{values and ': ' + values}"


def check(cond: Any, message: str, **values: Any) -> None:
    """Checks a condition on values, also inside `jit`, `vmap`, `grad` and `shard_map`.

    A failure is told by the `checked` call around it; without one it is logged as an
    error by the logger `chex_harness`, and the program goes on. Under `vmap` a
    `jax.lax.cond` on batched values is a select, which runs both branches: a check in
    one fires for the rows that take the other, too.

    Args:
      cond: bool[...], what must hold for every element; without elements it holds.
      message: what is told of a failure.
      **values: arrays that broadcast to `cond`; the message shows each at the first
        element that failed. Under `shard_map` the index is within one device's block.

    Raises:
      TypeError: if `cond` is not boolean.
      ValueError: if a value does not broadcast to `cond`.

    Example:
      >>> import jax.numpy as jnp
      >>> check(jnp.ones(3) > 0, "x must be positive")
    """
    cond = jnp.asarray(cond)
    if cond.dtype != bool:
        raise TypeError(f"check({message!r}): cond is {cond.dtype}, wanted bool")
    bad = ~cond
    for name, value in values.items():
        shape = jnp.shape(value)
        if not _broadcasts(shape, bad.shape):
            raise ValueError(
                f"check({message!r}): {name} has the shape {list(shape)}, which does "
                f"not broadcast to that of cond, {list(bad.shape)}"
            )
    if bad.size == 0:
        return
    # Reductions only: gathers are not defined along a sharded axis.
    places = [
        jax.lax.broadcasted_iota(jnp.int32, bad.shape, axis) for axis in range(bad.ndim)
    ]
    here, index = bad, []
    for place in places:
        first = jnp.min(jnp.where(here, place, jnp.iinfo(jnp.int32).max))
        here = here & (place == first)
        index.append(first)
    shown = [_at(here, value) for value in values.values()]

    def record(count: Any, index: Any, shown: Any) -> None:
        found = dict(zip(values, [np.asarray(x)[()] for x in shown], strict=True))
        _record(_Failure(message, int(count), tuple(map(int, index)), found))

    _reporter(record)(jnp.sum(bad, dtype=jnp.int32), tuple(index), tuple(shown))


def _broadcasts(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, to) == to
    except ValueError:
        return False


def _at(here: jax.Array, value: Any) -> jax.Array:
    value = jax.lax.stop_gradient(jnp.asarray(value))
    if value.dtype == bool:
        value = value.astype(jnp.int32)
    return jnp.sum(
        jnp.where(here, value, jnp.zeros((), value.dtype)), dtype=value.dtype
    )


def _reporter(record: Callable[..., None]) -> Callable[..., Any]:
    """Calls `record` on the host if the count is not 0; once for a whole batch."""

    @jax.custom_batching.custom_vmap
    def report(count: Any, index: Any, shown: Any) -> Any:
        jax.lax.cond(
            count > 0,
            lambda *found: jax.debug.callback(record, *found),
            lambda *_: None,
            *(count, index, shown),
        )
        return count

    @report.def_vmap
    def _(size: int, batched: Any, count: Any, index: Any, shown: Any) -> Any:
        del batched
        if size == 0:
            return jnp.zeros((), jnp.int32), False
        whole = jax.tree.map(
            lambda x: jnp.broadcast_to(x, (size,)) if jnp.ndim(x) == 0 else x,
            (count, index, shown),
        )
        count, index, shown = whole
        place = jax.lax.broadcasted_iota(jnp.int32, (size,), 0)
        first = jnp.min(jnp.where(count > 0, place, jnp.iinfo(jnp.int32).max))
        index, shown = jax.tree.map(lambda x: _at(place == first, x), (index, shown))
        total = jnp.sum(count, dtype=jnp.int32)
        return report(total, (first, *index), shown), False

    return report


def _record(failure: _Failure) -> None:
    if _OPEN:
        _OPEN[-1].append(failure)
    else:
        _LOG.error("check failed outside checked(): %s", failure)


def checked(fn: Callable[_P, _R]) -> Callable[_P, _R]:
    """Makes a function raise for the checks that fail while it runs.

    What it costs: each call waits until the device is done, so nothing is dispatched
    ahead; each `check` is a few reductions, and a callback when it fails. Calls in
    several threads take turns. The program runs to its end before the error is
    raised. With several processes each raises for what it is told (under `jit`
    process 0, under `shard_map` the one that has the block), and the others go on:
    let a failure end all of them.

    Args:
      fn: a function that calls `check`, itself or in what it calls, jitted or not.

    Returns:
      A function with the same arguments and result. It raises `CheckError`, which
      lists every check that failed.

    Example:
      >>> import jax, jax.numpy as jnp
      >>> @jax.jit
      ... def root(x):
      ...     check(x >= 0, "x must not be negative", x=x)
      ...     return jnp.sqrt(x)
      >>> checked(root)(jnp.array([4.0, -1.0]))
      Traceback (most recent call last):
      chex_harness._checks.CheckError: x must not be negative: 1 failed, ...
    """

    @functools.wraps(fn)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        with _TURN:
            jax.effects_barrier()  # what earlier programs have to tell is not ours
            failures: list[_Failure] = []
            _OPEN.append(failures)
            try:
                with contextlib.ExitStack() as stack:
                    stack.callback(jax.effects_barrier)
                    out = fn(*args, **kwargs)
                    jax.block_until_ready(out)
            finally:
                _OPEN.pop()  # calls nest; equal lists are not the same
        if failures:
            raise CheckError("\n".join(dict.fromkeys(map(str, failures))))
        return out

    return call

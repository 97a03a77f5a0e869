"""Running `pmap` code on one device."""

import contextlib
import functools
from collections.abc import Callable, Generator
from typing import Any
from unittest import mock

import jax


@contextlib.contextmanager
def fake_pmap(*, devices: int | None = None) -> Generator[None]:
    """Makes `jax.pmap` a `vmap` under `jit`, on one device.

    Unlike chex's, it puts outputs where `out_axes` says, and refuses what a real
    `pmap` refuses: more copies than devices, and a list of devices that does not fit.
    A gradient that is taken inside sees `psum` as pmap has it. What it cannot see:
    `from jax import pmap` done before.

    Args:
      devices: how many devices there are to be; by default any number.

    Yields:
      Nothing.

    Example:
      >>> import jax, jax.numpy as jnp
      >>> with fake_pmap():
      ...     jax.pmap(lambda x: x, out_axes=1)(jnp.zeros((4, 3))).shape
      (3, 4)
    """

    def pmap(
        fun: Callable[..., Any],
        axis_name: Any = None,
        *,
        in_axes: Any = 0,
        out_axes: Any = 0,
        static_broadcasted_argnums: Any = (),
        devices: Any = None,
        axis_size: int | None = None,
        **ignored: Any,
    ) -> Callable[..., Any]:
        del ignored  # backend and donation change no result
        static = static_broadcasted_argnums
        static = (static,) if isinstance(static, int) else tuple(static)

        @functools.wraps(fun)
        def call(*args: Any, **kwargs: Any) -> Any:
            kept = [i for i in range(len(args)) if i not in static]
            axes = in_axes
            if isinstance(in_axes, tuple | list):
                axes = tuple(in_axes[i] for i in kept)
            moving = tuple(args[i] for i in kept)
            size = axis_size or _size(moving, kwargs, axes)
            _check(size, devices)

            def on_one(moving: Any, kwargs: Any) -> Any:
                filled = list(args)
                for i, value in zip(kept, moving, strict=True):
                    filled[i] = value
                return fun(*filled, **kwargs)

            mapped = jax.vmap(
                on_one, (axes, 0), out_axes, axis_name=axis_name, axis_size=size
            )
            return jax.jit(mapped)(moving, kwargs)

        return call

    def _check(size: int, given: Any) -> None:
        if devices is not None and size > devices:
            raise ValueError(
                f"pmap of {size} copies needs {size} devices, and fake_pmap(devices="
                f"{devices}) has {devices}"
            )
        if given is not None and len(given) != size:
            raise ValueError(
                f"pmap of {size} copies was given {len(given)} devices: {given}"
            )

    with mock.patch.object(jax, "pmap", pmap):
        yield


def _size(args: Any, kwargs: Any, axes: Any) -> int:
    whole = jax.tree.broadcast(axes, args, is_leaf=lambda x: x is None)
    flat = jax.tree.leaves(whole, is_leaf=lambda x: x is None)
    pairs = [*zip(jax.tree.leaves(args), flat, strict=True)]
    pairs += [(leaf, 0) for leaf in jax.tree.leaves(kwargs)]
    for leaf, axis in pairs:
        if axis is not None:
            return leaf.shape[axis]
    raise ValueError("pmap must have at least one argument with an axis to map")

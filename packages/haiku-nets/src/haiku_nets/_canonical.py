"""Convolution and transposed convolution whose gradients are canonical convolutions.

jax derives a gradient by transposing the tangent map. So the tangent of `correlate` is
written here as the transpose of the canonical forms of `spread` and `overlap`: when jax
transposes it once more, those come back as they were. All is made of jax's own
operations, so any other transformation finds what it knows.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.custom_derivatives import SymbolicZero

from haiku_nets._forms import (
    Window,
    correlate_form,
    dilated_spread_form,
    overlap_form,
    spread_form,
)

_Map = Callable[[jax.Array, jax.Array], jax.Array]


def correlate(x: jax.Array, w: jax.Array, window: Window) -> jax.Array:
    """Computes a convolution, with canonical gradients.

    Args:
      x: images [batch, *image, channels].
      w: kernel [*kernel, channels, features], of the same dtype.
      window: how they meet.

    Returns:
      Values [batch, *positions, features].
    """
    return _correlate(*_alike(x, w), window)


def spread(y: jax.Array, w: jax.Array, window: Window) -> jax.Array:
    """Computes the transpose of `correlate` in the image, with canonical gradients.

    Args:
      y: values [batch, *positions, features].
      w: kernel [*kernel, channels, features], of the same dtype.
      window: how they meet.

    Returns:
      Images [batch, *image, channels].
    """
    return _spread(*_alike(y, w), window)


@functools.partial(jax.custom_jvp, nondiff_argnums=(2,))
def _correlate(x: jax.Array, w: jax.Array, window: Window) -> jax.Array:
    return correlate_form(x, w, window)


@functools.partial(jax.custom_jvp, nondiff_argnums=(2,))
def _spread(y: jax.Array, w: jax.Array, window: Window) -> jax.Array:
    return _either(
        functools.partial(spread_form, window=window),
        functools.partial(dilated_spread_form, window=window),
        window,
    )(y, w)


@functools.partial(_correlate.defjvp, symbolic_zeros=True)
def _correlate_jvp(window: Window, primals: Any, tangents: Any) -> Any:
    (x, w), (dx, dw) = primals, tangents
    y = _correlate(x, w, window)
    along_x = _tangent(
        lambda dx, w: correlate_form(dx, w, window),
        lambda y, w: spread_form(y, w, window),
        window,
    )
    along_w = _tangent(
        lambda dw, x: correlate_form(x, dw, window),
        lambda y, x: overlap_form(x, y, window),
        window,
    )
    return y, _total(y, (along_x, dx, w), (along_w, dw, x))


@functools.partial(_spread.defjvp, symbolic_zeros=True)
def _spread_jvp(window: Window, primals: Any, tangents: Any) -> Any:
    (y, w), (dy, dw) = primals, tangents
    x = _spread(y, w, window)
    along_y = _tangent(
        lambda dy, w: dilated_spread_form(dy, w, window),
        lambda x, w: correlate_form(x, w, window),
        window,
    )
    along_w = _tangent(
        lambda dw, y: dilated_spread_form(y, dw, window),
        lambda x, y: overlap_form(x, y, window),
        window,
    )
    return x, _total(x, (along_y, dy, w), (along_w, dw, y))


def _alike(a: jax.Array, b: jax.Array) -> tuple[jax.Array, jax.Array]:
    # Inside shard_map a map and its transpose must vary over the same axes; adding a
    # zero that varies over both is the way to say so that all versions of jax share.
    if not jax.typeof(a).sharding.mesh.manual_axes:
        return a, b
    zero = lax.stop_gradient(a[:0].sum() + b[:0].sum())
    return a + zero, b + zero


def _total(like: jax.Array, *terms: tuple[Any, Any, jax.Array]) -> jax.Array:
    # A layer on data has no tangent there: what is zero is not computed.
    present = [
        along(tangent, other, like)
        for along, tangent, other in terms
        if not isinstance(tangent, SymbolicZero)
    ]
    return functools.reduce(jnp.add, present) if present else jnp.zeros_like(like)


def _tangent(native: _Map, transpose: _Map, window: Window) -> Any:
    """A map that is linear in its first argument, by itself or by its transpose."""

    def along(tangent: jax.Array, other: jax.Array, like: jax.Array) -> jax.Array:
        out = jax.typeof(like)

        def canonical(tangent: jax.Array, other: jax.Array) -> jax.Array:
            back = jax.linear_transpose(lambda ct: transpose(ct, other), out)
            (total,) = back(tangent)
            return total

        return _either(canonical, native, window)(tangent, other)

    return along


def _either(canonical: _Map, native: _Map, window: Window) -> _Map:
    if window.everywhere:
        return canonical
    return functools.partial(lax.platform_dependent, cpu=canonical, default=native)

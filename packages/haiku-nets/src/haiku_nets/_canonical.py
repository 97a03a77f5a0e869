"""Convolution and transposed convolution with canonical derivatives of every order.

The three maps of a convolution are one primitive here, which is lowered by platform.
Its rule for transposing says that the transpose of a map is one of the other two. The
rules of jax for what the forms are made of would lead out of the canonical ones.
"""

import functools
from typing import Any, Literal

import jax
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from haiku_nets._forms import (
    Window,
    correlate_form,
    dilated_spread_form,
    overlap_form,
    spread_form,
    untransposed_overlap_form,
)

_Kind = Literal["correlate", "spread", "overlap"]
_CANONICAL = {
    "correlate": correlate_form,
    "spread": spread_form,
    "overlap": overlap_form,
}
_NATIVE = {
    "correlate": correlate_form,
    "spread": dilated_spread_form,
    "overlap": untransposed_overlap_form,
}


def correlate(x: jax.Array, w: jax.Array, window: Window) -> jax.Array:
    """Computes a convolution.

    Args:
      x: images [batch, *image, channels].
      w: kernel [*kernel, channels, features], of the same dtype.
      window: how they meet.

    Returns:
      Values [batch, *positions, features].
    """
    return _bind("correlate", *_alike(x, w), window)


def spread(y: jax.Array, w: jax.Array, window: Window) -> jax.Array:
    """Computes the transpose of `correlate` in the image.

    Args:
      y: values [batch, *positions, features].
      w: kernel [*kernel, channels, features], of the same dtype.
      window: how they meet.

    Returns:
      Images [batch, *image, channels].
    """
    return _bind("spread", *_alike(y, w), window)


def _alike(a: jax.Array, b: jax.Array) -> tuple[jax.Array, jax.Array]:
    # Inside shard_map a map and its transpose must vary over the same axes; adding a
    # zero that varies over both is the way to say so that all versions of jax share.
    if not jax.typeof(a).sharding.mesh.manual_axes:
        return a, b
    zero = jax.lax.stop_gradient(a[:0].sum() + b[:0].sum())
    return a + zero, b + zero


def _bind(kind: _Kind, a: jax.Array, b: jax.Array, window: Window) -> jax.Array:
    return _convolution_p.bind(a, b, kind=kind, window=window)


def _evaluate(a: jax.Array, b: jax.Array, *, kind: _Kind, window: Window) -> jax.Array:
    # As the operations of jax it is compiled by itself also where jit is disabled.
    with jax.disable_jit(disable=False):
        return _compiled(a, b, kind=kind, window=window)


@functools.partial(jax.jit, static_argnames=("kind", "window"))
def _compiled(a: jax.Array, b: jax.Array, *, kind: _Kind, window: Window) -> jax.Array:
    return _bind(kind, a, b, window)


def _shape(a: Any, b: Any, *, kind: _Kind, window: Window) -> Any:
    form = functools.partial(_NATIVE[kind], window=window)
    return jax.make_jaxpr(form)(a, b).out_avals[0]


def _canonical(a: jax.Array, b: jax.Array, *, kind: _Kind, window: Window) -> jax.Array:
    return _CANONICAL[kind](a, b, window)


def _native(a: jax.Array, b: jax.Array, *, kind: _Kind, window: Window) -> jax.Array:
    forms = _CANONICAL if window.everywhere else _NATIVE
    return forms[kind](a, b, window)


def _transpose_in_first(
    ct: Any, a: Any, b: jax.Array, *, kind: _Kind, window: Window
) -> jax.Array:
    del a
    if kind == "overlap":
        return _bind("spread", b, ct, window)
    return _bind("spread" if kind == "correlate" else "correlate", ct, b, window)


def _transpose_in_second(
    ct: Any, a: jax.Array, b: Any, *, kind: _Kind, window: Window
) -> jax.Array:
    del b
    if kind == "spread":
        return _bind("overlap", ct, a, window)
    return _bind("overlap" if kind == "correlate" else "correlate", a, ct, window)


def _batch(operands: Any, axes: Any, *, kind: _Kind, window: Window) -> Any:
    def one(a: jax.Array, b: jax.Array) -> jax.Array:
        canonical = functools.partial(_canonical, kind=kind, window=window)
        native = functools.partial(_native, kind=kind, window=window)
        return jax.lax.platform_dependent(a, b, cpu=canonical, default=native)

    return jax.vmap(one, axes)(*operands), 0


_convolution_p = Primitive("convolution")
_convolution_p.def_impl(_evaluate)
_convolution_p.def_abstract_eval(_shape)
ad.defbilinear(_convolution_p, _transpose_in_first, _transpose_in_second)
batching.primitive_batchers[_convolution_p] = _batch
for _lowered, _platform in ((_native, None), (_canonical, "cpu")):
    mlir.register_lowering(
        _convolution_p,
        mlir.lower_fun(_lowered, multiple_results=False),
        platform=_platform,
    )

"""A convolution and its gradients, each written as a canonical convolution.

There are three bilinear maps, and each is the transpose of the other two:

    correlate  x, w -> y    what a convolution computes
    spread     y, w -> x    its gradient for x; what a transposed convolution computes
    overlap    x, y -> w    the gradient for w of both

jax derives a gradient by transposing the tangent map. So the tangent of `correlate` is
written here as the transpose of `spread` and of `overlap`: when jax transposes it once
more, those come back as they stand below. All is made of jax's own operations, so any
other transformation finds what it knows.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.custom_derivatives import SymbolicZero

_LAYOUT = ("NHWC", "HWIO", "NHWC")
_Map = Callable[[jax.Array, jax.Array], jax.Array]


class Window(NamedTuple):
    """Where a kernel is laid on an image; all pairs are (rows, columns).

    On each axis `y[o] = sum_t x[stride * o + t - low] * w[t]`, with x zero outside.

    Attributes:
      image: size of x.
      kernel: size of w.
      stride: step from one position to the next.
      low: padding before x; negative where rows or columns are cut off.
      positions: size of y.
      precision: as in `jax.lax.conv_general_dilated`.
      everywhere: canonical on every platform and not on the CPU alone.
    """

    image: tuple[int, ...]
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    low: tuple[int, ...]
    positions: tuple[int, ...]
    precision: Any = None
    everywhere: bool = False

    @property
    def high(self) -> tuple[int, ...]:
        """Padding after x; negative where the last rows or columns are not used."""
        return tuple(
            (o - 1) * s + k - n - a for n, k, s, a, o in zip(*self[:5], strict=True)
        )


def correlate(x: jax.Array, w: jax.Array, window: Window) -> jax.Array:
    """Computes a convolution, with canonical gradients.

    Args:
      x: images [batch, *image, channels].
      w: kernel [*kernel, channels, features], of the same dtype.
      window: how they meet.

    Returns:
      Values [batch, *positions, features].
    """
    return _correlate_with_jvp(*_alike(x, w), window)


def spread(y: jax.Array, w: jax.Array, window: Window) -> jax.Array:
    """Computes the transpose of `correlate` in the image, with canonical gradients.

    Args:
      y: values [batch, *positions, features].
      w: kernel [*kernel, channels, features], of the same dtype.
      window: how they meet.

    Returns:
      Images [batch, *image, channels].
    """
    return _spread_with_jvp(*_alike(y, w), window)


def _alike(a: jax.Array, b: jax.Array) -> tuple[jax.Array, jax.Array]:
    # Inside shard_map a map and its transpose must vary over the same axes; adding a
    # zero that varies over both is the way to say so that all versions of jax share.
    if not jax.typeof(a).sharding.mesh.manual_axes:
        return a, b
    zero = lax.stop_gradient(a[:0].sum() + b[:0].sum())
    return a + zero, b + zero


@functools.partial(jax.custom_jvp, nondiff_argnums=(2,))
def _correlate_with_jvp(x: jax.Array, w: jax.Array, window: Window) -> jax.Array:
    return _correlate(x, w, window)


@functools.partial(jax.custom_jvp, nondiff_argnums=(2,))
def _spread_with_jvp(y: jax.Array, w: jax.Array, window: Window) -> jax.Array:
    return _either(
        functools.partial(_spread, window=window),
        functools.partial(_dilated_spread, window=window),
        window,
    )(y, w)


@functools.partial(_correlate_with_jvp.defjvp, symbolic_zeros=True)
def _correlate_jvp(window: Window, primals: Any, tangents: Any) -> Any:
    (x, w), (dx, dw) = primals, tangents
    y = _correlate_with_jvp(x, w, window)
    along_x = _tangent(
        lambda dx, w: _correlate(dx, w, window),
        lambda y, w: _spread(y, w, window),
        window,
    )
    along_w = _tangent(
        lambda dw, x: _correlate(x, dw, window),
        lambda y, x: _overlap(x, y, window),
        window,
    )
    return y, _total(y, (along_x, dx, w), (along_w, dw, x))


@functools.partial(_spread_with_jvp.defjvp, symbolic_zeros=True)
def _spread_jvp(window: Window, primals: Any, tangents: Any) -> Any:
    (y, w), (dy, dw) = primals, tangents
    x = _spread_with_jvp(y, w, window)
    along_y = _tangent(
        lambda dy, w: _dilated_spread(dy, w, window),
        lambda x, w: _correlate(x, w, window),
        window,
    )
    along_w = _tangent(
        lambda dw, y: _dilated_spread(y, dw, window),
        lambda x, y: _overlap(x, y, window),
        window,
    )
    return x, _total(x, (along_y, dy, w), (along_w, dw, y))


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
            (total,) = jax.linear_transpose(lambda ct: transpose(ct, other), out)(
                tangent
            )
            return total

        return _either(canonical, native, window)(tangent, other)

    return along


def _either(canonical: _Map, native: _Map, window: Window) -> _Map:
    if window.everywhere:
        return canonical
    return functools.partial(lax.platform_dependent, cpu=canonical, default=native)


def _correlate(x: jax.Array, w: jax.Array, window: Window) -> jax.Array:
    return lax.conv_general_dilated(
        x,
        w,
        window.stride,
        list(zip(window.low, window.high, strict=True)),
        dimension_numbers=_LAYOUT,
        precision=window.precision,
    )


def _spread(y: jax.Array, w: jax.Array, window: Window) -> jax.Array:
    """Sub-pixel form: the kernel's taps are dealt out to stride x stride images.

    Those are computed by one convolution without stride, as channels, and interleaved
    (Shi et al., 2016, https://arxiv.org/abs/1609.05158).
    """
    (height, width), (sh, sw) = window.image, window.stride
    # Tap t = s * d + p meets position o at row s * (o + d) + p of the padded image, so
    # row m of the image of phase p sums y[m - d] * w[s * d + p] over d.
    dh, dw = (-(-k // s) for k, s in zip(window.kernel, window.stride, strict=True))
    kh, kw, channels, features = w.shape
    taps = lax.pad(
        w, _zero(w), [(0, dh * sh - kh, 0), (0, dw * sw - kw, 0), (0, 0, 0), (0, 0, 0)]
    ).reshape(dh, sh, dw, sw, channels, features)
    taps = lax.rev(taps, (0, 2)).transpose(0, 2, 5, 1, 3, 4)
    # Only the rows that touch the image, first to last, are computed.
    first = [a // s for a, s in zip(window.low, window.stride, strict=True)]
    rows, columns = (
        (a + n - 1) // s + 1 - f
        for a, n, s, f in zip(
            window.low, window.image, window.stride, first, strict=True
        )
    )
    phases = lax.conv_general_dilated(
        y,
        taps.reshape(dh, dw, features, sh * sw * channels),
        (1, 1),
        [
            (d - 1 - f, m + f - o)
            for d, f, m, o in zip(
                (dh, dw), first, (rows, columns), window.positions, strict=True
            )
        ],
        dimension_numbers=_LAYOUT,
        precision=window.precision,
    )
    # One axis is split or merged at a time, as explicit shardings demand.
    batch = y.shape[0]
    image = phases.reshape(batch, rows, columns, sh, sw * channels)
    image = image.transpose(0, 1, 3, 2, 4)
    image = image.reshape(batch, rows * sh, columns, sw * channels)
    image = image.reshape(batch, rows * sh, columns, sw, channels)
    image = image.reshape(batch, rows * sh, columns * sw, channels)
    top, left = (
        a - f * s for a, f, s in zip(window.low, first, window.stride, strict=True)
    )
    return image[:, top : top + height, left : left + width]


def _dilated_spread(y: jax.Array, w: jax.Array, window: Window) -> jax.Array:
    pads = [
        (k - 1 - a, k - 1 - b)
        for k, a, b in zip(window.kernel, window.low, window.high, strict=True)
    ]
    return lax.conv_general_dilated(
        y,
        lax.rev(w, (0, 1)),
        (1, 1),
        pads,
        lhs_dilation=window.stride,
        dimension_numbers=("NHWC", "HWOI", "NHWC"),
        precision=window.precision,
    )


def _overlap(x: jax.Array, y: jax.Array, window: Window) -> jax.Array:
    """The channels take the place of the batch, and y that of the kernel."""
    w = lax.conv_general_dilated(
        x.transpose(3, 1, 2, 0),
        y.transpose(1, 2, 0, 3),
        (1, 1),
        list(zip(window.low, window.high, strict=True)),
        rhs_dilation=window.stride,
        dimension_numbers=_LAYOUT,
        precision=window.precision,
        out_sharding=_replicated(x),
    )
    return w.transpose(1, 2, 0, 3)


def _replicated(like: jax.Array) -> jax.sharding.NamedSharding | None:
    # The sum over a batch that explicit axes shard has to be asked for.
    mesh = jax.typeof(like).sharding.mesh
    if jax.sharding.AxisType.Explicit not in mesh.axis_types:
        return None
    return jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())


def _zero(like: jax.Array) -> jax.Array:
    return jnp.zeros((), like.dtype)

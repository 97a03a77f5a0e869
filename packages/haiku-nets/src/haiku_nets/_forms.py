"""The three maps of a convolution, each written as a canonical convolution.

All are bilinear, and each is the transpose of the other two:

    correlate  x, w -> y    what a convolution computes
    spread     y, w -> x    its gradient for x; what a transposed convolution computes
    overlap    x, y -> w    the gradient for w of both

Canonical means: batch, rows, columns, channels in this order, the kernel not reversed,
the image not dilated. It is the form for which XLA's CPU backend has fast code.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

_LAYOUT = ("NHWC", "HWIO", "NHWC")


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
    def pads(self) -> list[tuple[int, int]]:
        """Padding before and after x; negative where a part of x is not used."""
        return [
            (a, (o - 1) * s + k - n - a)
            for n, k, s, a, o in zip(*self[:5], strict=True)
        ]


class _Axis(NamedTuple):
    """One axis of the sub-pixel form.

    Attributes:
      depth: how many taps of one phase there are, at most.
      phases: how many phases have a tap.
      first: the first row of a phase's image that reaches x.
      rows: how many rows of it reach x.
    """

    depth: int
    phases: int
    first: int
    rows: int


def correlate_form(x: jax.Array, w: jax.Array, window: Window) -> jax.Array:
    """Computes values from images; for this map the native form is canonical.

    Args:
      x: images [batch, *image, channels].
      w: kernel [*kernel, channels, features].
      window: how they meet.

    Returns:
      Values [batch, *positions, features].
    """
    return lax.conv_general_dilated(
        x,
        w,
        window.stride,
        window.pads,
        dimension_numbers=_LAYOUT,
        precision=window.precision,
    )


def spread_form(y: jax.Array, w: jax.Array, window: Window) -> jax.Array:
    """Computes images from values, as smaller images that are interleaved.

    Row i of the padded image belongs to phase i mod stride, and so do the taps that
    reach it. One convolution without stride computes the images of all phases, as
    channels (Shi et al., 2016, https://arxiv.org/abs/1609.05158).

    Args:
      y: values [batch, *positions, features].
      w: kernel [*kernel, channels, features].
      window: how they meet.

    Returns:
      Images [batch, *image, channels].
    """
    # Tap s * d + p takes y[o] to row s * (o + d) + p, so row m of the image of phase p
    # is the sum of y[m - d] * w[s * d + p] over d.
    v, h = (
        _Axis(-(-k // s), min(k, s), a // s, (a + n - 1) // s + 1 - a // s)
        for n, k, s, a in zip(*window[:4], strict=True)
    )
    zero = jnp.zeros((), w.dtype)
    (kh, kw), batch, (channels, features) = window.kernel, y.shape[0], w.shape[2:]
    whole = [(0, v.depth * v.phases - kh, 0), (0, h.depth * h.phases - kw, 0)]
    taps = lax.pad(w, zero, [*whole, (0, 0, 0), (0, 0, 0)])
    taps = taps.reshape(v.depth, v.phases, h.depth, h.phases, channels, features)
    taps = lax.rev(taps, (0, 2)).transpose(0, 2, 5, 1, 3, 4)
    images = lax.conv_general_dilated(
        y,
        taps.reshape(v.depth, h.depth, features, v.phases * h.phases * channels),
        (1, 1),
        [
            (axis.depth - 1 - axis.first, axis.rows + axis.first - o)
            for axis, o in zip((v, h), window.positions, strict=True)
        ],
        dimension_numbers=_LAYOUT,
        precision=window.precision,
    )
    # One axis is split or merged at a time, as explicit shardings demand; the phases
    # that no tap reaches are zero.
    sh, sw = window.stride
    x = images.reshape(batch, v.rows, h.rows, v.phases, h.phases * channels)
    x = lax.pad(x.transpose(0, 1, 3, 2, 4), zero, _after(2, sh - v.phases))
    x = x.reshape(batch, v.rows * sh, h.rows, h.phases * channels)
    x = x.reshape(batch, v.rows * sh, h.rows, h.phases, channels)
    x = lax.pad(x, zero, _after(3, sw - h.phases))
    x = x.reshape(batch, v.rows * sh, h.rows * sw, channels)
    top, left = window.low[0] - v.first * sh, window.low[1] - h.first * sw
    height, width = window.image
    return x[:, top : top + height, left : left + width]


def dilated_spread_form(y: jax.Array, w: jax.Array, window: Window) -> jax.Array:
    """Computes images from values in the native form, by zeros between the values.

    Args:
      y: values [batch, *positions, features].
      w: kernel [*kernel, channels, features].
      window: how they meet.

    Returns:
      Images [batch, *image, channels].
    """
    return lax.conv_general_dilated(
        y,
        lax.rev(w, (0, 1)),
        (1, 1),
        [
            (k - 1 - before, k - 1 - after)
            for k, (before, after) in zip(window.kernel, window.pads, strict=True)
        ],
        lhs_dilation=window.stride,
        dimension_numbers=("NHWC", "HWOI", "NHWC"),
        precision=window.precision,
    )


def overlap_form(x: jax.Array, y: jax.Array, window: Window) -> jax.Array:
    """Computes a kernel: channels take the place of the batch, values of the kernel.

    Args:
      x: images [batch, *image, channels].
      y: values [batch, *positions, features].
      window: how they meet.

    Returns:
      Kernel [*kernel, channels, features].
    """
    x, y = x.transpose(3, 1, 2, 0), y.transpose(1, 2, 0, 3)
    return _overlap(x, y, window, _LAYOUT).transpose(1, 2, 0, 3)


def untransposed_overlap_form(x: jax.Array, y: jax.Array, window: Window) -> jax.Array:
    """Computes a kernel in the native form, with the axes where they are.

    Args:
      x: images [batch, *image, channels].
      y: values [batch, *positions, features].
      window: how they meet.

    Returns:
      Kernel [*kernel, channels, features].
    """
    return _overlap(x, y, window, ("CHWN", "IHWO", "HWNC"))


def _overlap(
    x: jax.Array, y: jax.Array, window: Window, layout: tuple[str, str, str]
) -> jax.Array:
    return lax.conv_general_dilated(
        x,
        y,
        (1, 1),
        window.pads,
        rhs_dilation=window.stride,
        dimension_numbers=layout,
        precision=window.precision,
        out_sharding=_replicated(x),
    )


def _after(axis: int, count: int) -> list[tuple[int, int, int]]:
    return [(0, count if i == axis else 0, 0) for i in range(5)]


def _replicated(like: jax.Array) -> jax.sharding.NamedSharding | None:
    # The sum over a batch that explicit axes shard has to be asked for.
    mesh = jax.typeof(like).sharding.mesh
    if jax.sharding.AxisType.Explicit not in mesh.axis_types:
        return None
    return jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())

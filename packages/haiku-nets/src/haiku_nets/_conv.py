"""Haiku's two-dimensional convolution, with gradients that are fast on the CPU too."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import haiku as hk
import jax
import jax.numpy as jnp
from jax import lax

from haiku_nets._canonical import correlate
from haiku_nets._checks import check_counts
from haiku_nets._forms import Window
from haiku_nets._lowering import Lowering, resolve_lowering
from haiku_nets._weights import kernel, with_bias

_Initializer = Callable[[Sequence[int], Any], jax.Array]


class Conv2D(hk.Conv2D):
    """A drop-in for `haiku.Conv2D` that trains several times faster on the CPU.

    Parameters, their names and initial values are Haiku's, and so are the results, to
    float32 rounding. Use it wherever a convolutional net is trained or tested on CPUs;
    on GPU and TPU it is Haiku's own convolution. `conv_lowering` says which form a
    layer takes: NCHW, dilation (`rate`) and groups are left to Haiku on every platform.
    A mesh of explicit axes may shard the batch and nothing else, as with Haiku's.

    It is a subclass of Haiku's, so whatever looks for that class finds this one. The
    default name is the same, `conv2_d`.

    Args:
      output_channels: how many features each position has.
      kernel_shape: rows and columns of the kernel, or one number for both.
      stride: step from one position to the next, by axis or one for both.
      rate: dilation of the kernel, by axis or one for both.
      padding: `"SAME"`, `"VALID"`, one (before, after) pair for each axis, or a
        function of `haiku.pad`.
      with_bias: whether to add a bias.
      w_init: initialiser of the kernel; by default a truncated normal with standard
        deviation 1 / sqrt(rows * columns * channels).
      b_init: initialiser of the bias; by default zeros.
      data_format: `"NHWC"` or `"NCHW"`.
      mask: array of the kernel's shape to multiply it with.
      feature_group_count: into how many groups the channels are split.
      lowering: `"native"` or `"canonical"` to have that form on every platform; by
        default `conv_lowering` chooses for the platform that is lowered for.
      name: the module's name.

    Raises:
      ValueError: if `lowering` is another word, `"canonical"` is asked for where it
        does not exist, or a size is below 1.
      TypeError: if one is no whole number.

    Example:
      >>> import haiku as hk, jax, jax.numpy as jnp
      >>> net = hk.transform(lambda x: Conv2D(8, 5, stride=2)(x))
      >>> params = net.init(jax.random.key(0), jnp.ones((1, 28, 28, 1)))
      >>> {name: array.shape for name, array in params["conv2_d"].items()}
      {'w': (5, 5, 1, 8), 'b': (8,)}

    References:
      Dumoulin and Visin, A guide to convolution arithmetic for deep learning, 2016,
      https://arxiv.org/abs/1603.07285
    """

    def __init__(
        self,
        output_channels: int,
        kernel_shape: int | Sequence[int],
        stride: int | Sequence[int] = 1,
        rate: int | Sequence[int] = 1,
        padding: Any = "SAME",
        *,
        with_bias: bool = True,
        w_init: _Initializer | None = None,
        b_init: _Initializer | None = None,
        data_format: str = "NHWC",
        mask: jax.Array | None = None,
        feature_group_count: int = 1,
        lowering: Lowering | None = None,
        name: str | None = None,
    ) -> None:
        where = name or "Conv2D"
        sizes = check_counts(
            where,
            kernel_shape=kernel_shape,
            stride=stride,
            rate=rate,
            feature_group_count=feature_group_count,
        )
        sizes |= check_counts(where, low=0, output_channels=output_channels)
        super().__init__(
            **sizes,
            padding=padding,
            with_bias=with_bias,
            w_init=w_init,
            b_init=b_init,
            data_format=data_format,
            mask=mask,
            name=name,
        )
        self.lowering: Lowering | None = resolve_lowering(
            lowering,
            channels_last=self.channel_index == -1,
            rate=self.kernel_dilation,
            groups=sizes["feature_group_count"],
        )

    def __call__(self, inputs: jax.Array, *, precision: Any = None) -> jax.Array:
        """Applies the layer.

        Args:
          inputs: floats [batch, rows, columns, channels], or the same without batch.
          precision: as in `jax.lax.conv_general_dilated`.

        Returns:
          Floats [batch, rows, columns, output_channels] of the inputs' dtype, without
          batch where the inputs have none.

        Raises:
          ValueError: if the inputs have another rank; from Haiku.
        """
        inputs = jnp.asarray(inputs)
        if self.lowering == "native" or inputs.ndim not in (3, 4):
            return super().__call__(inputs, precision=precision)
        x = inputs if inputs.ndim == 4 else inputs[None]
        window = self._window(x.shape[1:3])._replace(precision=precision)
        if min(window.positions) < 1:
            return super().__call__(inputs, precision=precision)
        rows, columns = window.kernel
        shape = (rows, columns, x.shape[3], self.output_channels)
        w = kernel(self, shape=shape, fan_in=math.prod(shape[:3]), dtype=x.dtype)
        y = with_bias(self, correlate(x, w, window))
        return y if inputs.ndim == 4 else y[0]

    def _window(self, image: Sequence[int]) -> Window:
        pads = self.padding
        if isinstance(pads, str):
            pads = lax.padtype_to_pads(image, self.kernel_shape, self.stride, pads)
        return Window(
            image=tuple(image),
            kernel=tuple(self.kernel_shape),
            stride=tuple(self.stride),
            low=tuple(low for low, _ in pads),
            positions=tuple(
                (n + low + high - k) // s + 1
                for n, k, s, (low, high) in zip(
                    image, self.kernel_shape, self.stride, pads, strict=True
                )
            ),
            everywhere=self.lowering == "canonical",
        )

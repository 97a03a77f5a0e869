"""The parameters of a convolution, as Haiku makes them."""

import math
from typing import Any

import haiku as hk
import jax
import jax.numpy as jnp


def kernel(
    layer: Any, *, shape: tuple[int, int, int, int], fan_in: int, dtype: jnp.dtype
) -> jax.Array:
    """Gets the kernel of the layer that is being applied, with its mask applied.

    Args:
      layer: a Haiku convolution, for its `w_init` and `mask`.
      shape: shape of the kernel.
      fan_in: how many products are summed for one output.
      dtype: dtype of the kernel.

    Returns:
      The parameter `w`.

    Raises:
      ValueError: if the mask has another shape than the kernel.
    """
    default = hk.initializers.TruncatedNormal(stddev=1 / math.sqrt(max(fan_in, 1)))
    w = hk.get_parameter("w", shape, dtype, init=layer.w_init or default)
    if layer.mask is None:
        return w
    if layer.mask.shape != shape:
        raise ValueError(
            f"{layer.name} found a mask of shape {layer.mask.shape}, wanted that of "
            f"its kernel, {shape}: pass mask=jnp.ones({shape}) with zeros in it."
        )
    return w * layer.mask


def with_bias(layer: Any, out: jax.Array) -> jax.Array:
    """Adds the bias of the layer that is being applied, where it has one.

    Args:
      layer: a Haiku convolution, for its `with_bias`, `b_init` and `output_channels`.
      out: values [..., output_channels].

    Returns:
      The values plus the parameter `b`.
    """
    if not layer.with_bias:
        return out
    shape = (layer.output_channels,)
    b = hk.get_parameter("b", shape, out.dtype, init=layer.b_init)
    return out + jnp.broadcast_to(b, out.shape)

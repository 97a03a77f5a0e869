"""Which form of a convolution XLA is given: the rule, in one place to read and to test.

XLA's CPU backend is fast on a convolution in canonical form: arrays ordered batch,
rows, columns, channels, with no kernel reversed and no image dilated. The gradients
that jax derives are in other forms. XLA rewrites some of them, but none inside a loop
such as `jax.lax.scan`, and runs the rest as plain nested loops, many times slower. The
backends of GPU and TPU take every form, so they are given Haiku's own.
"""

from typing import Literal

Lowering = Literal["native", "canonical"]


def conv_lowering(
    *,
    platform: str,
    channels_last: bool = True,
    rate: tuple[int, ...] = (1, 1),
    groups: int = 1,
) -> Lowering:
    """Says in which form `Conv2D` and `Conv2DTranspose` are lowered.

    They follow this for the platform that is lowered for, which need not be that of
    the machine: a program compiled for TPU on a CPU host holds native convolutions.
    Pass `lowering=` to a layer to overrule it.

    Sizes, channels and stride do not matter: in no layer that was measured (the table
    in the README) is the canonical form slower than the native one beyond noise.

    Args:
      platform: name of the platform, such as `"cpu"`, `"tpu"`, `"cuda"` or `"rocm"`.
      channels_last: whether the data format is NHWC.
      rate: the kernel's dilation, by axis.
      groups: into how many groups the channels are split.

    Returns:
      `"canonical"` on the CPU for what has a canonical form, which is NHWC without
      dilation and groups; `"native"` for everything else.

    Example:
      >>> conv_lowering(platform="cpu")
      'canonical'
      >>> conv_lowering(platform="tpu")
      'native'
      >>> conv_lowering(platform="cpu", rate=(2, 2))
      'native'
    """
    has_canonical = channels_last and set(rate) <= {1} and groups == 1
    return "canonical" if platform == "cpu" and has_canonical else "native"


def resolve_lowering(
    asked: Lowering | None,
    *,
    channels_last: bool,
    rate: tuple[int, ...] = (1, 1),
    groups: int = 1,
) -> Lowering | None:
    """Settles what a layer can settle before it knows the platform.

    Args:
      asked: the layer's `lowering` argument.
      channels_last: whether the data format is NHWC.
      rate: the kernel's dilation, by axis.
      groups: into how many groups the channels are split.

    Returns:
      The form on every platform, or None where `conv_lowering` differs by platform.

    Raises:
      ValueError: if `asked` is not a form, or is one that the layer does not have.
    """
    if asked not in (None, "native", "canonical"):
        raise ValueError(
            f"lowering={asked!r}: wanted 'native', 'canonical', or None to leave it to "
            "conv_lowering."
        )
    on_cpu = conv_lowering(
        platform="cpu", channels_last=channels_last, rate=rate, groups=groups
    )
    if on_cpu == "canonical":
        return asked
    if asked == "canonical":
        raise ValueError(
            f"lowering='canonical' with {channels_last=}, rate={tuple(rate)}, "
            f"{groups=}: wanted data_format='NHWC', rate=1 and feature_group_count=1. "
            "Leave lowering out, and Haiku's own code is used."
        )
    return "native"

"""Which devices the run uses, and how arrays lie on them."""

import contextlib
import os
from typing import NamedTuple

import jax
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from mnist_gan._errors import UserError


class Placement(NamedTuple):
    """Devices and the two ways in which arrays lie on them.

    Attributes:
      mesh: the devices, along the axis `data`.
      replicated: a whole copy on each device; parameters and optimizer states.
      spread: split along the first axis; batches.
    """

    mesh: Mesh
    replicated: NamedSharding
    spread: NamedSharding


def place(n: int | None) -> Placement:
    """Chooses the first `n` devices, or all.

    On a machine with CPUs only, jax is asked to show `n` of them.

    Args:
      n: how many, or None.

    Returns:
      The placement.

    Raises:
      UserError: if there are fewer.
    """
    if n is not None and "JAX_NUM_CPU_DEVICES" not in os.environ:
        with contextlib.suppress(RuntimeError):  # jax runs already; counted below
            jax.config.update("jax_num_cpu_devices", n)
    try:
        devices = jax.devices()
    except (RuntimeError, AssertionError) as error:
        asked = os.environ.get("JAX_PLATFORMS")
        raise UserError(
            f"jax found no device: {error or f'JAX_PLATFORMS={asked}'}; install jax "
            "for it, or unset JAX_PLATFORMS"
        ) from error
    n = len(devices) if n is None else n
    if n > len(devices):
        raise UserError(
            f"--devices {n}: found {len(devices)} ({_kind(devices[0])}); take "
            f"--devices {len(devices)} or fewer"
        )
    mesh = jax.make_mesh((n,), ("data",), (AxisType.Auto,), devices=devices[:n])
    return Placement(
        mesh,
        NamedSharding(mesh, PartitionSpec()),
        NamedSharding(mesh, PartitionSpec("data")),
    )


def check_batch_size(batch_size: int, placement: Placement) -> None:
    """Checks that each device gets the same number of digits.

    Args:
      batch_size: digits a step, over all devices.
      placement: the devices.

    Raises:
      UserError: if it does not divide.
    """
    n = placement.mesh.size
    if batch_size % n:
        near = max(n, batch_size // n * n)
        raise UserError(
            f"batch size {batch_size} does not divide over {n} devices; take "
            f"--batch-size {near} or {near + n}, or --devices 1"
        )


def describe(placement: Placement) -> str:
    """Names the devices: `1 CPU device (2 cores)`, `8 TPU v5 lite devices`."""
    n, device = placement.mesh.size, placement.mesh.devices.flat[0]
    text = f"{n} {_kind(device)} device{'s' if n > 1 else ''}"
    if device.platform == "cpu":
        text += f" ({len(os.sched_getaffinity(0))} cores)" if _linux() else ""
    return text


def _kind(device: jax.Device) -> str:
    return "CPU" if device.platform == "cpu" else device.device_kind


def _linux() -> bool:
    return hasattr(os, "sched_getaffinity")

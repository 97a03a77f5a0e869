"""Which devices the run uses, and how arrays lie on them."""

import contextlib
import math
import os
from collections.abc import Mapping
from typing import NamedTuple

import jax
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from mnist_gan._errors import UserError


class Placement(NamedTuple):
    """Devices and the two ways in which arrays lie on them.

    Attributes:
      mesh: the devices, along the axes `data` and, where asked for, `model`.
      replicated: a whole copy on each device; parameters and optimizer states.
      spread: split along the first axis; batches.
    """

    mesh: Mesh
    replicated: NamedSharding
    spread: NamedSharding


def parse_mesh(text: str) -> dict[str, int]:
    """Reads `data=4,model=2`.

    Args:
      text: what the user typed.

    Returns:
      Axis -> number of devices along it; `data` comes first.

    Raises:
      ValueError: if it is something else.

    Example:
      >>> parse_mesh("model=2,data=4")
      {'data': 4, 'model': 2}
    """
    pairs = [pair.partition("=") for pair in text.split(",")]
    axes = {name: int(n) for name, _, n in pairs if n.isdecimal() and int(n)}
    if len(axes) != len(pairs) or not {"data"} <= axes.keys() <= {"data", "model"}:
        raise ValueError(f"{text!r}: wanted data=N or data=N,model=M")
    return {name: axes[name] for name in ("data", "model") if name in axes}


def place(n: int | None, axes: Mapping[str, int] | None = None) -> Placement:
    """Chooses the first `n` devices, or all, of all processes.

    On a machine with CPUs only, jax is asked to show as many as are asked for.

    Args:
      n: how many, or None.
      axes: how many along each axis; all along `data` if None.

    Returns:
      The placement.

    Raises:
      UserError: if there are fewer, or they do not fill the axes.
    """
    wanted = math.prod(axes.values()) if axes else n
    alone = not jax.distributed.is_initialized()
    if wanted is not None and alone and "JAX_NUM_CPU_DEVICES" not in os.environ:
        with contextlib.suppress(RuntimeError):  # jax runs already; counted below
            jax.config.update("jax_num_cpu_devices", wanted)
    try:
        devices = jax.devices()
    except (RuntimeError, AssertionError) as error:
        asked = os.environ.get("JAX_PLATFORMS")
        raise UserError(
            f"jax found no device: {error or f'JAX_PLATFORMS={asked}'}; install jax "
            "for it, or unset JAX_PLATFORMS"
        ) from error
    found = f"found {len(devices)} ({_kind(devices[0])})"
    if n is not None and n > len(devices):
        raise UserError(
            f"--devices {n}: {found}; take --devices {len(devices)} or fewer"
        )
    if jax.process_count() > 1 and n not in (None, len(devices)):
        raise UserError(
            f"--devices {n}: {found} in {jax.process_count()} processes, and all take "
            "part; leave --devices out"
        )
    devices = devices[:n] if n or jax.process_count() > 1 else devices[:wanted]
    axes = axes or {"data": len(devices)}
    if math.prod(axes.values()) != len(devices):
        spelled = ",".join(f"{name}={size}" for name, size in axes.items())
        raise UserError(
            f"--mesh {spelled}: is for {math.prod(axes.values())} devices, {found}; "
            f"take --mesh data={len(devices)}, or other numbers with that product"
        )
    kinds = (AxisType.Auto,) * len(axes)
    mesh = jax.make_mesh(tuple(axes.values()), tuple(axes), kinds, devices=devices)
    return on_mesh(mesh)


def on_mesh(mesh: Mesh) -> Placement:
    """The two ways in which arrays lie on a mesh."""
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
    n = placement.mesh.shape["data"]
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
    count = len({device.process_index for device in placement.mesh.devices.flat})
    return f"{text} in {count} processes" if count > 1 else text


def _kind(device: jax.Device) -> str:
    return "CPU" if device.platform == "cpu" else device.device_kind


def _linux() -> bool:
    return hasattr(os, "sched_getaffinity")

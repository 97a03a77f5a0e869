"""The devices that a command asks for, and a state on them."""

import contextlib

import jax
from jax.sharding import AxisType, Mesh


class DevicesError(ValueError):
    """There are fewer devices than were asked for, or they do not divide the work."""


def choose_devices(count: int, num_envs: int) -> Mesh | None:
    """The first devices, as a mesh; on a machine with CPUs only they are simulated.

    Args:
      count: how many.
      num_envs: how many environments are split over them.

    Returns:
      A mesh with the axis `data`; None for one device.

    Raises:
      DevicesError: if there are fewer, or they do not divide the environments.
    """
    if num_envs % count:
        raise DevicesError(
            f"--devices {count} do not divide {num_envs} environments; "
            f"type --envs {-(-num_envs // count) * count}"
        )
    if count > 1:
        with contextlib.suppress(RuntimeError):  # jax runs already; counted below
            jax.config.update("jax_num_cpu_devices", count)
    try:
        devices = jax.devices()
    except RuntimeError as error:
        raise DevicesError(f"jax found no device: {error}") from error
    if count > len(devices):
        raise DevicesError(
            f"--devices {count}: found {len(devices)} of kind {devices[0].platform}; "
            f"type --devices {len(devices)} or fewer"
        )
    if count == 1:
        return None
    return jax.make_mesh((count,), ("data",), (AxisType.Auto,), devices=devices[:count])

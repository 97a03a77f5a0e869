"""Where arrays go: the device that a format names, and the one transfer to it."""

import contextlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

import jax
import numpy as np

from arrow_jax._errors import DeviceError, ShapeError


def device_name(device: Any) -> Any:
    """Checks a device and gives it a name that pickles.

    Args:
      device: `str(device)`, "platform:id", a Device, a Sharding, or None.

    Returns:
      The name of a device; a Sharding or None as they are.

    Raises:
      DeviceError: if no device of this process goes by that name.
    """
    if device is None or isinstance(device, jax.sharding.Sharding):
        return device
    name = device if isinstance(device, str) else str(device)
    find_device(name)
    return name


def find_device(name: str) -> jax.Device:
    """Finds a device of this process.

    Args:
      name: `str(device)` or "platform:id".

    Returns:
      The device.

    Raises:
      DeviceError: if there is none; lists those that there are.
    """
    known = _local_devices()
    for device in known:
        if name in (str(device), f"{device.platform}:{device.id}"):
            return device
    raise DeviceError(
        f"device {name!r} is not one of this process. Known are "
        f"{', '.join(repr(str(d)) for d in known)}. Pass str(device) of one of "
        "jax.local_devices(), or a Sharding for arrays that other processes share"
    )


def _local_devices() -> list[jax.Device]:
    found = list(jax.local_devices())
    if all(d.platform != "cpu" for d in found):
        found += jax.local_devices(backend="cpu")
    return found


def put(tree: Any, device: Any) -> Any:
    """Transfers the NumPy arrays of a tree, in one call.

    Args:
      tree: of dicts, tuples, lists, arrays and Python objects.
      device: the name of a device or a Sharding, to which the arrays are committed;
        None leaves them uncommitted on jax's default device.

    Returns:
      The tree with `jax.Array` in place of arrays, dicts in their order.

    Raises:
      ShapeError: if a Sharding does not divide an array.
    """
    if isinstance(device, str):
        device = find_device(device)
    arrays: list[Any] = []
    _collect(tree, arrays)
    try:
        placed = jax.device_put(arrays, device)
    except ValueError as error:
        if not isinstance(device, jax.sharding.Sharding):
            raise
        shapes = sorted({a.shape for a in arrays})
        raise ShapeError(
            f"the format's device={device} does not fit arrays of shapes {shapes}: "
            f"{error}. Ask for rows in numbers that it divides, or name one device"
        ) from error
    return _replace(tree, iter(placed))


def _is_array(leaf: Any) -> bool:
    return isinstance(leaf, np.ndarray | np.generic)


def _is_objects(tree: Any) -> bool:
    # A list of strings is one throughout, so that its first item will do.
    return isinstance(tree, list) and bool(tree) and isinstance(tree[0], str | bytes)


def _collect(tree: Any, arrays: list[Any]) -> None:
    if _is_array(tree):
        arrays.append(tree)
    elif _is_objects(tree):
        return
    elif isinstance(tree, dict | tuple | list):
        for inner in tree.values() if isinstance(tree, dict) else tree:
            _collect(inner, arrays)


def _replace(tree: Any, arrays: Iterator[jax.Array]) -> Any:
    if _is_array(tree):
        return next(arrays)
    if _is_objects(tree):
        return tree
    if isinstance(tree, dict):
        return {name: _replace(inner, arrays) for name, inner in tree.items()}
    if isinstance(tree, tuple):
        return type(tree)(*(_replace(inner, arrays) for inner in tree))
    if isinstance(tree, list):
        return [_replace(inner, arrays) for inner in tree]
    return tree


def mode(*, x64: bool, default_device: Any = None) -> AbstractContextManager[Any]:
    """Sets jax's width and default device for a block, where they differ.

    Threads and later calls do not inherit the context in which a format or a loader
    was made.

    Args:
      x64: whether 64-bit arrays stay so.
      default_device: the device for uncommitted arrays, or None for jax's choice.

    Returns:
      A context.
    """
    other_width = bool(jax.config.jax_enable_x64) != x64
    other_device = default_device and jax.config.jax_default_device != default_device
    if not (other_width or other_device):
        return _AS_IT_IS
    stack = contextlib.ExitStack()
    if other_width:
        stack.enter_context(jax.enable_x64(x64))
    if other_device:
        stack.enter_context(jax.default_device(default_device))
    return stack


def without_mesh() -> AbstractContextManager[Any]:
    """Hides the mesh that `jax.set_mesh` set, for a block.

    A compiled function runs on all devices of that mesh, which `jax.device_put` does
    not mind: what either sends is to be in the same place.

    Returns:
      A context, to be entered at once.
    """
    if jax.sharding.get_abstract_mesh().empty:
        return _AS_IT_IS
    return jax.set_mesh(jax.sharding.Mesh(np.empty((), object), ()))


_AS_IT_IS = contextlib.nullcontext()

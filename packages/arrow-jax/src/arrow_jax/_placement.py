"""Where the batches of a loader go, on one process or many.

Rows belong to devices as the sharding's own index map says. On a real torus the
devices of a host are not next to each other in the mesh, so slicing a batch by the
number of the process would give devices other devices' rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import numpy as np

from arrow_jax._device import find_device
from arrow_jax._errors import ArrowJaxError, ShapeError
from arrow_jax._sender import send


def shardings_of(spec: Mapping[str, Any], sharding: Any) -> dict[str, Any] | None:
    """Gives every array of a batch its sharding.

    Args:
      spec: of the batch.
      sharding: one for all, a dict by column of shardings (or of trees of them), or
        None.

    Returns:
      A tree like `spec`, or None.

    Raises:
      ArrowJaxError: if a column has none.
      ShapeError: if a sharding does not divide its array; names both.
    """
    if sharding is None:
        return None
    if isinstance(sharding, Mapping):
        by_column = {
            name: jax.tree.map(_sharding, own, is_leaf=lambda x: x is None)
            for name, own in sharding.items()
        }
        if "valid" in spec and "valid" not in by_column:
            by_column["valid"] = next(iter(jax.tree.leaves(by_column)), None)
    else:
        by_column = dict.fromkeys(spec, _sharding(sharding))
    for name in {**spec, **by_column}:
        if name not in spec or name not in by_column:
            raise ArrowJaxError(
                f"sharding names {list(by_column)}, the batch has {list(spec)}: "
                f"{name!r} is in one only. Give one sharding for each column, or one "
                "for all"
            )
    return {name: _spread(name, spec[name], by_column[name]) for name in spec}


def _sharding(given: Any) -> jax.sharding.Sharding:
    if isinstance(given, str):
        return jax.sharding.SingleDeviceSharding(find_device(given))
    if not isinstance(given, jax.sharding.Sharding):
        raise ArrowJaxError(
            f"sharding={given!r}: wanted a jax.sharding.Sharding, a dict of them by "
            "column, or the name of a device"
        )
    return given


def _spread(name: str, spec: Any, sharding: Any) -> Any:
    if isinstance(sharding, jax.sharding.Sharding):
        return jax.tree.map(lambda leaf: _fitted(name, leaf, sharding), spec)
    return jax.tree.map(lambda leaf, own: _fitted(name, leaf, own), spec, sharding)


def _fitted(
    name: str, leaf: jax.ShapeDtypeStruct, sharding: jax.sharding.Sharding
) -> jax.sharding.Sharding:
    if isinstance(sharding, jax.sharding.NamedSharding):
        axes = sharding.spec[: len(leaf.shape)]
        sharding = sharding.update(spec=jax.sharding.PartitionSpec(*axes))
    check_shape(name, leaf.shape, sharding)
    return sharding


def check_shape(
    name: str, shape: tuple[int, ...], sharding: jax.sharding.Sharding
) -> None:
    """Raises if devices can't share an array evenly.

    Args:
      name: the column's.
      shape: of the batch's array.
      sharding: of it.

    Raises:
      ShapeError: names the column, shape and sharding.
    """
    try:
        sharding.shard_shape(shape)
    except ValueError as error:
        raise ShapeError(
            f"column {name!r}: a batch of shape {list(shape)} can't be shared evenly "
            f"by {sharding}. Choose a batch_size, or a length, that the devices divide"
        ) from error


@dataclass(frozen=True)
class Placement:
    """Puts batches where they go.

    Attributes:
      shardings: a tree like the batch, or empty for jax's default device.
      by_shard: put each shard by itself, which is needed where other processes hold
        some of them.
    """

    shardings: dict[str, Any]
    by_shard: bool

    @classmethod
    def of(cls, shardings: dict[str, Any] | None) -> "Placement":
        """Makes the placement of some shardings.

        Args:
          shardings: see the class.

        Returns:
          The placement; by shard if a sharding reaches beyond this process.
        """
        leaves = jax.tree.leaves(shardings)
        return cls(shardings or {}, not all(s.is_fully_addressable for s in leaves))

    def check(self, spec: Mapping[str, Any]) -> None:
        """Raises if devices can't share a batch evenly.

        Args:
          spec: of the batch.

        Raises:
          ShapeError: names the column, shape and sharding.
        """
        for name in self.shardings:
            for leaf, sharding in _pairs(spec[name], self.shardings[name]):
                check_shape(name, leaf.shape, sharding)

    def check_flat(self, spec: Mapping[str, Any], names: list[str]) -> None:
        """Raises if values without a batch axis would be cut.

        Args:
          spec: of the batch.
          names: the columns that are joined end to end.

        Raises:
          ShapeError: names the column.
        """
        for name in names if self.shardings else ():
            for leaf, sharding in _pairs(spec[name], self.shardings[name]):
                whole = sharding.shard_shape(leaf.shape) == leaf.shape
                if self.by_shard or not whole:
                    raise ShapeError(
                        f"column {name!r}: Flat joins the rows of a batch, which can't "
                        f"be shared by {sharding}. Pad the rows to a length, or "
                        "replicate the column on the devices of one process"
                    )

    def describe(self, spec: Mapping[str, Any]) -> Any:
        """Adds the shardings to a spec.

        Args:
          spec: of the batch.

        Returns:
          The same tree, for ahead-of-time lowering.
        """
        if not self.shardings:
            return spec

        def add(leaf: jax.ShapeDtypeStruct, own: Any) -> jax.ShapeDtypeStruct:
            return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=own)

        return {n: jax.tree.map(add, spec[n], self.shardings[n]) for n in spec}

    def local_rows(self, spec: Mapping[str, Any]) -> np.ndarray | None:
        """Finds the rows of a batch that this process's devices hold.

        Args:
          spec: of the whole batch.

        Returns:
          Their positions in the batch, ascending; None for all.
        """
        if not self.by_shard:
            return None
        needed = np.zeros(jax.tree.leaves(spec)[0].shape[0], bool)
        for leaf, sharding in _pairs(spec, self.shardings):
            for rows, *_ in _indices(sharding, leaf.shape).values():
                needed[rows] = True
        return np.flatnonzero(needed)

    def put(self, batch: Any, batch_size: int, local: np.ndarray | None) -> Any:
        """Transfers a batch, in one call.

        Args:
          batch: tree of NumPy arrays, whose first axis is the rows `local`.
          batch_size: of the whole batch.
          local: from `local_rows`.

        Returns:
          The tree of global `jax.Array`.
        """
        if local is None:
            return self._put_whole(batch)
        pieces, devices, plans = [], [], []
        for leaf, sharding in _pairs(batch, self.shardings):
            shape = (batch_size, *leaf.shape[1:])
            indices = _indices(sharding, shape)
            for device, (rows, *others) in indices.items():
                start, stop, _ = rows.indices(batch_size)
                first, behind = np.searchsorted(local, [start, stop])
                pieces.append(leaf[(slice(first, behind), *others)])
                devices.append(device)
            plans.append((shape, sharding, len(indices)))
        shards = iter(jax.device_put(pieces, devices))
        leaves = [
            jax.make_array_from_single_device_arrays(
                shape, sharding, [next(shards) for _ in range(n)]
            )
            for shape, sharding, n in plans
        ]
        put = jax.tree.unflatten(jax.tree.structure(batch), leaves)
        return {name: put[name] for name in batch}

    def _put_whole(self, batch: Any) -> Any:
        device = self._one_device
        if self.shardings and device is None:
            put = jax.device_put(batch, self.shardings)
        else:
            leaves, tree = jax.tree.flatten(batch)
            put = jax.tree.unflatten(tree, send(leaves, device))
        return {name: put[name] for name in batch}

    @cached_property
    def _one_device(self) -> jax.Device | None:
        """The device of all columns, if they are committed to one."""
        leaves = jax.tree.leaves(self.shardings)
        if not all(isinstance(s, jax.sharding.SingleDeviceSharding) for s in leaves):
            return None
        devices = {device for s in leaves for device in s.device_set}
        return devices.pop() if len(devices) == 1 else None


def _pairs(tree: Any, shardings: Any) -> list[tuple[Any, jax.sharding.Sharding]]:
    return list(zip(jax.tree.leaves(tree), jax.tree.leaves(shardings), strict=True))


def _indices(
    sharding: jax.sharding.Sharding, shape: tuple[int, ...]
) -> dict[jax.Device, tuple[slice, ...]]:
    found = sharding.addressable_devices_indices_map(shape)
    return {device: index for device, index in found.items() if index is not None}

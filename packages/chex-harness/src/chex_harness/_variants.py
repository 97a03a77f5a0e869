"""One test of a function in all the ways that people call it.

`chex.variants` does this for `unittest` classes only; here it is a fixture, so that
`parametrize` and other fixtures work beside it.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec

NAMES = ("eager", "jit", "vmap", "devices", "shard_map")


class Variant:
    """A way to call a function, as the `variant` fixture hands it over.

    Args:
      name: "eager", "jit", "vmap" (over copies of the arguments, which must give one
        result), "devices" (under `jit`, laid out over all devices) or "shard_map"
        (each device runs the function on its rows).
      devices: for the last two; by default all.

    Example:
      >>> import jax.numpy as jnp
      >>> for name in ("eager", "jit", "vmap", "devices", "shard_map"):
      ...     assert Variant(name)(jnp.square)(3.0) == 9.0
      >>> y = Variant("shard_map")(jnp.square, rows=0)(jnp.arange(8.0))
      >>> len(y.addressable_shards)
      8
    """

    def __init__(self, name: str, *, devices: list[jax.Device] | None = None) -> None:
        if name not in NAMES:
            raise ValueError(f"no variant {name!r}; there are {', '.join(NAMES)}")
        self.name = name
        self._devices = devices

    def __repr__(self) -> str:
        return f"Variant({self.name!r})"

    def __call__(
        self, fn: Callable[..., Any], *, rows: int | tuple[int, ...] = ()
    ) -> Callable[..., Any]:
        """Makes the function run in this way.

        Args:
          fn: takes pytrees of arrays as positional arguments.
          rows: the positions of arguments whose first axis is a batch, which "devices"
            and "shard_map" share out. With some, `fn` must treat rows one by one: all
            its outputs have the batch as their first axis. The batch must divide by
            the number of devices.

        Returns:
          A function with the same arguments and result. With devices it raises
          ValueError if a position of `rows` is none of an argument.
        """
        rows = (rows,) if isinstance(rows, int) else rows
        ways = {
            "eager": lambda: fn,
            "jit": lambda: jax.jit(fn),
            "vmap": lambda: _over_copies(fn),
            "devices": lambda: self._on_devices(fn, rows, mapped=False),
            "shard_map": lambda: self._on_devices(fn, rows, mapped=True),
        }
        return ways[self.name]()

    def _on_devices(
        self, fn: Callable[..., Any], rows: tuple[int, ...], *, mapped: bool
    ) -> Callable[..., Any]:
        devices = self._devices or jax.devices()
        auto = (AxisType.Auto,)
        mesh = jax.make_mesh((len(devices),), ("data",), auto, devices=devices)
        batch, whole = PartitionSpec("data"), PartitionSpec()

        @functools.wraps(fn)
        def call(*args: Any) -> Any:
            if wrong := [row for row in rows if not 0 <= row < len(args)]:
                raise ValueError(
                    f"rows has the position {wrong[0]}, and there are {len(args)} "
                    "arguments, from 0; correct rows="
                )
            specs = tuple(batch if i in rows else whole for i in range(len(args)))
            placed = [
                jax.device_put(x, NamedSharding(mesh, spec))
                for x, spec in zip(args, specs, strict=True)
            ]
            run = fn
            if mapped:
                run = jax.shard_map(
                    fn, mesh=mesh, in_specs=specs, out_specs=batch if rows else whole
                )
            return jax.jit(run)(*placed)

        return call


def _over_copies(fn: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(fn)
    def call(*args: Any) -> Any:
        twice = jax.tree.map(lambda x: jnp.stack([x, x]), args)
        out = jax.vmap(fn)(*twice)
        for path, leaf in jax.tree.leaves_with_path(out):
            both = leaf
            if jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
                both = jax.random.key_data(leaf)
            if not np.array_equal(both[0], both[1], equal_nan=both.dtype.kind in "fc"):
                raise AssertionError(
                    f"the result{jax.tree_util.keystr(path)} differs between two "
                    "copies of the same arguments under vmap"
                )
        return jax.tree.map(lambda x: x[0], out)

    return call

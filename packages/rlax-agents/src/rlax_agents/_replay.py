"""Replay: the last steps of experience, to be learned from in random order.

A replay is a frozen description and a state that is a pytree, so it lives inside the
compiled training loop, on the device. Donate the state
(`jax.jit(replay.add, donate_argnums=0)`), or carry it through `lax.scan`, and adding
writes in place.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from rlax_agents._checks import ArgumentError, check_count


class ReplayState(NamedTuple):
    """What a replay holds.

    Attributes:
      items: pytree of arrays [capacity, ...].
      position: int32, the row that is written next.
      size: int32, how many rows are filled.
    """

    items: Any
    position: jax.Array
    size: jax.Array


class Sample(NamedTuple):
    """A batch to learn from.

    Attributes:
      items: pytree of arrays [batch, ...]; of sequences, [time, batch, ...].
      indices: int32[batch], the rows they came from; of sequences, int32[batch, 2].
      weights: float32[batch] to multiply the losses with: 1 for uniform samples, and 0
        where nothing was there to be sampled.
    """

    items: Any
    indices: jax.Array
    weights: jax.Array


@dataclass(frozen=True)
class Replay:
    """A ring of the last `capacity` items, sampled uniformly with replacement.

    Attributes:
      capacity: how many items it holds; the oldest are overwritten.

    Raises:
      ArgumentError: if the capacity is no int of 1 or more.

    Example:
      >>> import jax, jax.numpy as jnp
      >>> replay = Replay(100)
      >>> state = replay.init({"observation": jnp.zeros(4), "a_tm1": jnp.int32(0)})
      >>> batch = {"observation": jnp.ones((8, 4)), "a_tm1": jnp.arange(8)}
      >>> state = replay.add(state, batch)
      >>> sample = replay.sample(state, jax.random.key(0), 32)
      >>> sample.items["observation"].shape, int(state.size)
      ((32, 4), 8)

    References:
      Lin, 1992, Self-Improving Reactive Agents Based On Reinforcement Learning,
      Planning and Teaching; Mnih et al., 2015, Human-level control through deep
      reinforcement learning.
    """

    capacity: int

    def __post_init__(self) -> None:
        check_count("Replay", "capacity", self.capacity)

    def init(
        self, example: Any, *, sharding: NamedSharding | None = None
    ) -> ReplayState:
        """Makes an empty replay.

        Args:
          example: one item, without a batch axis: pytree of arrays or of
            `jax.ShapeDtypeStruct`. Only shapes and dtypes matter.
          sharding: of the axis of rows over a mesh, as
            `NamedSharding(mesh, PartitionSpec("data"))`. Adding and sampling keep it,
            whether the mesh's axes are of type Auto or Explicit.

        Returns:
          The state, of zeros.

        Raises:
          ArgumentError: if the rows do not divide by the devices.
        """
        return init_ring("Replay.init", example, (self.capacity,), sharding)

    def add(self, state: ReplayState, batch: Any) -> ReplayState:
        """Writes a batch over the oldest rows.

        Args:
          state: the replay.
          batch: items with a leading axis, 1 to `capacity` of them.

        Returns:
          The replay after.

        Raises:
          ArgumentError: for another tree, shape or dtype than that of `init`, or more
            items than rows.
        """
        return add_to_ring("Replay.add", state, batch)

    def sample(self, state: ReplayState, key: jax.Array, batch_size: int) -> Sample:
        """Draws items, all alike, with replacement.

        Args:
          state: the replay.
          key: PRNG key.
          batch_size: how many, a Python int.

        Returns:
          The sample. Under `jit`, where an empty replay raises nothing, its items are
          zeros with weight 0.

        Raises:
          ArgumentError: if nothing was added yet, where that is known.
        """
        where = "Replay.sample"
        check_count(where, "batch_size", batch_size)
        check_filled(where, state, 1)
        some = jnp.maximum(state.size, 1)
        indices = jax.random.randint(key, (batch_size,), 0, some, jnp.int32)
        weights = jnp.where(state.size > 0, jnp.ones(batch_size, jnp.float32), 0.0)
        return Sample(take(state.items, indices), indices, weights)


def init_ring(
    where: str, example: Any, axes: tuple[int, ...], sharding: NamedSharding | None
) -> ReplayState:
    """An empty ring of rows [*axes, ...], the first of which is written in turn."""
    counter = None
    if sharding is not None:
        counter = NamedSharding(sharding.mesh, PartitionSpec())

    def zeros(path: Any, leaf: Any) -> jax.Array:
        dtype: Any = getattr(leaf, "dtype", np.float32)
        if jnp.issubdtype(dtype, jax.dtypes.prng_key):
            raise ArgumentError(
                f"{where}: {_name(path)} is a PRNG key; type jax.random.key_data(key)"
            )
        try:
            shape = (*axes, *np.shape(leaf))
            return jnp.zeros(shape, _dtype(leaf), device=sharding)
        except ValueError as error:
            raise ArgumentError(
                f"{where}: {_name(path)} has rows {axes}, which sharding "
                f"{sharding.spec if sharding else None} does not split evenly; "
                f"make the capacity a multiple of the devices"
            ) from error

    items = jax.tree.map_with_path(zeros, example)
    if not jax.tree.leaves(items):
        raise ArgumentError(f"{where}: example is {example!r}, wanted an array or more")
    position = jnp.zeros((), jnp.int32, device=counter)
    return ReplayState(items, position, jnp.zeros((), jnp.int32, device=counter))


def add_to_ring(where: str, state: ReplayState, batch: Any) -> ReplayState:
    """Writes along the first axis, where the position is."""
    n = check_batch(where, state.items, batch)
    capacity = jax.tree.leaves(state.items)[0].shape[0]
    if not 1 <= n <= capacity:
        raise ArgumentError(
            f"{where}: batch has {n} items, wanted 1 to the capacity, {capacity}; add "
            f"it in parts, or raise the capacity"
        )
    rows = (state.position + jnp.arange(n, dtype=jnp.int32)) % capacity

    def write(old: jax.Array, new: Any) -> jax.Array:
        kept = explicit_sharding(old)
        return old.at[rows].set(new, unique_indices=True, out_sharding=kept)

    items = jax.tree.map(write, state.items, batch)
    position = (state.position + n) % capacity
    return ReplayState(items, position, jnp.minimum(state.size + n, capacity))


def take(items: Any, indices: Any) -> Any:
    """Rows of every leaf; the indices are known to be in range."""

    def read(x: jax.Array) -> jax.Array:
        held = explicit_sharding(x)
        whole = NamedSharding(held.mesh, PartitionSpec()) if held else None
        return x.at[indices].get(mode="promise_in_bounds", out_sharding=whole)

    return jax.tree.map(read, items)


def explicit_sharding(x: jax.Array) -> NamedSharding | None:
    """The sharding in the type of an array, if its mesh has axes of type Explicit.

    There jax asks what becomes of a scatter or gather; elsewhere the compiler decides.
    """
    found = jax.typeof(x).sharding
    explicit = jax.sharding.AxisType.Explicit in found.mesh.axis_types
    return found if explicit else None


def check_filled(where: str, state: ReplayState, wanted: int) -> None:
    """Raises if it is known that fewer steps than wanted are held."""
    if isinstance(state.size, jax.core.Tracer):
        return
    if (size := int(state.size)) < wanted:
        raise ArgumentError(
            f"{where}: the replay holds {size} items, wanted {wanted} or more; "
            f"add some first"
        )


def check_batch(where: str, items: Any, batch: Any) -> int:
    """The length of the leading axis of a batch that fits the items of a replay."""
    found, wanted = jax.tree.structure(batch), jax.tree.structure(items)
    if found != wanted:
        raise ArgumentError(
            f"{where}: batch is the tree {found}, wanted {wanted} as given to init"
        )
    held = jax.tree.leaves(items)
    n = None
    for (path, new), old in zip(jax.tree.leaves_with_path(batch), held, strict=True):
        shape = np.shape(new)
        n = shape[:1] if n is None else n
        if shape[:1] != n or shape[1:] != old.shape[1:]:
            rest = ", ".join(map(str, (n[0] if n else "batch", *old.shape[1:])))
            raise ArgumentError(
                f"{where}: {_name(path)} has shape {shape}, wanted ({rest}): a leading "
                f"axis, one for all, and the shape given to init"
            )
        dtype = _dtype(new)
        if dtype != old.dtype:
            raise ArgumentError(
                f"{where}: {_name(path)} has dtype {dtype}, wanted {old.dtype} as "
                f"given to init; type .astype({str(old.dtype)!r})"
            )
    return n[0] if n else 0


def _dtype(leaf: Any) -> Any:
    """The dtype that jax gives a leaf."""
    leaf = leaf if hasattr(leaf, "dtype") else np.asarray(leaf)
    return jax.dtypes.canonicalize_dtype(leaf.dtype)


def _name(path: Any) -> str:
    return f"batch{jax.tree_util.keystr(path)}"

"""Prioritised replay: learn more often from what was more surprising."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from rlax_agents._checks import (
    ArgumentError,
    check_actions,
    check_count,
    check_float,
    check_range,
    check_shape,
)
from rlax_agents._replay import (
    ReplayState,
    Sample,
    add_to_ring,
    check_filled,
    init_ring,
    take,
)
from rlax_agents._sum_tree import find_in_tree, init_tree, write_tree

_GREATEST = 1e10  # so that sums of many stay finite


class PrioritisedState(NamedTuple):
    """What a prioritised replay holds.

    Attributes:
      ring: the items.
      tree: float32[2 n], sums of the priorities to the power alpha.
      greatest: float32, the highest priority so far, which new items have.
    """

    ring: ReplayState
    tree: jax.Array
    greatest: jax.Array

    @property
    def size(self) -> jax.Array:
        """int32, how many rows are filled."""
        return self.ring.size


@dataclass(frozen=True)
class PrioritisedReplay:
    """A ring of the last `capacity` items, sampled in proportion to priority^alpha.

    The priority of an item is the size of its last error plus epsilon; a new one has
    the highest so far. That items are drawn unevenly is made up for by the weights of
    the sample, in full with beta 1.

    Attributes:
      capacity: how many items it holds; the oldest are overwritten.
      alpha: in [0, 2], 0 is uniform.
      epsilon: 1e-15 or more, added to every priority, so that none is never drawn.

    Raises:
      ArgumentError: if an option is out of range.

    Example:
      >>> import jax, jax.numpy as jnp
      >>> replay = PrioritisedReplay(100)
      >>> state = replay.add(replay.init(jnp.float32(0)), jnp.arange(8.0))
      >>> sample = replay.sample(state, jax.random.key(0), 4, beta=0.4)
      >>> errors = jnp.abs(sample.items)
      >>> state = replay.update_priorities(state, sample.indices, errors)
      >>> sample.weights.tolist()
      [1.0, 1.0, 1.0, 1.0]

    References:
      Schaul et al., 2016, Prioritized Experience Replay, section 3.3 and appendix
      B.2.1, https://arxiv.org/abs/1511.05952.
    """

    capacity: int
    alpha: float = 0.6
    epsilon: float = 1e-6

    def __post_init__(self) -> None:
        check_count("PrioritisedReplay", "capacity", self.capacity)
        check_range("PrioritisedReplay", "alpha", self.alpha, 0.0, 2.0)
        # So that epsilon^alpha and the sum of the greatest are float32 numbers.
        check_range("PrioritisedReplay", "epsilon", self.epsilon, 1e-15)

    def init(
        self, example: Any, *, sharding: NamedSharding | None = None
    ) -> PrioritisedState:
        """Makes an empty replay.

        Args:
          example: one item, without a batch axis: pytree of arrays or of
            `jax.ShapeDtypeStruct`.
          sharding: of the axis of rows over a mesh; priorities are kept whole on every
            device.

        Returns:
          The state.

        Raises:
          ArgumentError: if the rows do not divide by the devices.
        """
        where = "PrioritisedReplay.init"
        ring = init_ring(where, example, (self.capacity,), sharding)
        rest = init_tree(self.capacity), jnp.ones((), jnp.float32)
        if sharding is not None:
            whole = NamedSharding(sharding.mesh, PartitionSpec())
            rest = jax.device_put(rest, whole)
        return PrioritisedState(ring, *rest)

    def add(self, state: PrioritisedState, batch: Any) -> PrioritisedState:
        """Writes a batch over the oldest rows, with the highest priority so far.

        Args:
          state: the replay.
          batch: items with a leading axis, 1 to `capacity` of them.

        Returns:
          The replay after.

        Raises:
          ArgumentError: for another tree, shape or dtype than that of `init`, or more
            items than rows.
        """
        ring = add_to_ring("PrioritisedReplay.add", state.ring, batch)
        n = jax.tree.leaves(batch)[0].shape[0]
        rows = (state.ring.position + jnp.arange(n, dtype=jnp.int32)) % self.capacity
        new = jnp.broadcast_to(state.greatest**self.alpha, (n,))
        return PrioritisedState(ring, write_tree(state.tree, rows, new), state.greatest)

    def sample(
        self, state: PrioritisedState, key: jax.Array, batch_size: int, *, beta: Any
    ) -> Sample:
        """Draws items by priority, one from each of `batch_size` equal shares of it.

        Args:
          state: the replay.
          key: PRNG key.
          batch_size: how many, a Python int.
          beta: scalar in [0, 1], how far the weights make up for the priorities. Raise
            it to 1 as training goes on.

        Returns:
          The sample. The weights are `(size * probability)^-beta` over their maximum in
          the batch. Under `jit`, where an empty replay raises nothing, they are 0.

        Raises:
          ArgumentError: if nothing was added yet, or beta is out of range.
        """
        where = "PrioritisedReplay.sample"
        check_count(where, "batch_size", batch_size)
        check_range(where, "beta", beta, 0.0, 1.0)
        check_filled(where, state.ring, 1)
        tree, size = state.tree, state.ring.size
        shares = jnp.arange(batch_size, dtype=jnp.float32)
        shares = shares + jax.random.uniform(key, (batch_size,), jnp.float32)
        indices = find_in_tree(tree, shares * (tree[1] / batch_size))
        # In a tree of zeros all targets end in a corner: keep to rows there are.
        indices = jnp.minimum(indices, self.capacity - 1)
        n = tree.shape[0] // 2
        share = tree[n + indices] * size.astype(jnp.float32) / tree[1]
        weights = jnp.where(size > 0, share, 1.0) ** -jnp.asarray(beta, jnp.float32)
        weights = jnp.where(size > 0, weights / weights.max(), 0.0)
        return Sample(take(state.ring.items, indices), indices, weights)

    def update_priorities(
        self, state: PrioritisedState, indices: Any, priorities: Any
    ) -> PrioritisedState:
        """Sets the priorities of items that were sampled.

        Args:
          state: the replay.
          indices: int32[batch], those of the sample. Of equal ones, one wins.
          priorities: float[batch], 0 or more: the sizes of the errors. They are cut at
            1e10. Under `jit`, where values are not known, negative ones become 0 and
            NaN becomes the highest priority so far.

        Returns:
          The replay after.

        Raises:
          ArgumentError: for a wrong shape or dtype, or for priorities known to be
            negative or not finite.
        """
        where = "PrioritisedReplay.update_priorities"
        priorities = check_float(where, "priorities", priorities)
        if priorities.ndim != 1:
            raise ArgumentError(
                f"{where}: priorities has shape {priorities.shape}, wanted (batch,)"
            )
        shape = priorities.shape
        if not shape[0]:
            return state
        check_shape(where, "indices", indices, shape, like="priorities")
        indices = check_actions(
            where, "indices", indices, shape, n=self.capacity, like="priorities"
        )
        check_range(
            where, "priorities", priorities, 0.0, float(np.finfo(np.float32).max)
        )
        given = jnp.clip(priorities.astype(jnp.float32), 0.0, _GREATEST)
        given = jnp.where(jnp.isnan(given), state.greatest, given)
        greatest = jnp.maximum(state.greatest, given.max())
        values = (given + self.epsilon) ** self.alpha
        indices = jnp.clip(indices, 0, self.capacity - 1).astype(jnp.int32)
        # An index of a row that was never filled must not become drawable.
        filled = indices < state.ring.size
        values = jnp.where(filled, values, 0.0)
        return PrioritisedState(
            state.ring, write_tree(state.tree, indices, values), greatest
        )

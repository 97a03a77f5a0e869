"""Intrinsic rewards from an episodic memory: what was not seen in this episode is new.

Never Give Up rewards a state by how far its embedding is from its nearest neighbours
among those of the same episode. The memory is a ring of fixed size, one for each
environment of a batch; rewards and memory are computed inside `jit` and `scan`.
"""

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from rlax_agents._checks import (
    ArgumentError,
    check_count,
    check_float,
    check_mask,
    check_range,
    check_shape,
)

# Squares of distances beyond it count as it, so that their mean stays a number.
_FAR = 1e30


class MemoryState(NamedTuple):
    """What the environments of a batch have seen.

    Attributes:
      embeddings: float32[batch, capacity, dimensions], rings of the latest.
      count: int32[batch], how many were seen in this episode.
      distance: float32[batch], running mean of squared distances to neighbours, over
        all episodes.
      distances: float32[batch], how many are in it.
    """

    embeddings: jax.Array
    count: jax.Array
    distance: jax.Array
    distances: jax.Array


@dataclasses.dataclass(frozen=True)
class EpisodicMemory:
    """The episodic reward of Never Give Up, for a batch of environments.

    Against rlax's: a memory that is not filled holds nothing, where that holds the
    origin; an episode's first state has reward 0, for there is nothing to compare it
    with; and a memory empties itself where an episode begins. Rewards of finite
    embeddings are finite, however many were seen, and however alike or far they are.

    Attributes:
      capacity: embeddings kept of each environment; later ones replace the oldest.
      neighbours: how many of the nearest count.
      epsilon: of the kernel `epsilon / (d + epsilon)`.
      cluster_distance: normalised distances below it are none.
      constant: least similarity; rewards are at most 1 / constant.
      max_similarity: more of it has no reward.

    Raises:
      ArgumentError: for a count or constant out of range.

    Example:
      >>> import jax.numpy as jnp
      >>> memory = EpisodicMemory(capacity=100, neighbours=2)
      >>> state, seen = memory.init(batch=1, dimensions=2), []
      >>> for place in ([0.0, 0.0], [0.0, 1.0], [0.0, 1.0], [5.0, 5.0]):
      ...     reward, state = memory.step(state, jnp.array([place]))
      ...     seen.append(round(float(reward[0]), 1))
      >>> seen[0], seen[2] < seen[3]
      (0.0, True)

    References:
      Puigdomenech Badia et al., 2020, [Never Give
      Up](https://arxiv.org/abs/2002.06038), algorithm 1.
    """

    capacity: int = 30_000
    neighbours: int = 10
    epsilon: float = 1e-3
    cluster_distance: float = 8e-3
    constant: float = 1e-3
    max_similarity: float = 8.0

    def __post_init__(self) -> None:
        where = "EpisodicMemory"
        check_count(where, "capacity", self.capacity)
        check_count(where, "neighbours", self.neighbours)
        if self.neighbours > self.capacity:
            raise ArgumentError(
                f"{where}: neighbours is {self.neighbours}, wanted at most "
                f"capacity={self.capacity}; type neighbours={self.capacity}"
            )
        for name in ("epsilon", "constant", "max_similarity"):
            check_range(where, name, getattr(self, name), 1e-12)
        check_range(where, "cluster_distance", self.cluster_distance, 0.0)

    def init(self, *, batch: int, dimensions: int) -> MemoryState:
        """Memories of a batch of environments that have seen nothing.

        Args:
          batch: how many environments.
          dimensions: of an embedding.

        Returns:
          The state.

        Raises:
          ArgumentError: if either is below 1.
        """
        batch = check_count("EpisodicMemory.init", "batch", batch)
        dimensions = check_count("EpisodicMemory.init", "dimensions", dimensions)
        zero = jnp.zeros(batch, jnp.float32)
        embeddings = jnp.zeros((batch, self.capacity, dimensions), jnp.float32)
        return MemoryState(embeddings, zero.astype(jnp.int32), zero, zero)

    def step(
        self, state: MemoryState, embedding: Any, *, first: Any = None, mask: Any = None
    ) -> tuple[jax.Array, MemoryState]:
        """Rewards what is new, and remembers it.

        Args:
          state: the memories.
          embedding: float[batch, dimensions], of the states arrived at.
          first: bool[batch]: an episode begins here, with an empty memory.
          mask: bool[batch]: False where a step is not to matter: reward 0, and the
            memory stays as it is.

        Returns:
          float32[batch], rewards from 0 to 1 / constant, without a gradient; and the
          new state.

        Raises:
          ArgumentError: for a wrong shape or dtype.
        """
        where = "EpisodicMemory.step"
        x = lax.stop_gradient(check_float(where, "embedding", embedding))
        batch, _, dimensions = state.embeddings.shape
        like = "the memory"
        check_shape(where, "embedding", x, (batch, dimensions), like=like)
        first = check_mask(where, "first", first, (batch,), like=like)
        mask = check_mask(where, "mask", mask, (batch,), like=like)
        fresh = state
        if first is not None:
            fresh = state._replace(count=jnp.where(first, 0, state.count))
        reward, new = jax.vmap(self._step)(fresh, x.astype(jnp.float32))
        if mask is None:
            return reward, new

        def keep(now: jax.Array, before: jax.Array) -> jax.Array:
            counts = mask.reshape(mask.shape + (1,) * (now.ndim - 1))
            return jnp.where(counts, now, before)

        return jnp.where(mask, reward, 0), jax.tree.map(keep, new, state)

    def _step(self, state: MemoryState, x: jax.Array) -> tuple[jax.Array, MemoryState]:
        known = jnp.arange(self.capacity, dtype=jnp.int32) < state.count
        apart = jnp.minimum(((state.embeddings - x[None]) ** 2).sum(-1), _FAR)
        nearest, _ = lax.top_k(jnp.where(known, -apart, -jnp.inf), self.neighbours)
        there = nearest > -jnp.inf
        d = jnp.where(there, -nearest, 0)
        found = there.sum(dtype=jnp.float32)
        distances = state.distances + found
        mean = state.distance + (d - state.distance).sum(where=there) / jnp.maximum(
            distances, 1
        )
        d = d / jnp.where(mean > 0, mean, 1)
        kernel = self.epsilon / (
            jnp.maximum(d - self.cluster_distance, 0) + self.epsilon
        )
        similarity = jnp.sqrt(kernel.sum(where=there)) + self.constant
        new = (state.count > 0) & (similarity <= self.max_similarity)
        reward = jnp.where(new, 1 / similarity, 0)
        place = state.count % self.capacity
        embeddings = state.embeddings.at[place].set(x)
        return reward, MemoryState(embeddings, state.count + 1, mean, distances)

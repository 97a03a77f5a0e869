"""Replay of sequences: windows of time, for n-step returns and recurrent networks."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding

from rlax_agents._checks import ArgumentError, check_count
from rlax_agents._replay import (
    ReplayState,
    Sample,
    add_to_ring,
    check_filled,
    init_ring,
    take,
)


@dataclass(frozen=True)
class SequenceReplay:
    """The last `capacity` steps of `rows` environments, sampled as windows of them.

    Each step is held once, however many windows it is in: n-step returns and recurrent
    networks read them as they lie. A window is `length` steps of one environment that
    follow each other; it never crosses the place where the newest steps are written
    over the oldest. It may hold the end of one episode and the start of the next, so
    store the discount and whether the step was truncated with each.

    Attributes:
      capacity: steps held of each environment, a multiple of the period.
      rows: how many environments.
      length: steps of a window, at most the capacity.
      period: windows start at multiples of this many steps; 1 starts anywhere.

    Raises:
      ArgumentError: if an option is out of range.

    Example:
      >>> import jax, jax.numpy as jnp
      >>> replay = SequenceReplay(100, rows=2, length=5)
      >>> state = replay.init({"r_t": jnp.float32(0)})
      >>> state = replay.add(state, {"r_t": jnp.ones((20, 2))})
      >>> sample = replay.sample(state, jax.random.key(0), 32)
      >>> sample.items["r_t"].shape
      (5, 32)

    References:
      Kapturowski et al., 2019, Recurrent Experience Replay in Distributed Reinforcement
      Learning, section 2.3.
    """

    capacity: int
    rows: int
    length: int
    period: int = 1

    def __post_init__(self) -> None:
        for name in ("capacity", "rows", "length", "period"):
            check_count("SequenceReplay", name, getattr(self, name))
        if self.length > self.capacity or self.capacity % self.period:
            raise ArgumentError(
                f"SequenceReplay: capacity is {self.capacity}, wanted the length "
                f"{self.length} or more, and a multiple of the period {self.period}"
            )

    def init(
        self, example: Any, *, sharding: NamedSharding | None = None
    ) -> ReplayState:
        """Makes an empty replay.

        Args:
          example: one step of one environment: pytree of arrays or of
            `jax.ShapeDtypeStruct`.
          sharding: of the axes [capacity, rows] over a mesh. Shard the rows, as
            `NamedSharding(mesh, PartitionSpec(None, "data"))`: then each device writes
            its own environments.

        Returns:
          The state, of zeros; its items are arrays [capacity, rows, ...].

        Raises:
          ArgumentError: if the axes do not divide by the devices.
        """
        axes = (self.capacity, self.rows)
        return init_ring("SequenceReplay.init", example, axes, sharding)

    def add(self, state: ReplayState, batch: Any) -> ReplayState:
        """Writes some steps of all environments over the oldest ones.

        Args:
          state: the replay.
          batch: steps, time-major [time, rows, ...], 1 to `capacity` of them.

        Returns:
          The replay after.

        Raises:
          ArgumentError: for another tree, shape or dtype than that of `init`, or more
            steps than it holds.
        """
        return add_to_ring("SequenceReplay.add", state, batch)

    def sample(self, state: ReplayState, key: jax.Array, batch_size: int) -> Sample:
        """Draws windows, all alike, with replacement.

        Args:
          state: the replay.
          key: PRNG key.
          batch_size: how many, a Python int.

        Returns:
          The sample: items [length, batch, ...]; indices int32[batch, 2], where each
          window starts: the place in time, and the row. Under `jit`, where it raises
          nothing that no whole window is held, the weights are 0.

        Raises:
          ArgumentError: if no window is held yet, where that is known.
        """
        where = "SequenceReplay.sample"
        check_count(where, "batch_size", batch_size)
        count = self.count_windows(state)
        if not isinstance(count, jax.core.Tracer) and not int(count):
            check_filled(where, state, self.length + self.period - 1)
        starts, rows = jax.random.split(key)
        nth = jax.random.randint(
            starts, (batch_size,), 0, jnp.maximum(count, 1), jnp.int32
        )
        # Of the state: in `shard_map` each device has some of the rows.
        here = jax.tree.leaves(state.items)[0].shape[1]
        rows = jax.random.randint(rows, (batch_size,), 0, here, jnp.int32)
        start = (self._first_start(state) + nth * self.period) % self.capacity
        time = jnp.arange(self.length, dtype=jnp.int32)[:, None] + start[None]
        items = take(state.items, (time % self.capacity, rows[None]))
        weights = jnp.where(count > 0, jnp.ones(batch_size, jnp.float32), 0.0)
        return Sample(items, jnp.stack([start, rows], 1), weights)

    def count_windows(self, state: ReplayState) -> jax.Array:
        """How many windows of one environment are held, int32."""
        skipped = (self._first_start(state) - self._oldest(state)) % self.capacity
        spare = state.size - self.length - skipped
        return jnp.maximum(spare // self.period + 1, 0)

    def _oldest(self, state: ReplayState) -> jax.Array:
        return (state.position - state.size) % self.capacity

    def _first_start(self, state: ReplayState) -> jax.Array:
        # Places keep their number modulo the period, which divides the capacity.
        oldest = self._oldest(state)
        return (oldest + (-oldest) % self.period) % self.capacity

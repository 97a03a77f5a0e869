"""Optimism where little was seen: a bonus that falls with the number of visits."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from rlax_agents._checks import (
    ArgumentError,
    check_actions,
    check_count,
    check_float,
    check_mask,
    check_range,
)


class Counts(NamedTuple):
    """How often each state was seen.

    Attributes:
      n: int32[size].
    """

    n: jax.Array


@dataclass(frozen=True)
class CountBonus:
    """A bonus of `beta / sqrt(n)`, where n counts the visits of a state, this one too.

    Add it to the reward. States are numbers below `size`: their own where there are
    few, else those of `simhash`.

    Attributes:
      size: of the table.
      beta: of the first visit, 0 or more.

    Raises:
      ArgumentError: if an option is out of range.

    Example:
      >>> import jax.numpy as jnp
      >>> counter = CountBonus(10, beta=1.0)
      >>> counts = counter.init()
      >>> counts, bonus = counter.update(counts, jnp.array([3, 3, 3, 3, 7]))
      >>> bonus.tolist()
      [0.5, 0.5, 0.5, 0.5, 1.0]

    References:
      Strehl and Littman, 2008, An analysis of model-based Interval Estimation for
      Markov Decision Processes; Tang et al., 2017, #Exploration, equation 1,
      https://arxiv.org/abs/1611.04717.
    """

    size: int
    beta: float = 0.01

    def __post_init__(self) -> None:
        check_count("CountBonus", "size", self.size)
        check_range("CountBonus", "beta", self.beta, 0.0)

    def init(self) -> Counts:
        """Counts of 0."""
        return Counts(jnp.zeros(self.size, jnp.int32))

    def update(
        self, counts: Counts, s_t: Any, *, mask_t: Any = None
    ) -> tuple[Counts, jax.Array]:
        """Counts a batch of states, then says what each is worth.

        Args:
          counts: before.
          s_t: int[...], numbers of states. Under `jit`, where they are not known, those
            out of range are clipped.
          mask_t: bool like s_t, or None: False where a state does not count; its bonus
            is 0.

        Returns:
          The counts after, and the bonus, float32 like s_t. Equal states of a batch are
          all counted, and have the same bonus.

        Raises:
          ArgumentError: for a wrong shape, dtype or range.
        """
        where = "CountBonus.update"
        shape = jnp.shape(s_t)
        mask = check_mask(where, "mask_t", mask_t, shape, like="s_t")
        s_t = check_actions(
            where, "s_t", s_t, shape, n=self.size, like="itself", mask=mask
        )
        counted = jnp.ones(shape, bool) if mask is None else mask
        s_t = jnp.clip(s_t, 0, self.size - 1)
        n = counts.n.at[s_t].add(counted.astype(jnp.int32))
        seen = jnp.maximum(n[s_t], 1).astype(jnp.float32)
        bonus = jnp.where(counted, self.beta / jnp.sqrt(seen), 0.0)
        return Counts(n), bonus


def simhash(observation: Any, *, bits: int, ndim: int = 1, seed: int = 0) -> jax.Array:
    """Numbers observations by the signs of random projections: like ones share one.

    Args:
      observation: float[..., features], or with `ndim` axes of features.
      bits: how many projections, 1 to 30; the numbers are below 2^bits. Few bits lump
        more together.
      ndim: how many of the last axes are one observation.
      seed: of the projections.

    Returns:
      int32[...].

    Raises:
      ArgumentError: for a wrong rank or dtype, or an option out of range.

    Example:
      >>> import jax.numpy as jnp
      >>> boards = jnp.eye(9).reshape(9, 3, 3)
      >>> len(set(simhash(boards, bits=16, ndim=2).tolist()))
      9

    References:
      Charikar, 2002, Similarity Estimation Techniques from Rounding Algorithms; Tang et
      al., 2017, #Exploration, section 2.2, https://arxiv.org/abs/1611.04717.
    """
    where = "simhash"
    observation = check_float(where, "observation", observation)
    bits, ndim = check_count(where, "bits", bits), check_count(where, "ndim", ndim)
    check_range(where, "bits", bits, 1, 30)
    if observation.ndim < ndim:
        raise ArgumentError(
            f"{where}: observation has shape {observation.shape}, wanted {ndim} axes "
            f"or more; type ndim={observation.ndim or 1}"
        )
    batch = observation.shape[: observation.ndim - ndim]
    flat = observation.reshape(*batch, -1).astype(jnp.float32)
    directions = jax.random.normal(
        jax.random.key(seed), (flat.shape[-1], bits), jnp.float32
    )
    set_bits = flat @ directions > 0
    powers = 2 ** jnp.arange(bits, dtype=jnp.int32)
    return jnp.where(set_bits, powers, 0).sum(-1, dtype=jnp.int32)

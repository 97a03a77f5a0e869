"""A shuffle that is a formula.

A keyed permutation of 0 to n - 1 gives the row at any position of a shuffled epoch
directly: no buffer, no list of n numbers, nothing to save but the seed. It is a
Feistel network over pairs (a, b) with about sqrt(n) values each: every round adds to
one half a keyed hash of the other, which can be undone and is therefore one to one.
The few pairs beyond n are sent round again until they land inside ("cycle walking").

References:
  John Black and Phillip Rogaway, "Ciphers with Arbitrary Finite Domains", 2002.
  Guy L. Steele, Doug Lea and Christine H. Flood, "Fast Splittable Pseudorandom Number
  Generators", 2014 (the mixing function).
"""

import math

import numpy as np

_ROUNDS = 6
_GOLDEN = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1


def mix(x: np.ndarray) -> np.ndarray:
    """Mixes 64 bits so that each bit of the result depends on all.

    Args:
      x: uint64[...].

    Returns:
      uint64[...]; different inputs give different results.
    """
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def round_keys(seed: int, epoch: int | np.ndarray) -> np.ndarray:
    """Makes the keys of the rounds.

    Args:
      seed: any integer.
      epoch: of the run, each of which has its own order; or int64[k] of them.

    Returns:
      uint64[rounds, 1], or uint64[rounds, k].
    """
    state = mix(np.array([int(seed) & _MASK], np.uint64) + np.uint64(_GOLDEN))
    epochs = np.atleast_1d(np.asarray(epoch)).astype(np.uint64)
    state = mix(state ^ mix(epochs * np.uint64(2) + np.uint64(1)))
    steps = np.arange(1, _ROUNDS + 1, dtype=np.uint64) * np.uint64(_GOLDEN)
    return mix(state[None] + steps[:, None])


def permute(
    positions: np.ndarray, *, n: int, seed: int, epoch: int | np.ndarray = 0
) -> np.ndarray:
    """Finds the rows at some positions of a shuffled epoch.

    Args:
      positions: int64[k], each in [0, n).
      n: how many rows there are.
      seed: any integer.
      epoch: any integer, or int64[k] where each position has its own.

    Returns:
      int64[k], each in [0, n); over all positions, every row once.

    Example:
      >>> permute(np.arange(5), n=5, seed=0).tolist() != [0, 1, 2, 3, 4]
      True
    """
    keys = round_keys(seed, epoch)
    n_low = max(math.isqrt(max(n - 1, 0)) + 1, 2)
    n_high = max(-(-n // n_low), 2)
    rows = _network(positions.astype(np.uint64), keys, n_low, n_high)
    while (outside := np.flatnonzero(rows >= n)).size:
        own = keys if keys.shape[1] == 1 else keys[:, outside]
        rows[outside] = _network(rows[outside], own, n_low, n_high)
    return rows.astype(np.int64)


def _network(x: np.ndarray, keys: np.ndarray, n_low: int, n_high: int) -> np.ndarray:
    low, high = x % np.uint64(n_low), x // np.uint64(n_low)
    for number, key in enumerate(keys):
        if number % 2:
            high = _add(high, mix(low ^ key), n_high)
        else:
            low = _add(low, mix(high ^ key), n_low)
    return high * np.uint64(n_low) + low


def _add(half: np.ndarray, hashed: np.ndarray, size: int) -> np.ndarray:
    # The top 32 bits scaled to [0, size): cheaper than a remainder, and as even.
    moved = half + (((hashed >> np.uint64(32)) * np.uint64(size)) >> np.uint64(32))
    return np.where(moved >= size, moved - np.uint64(size), moved)

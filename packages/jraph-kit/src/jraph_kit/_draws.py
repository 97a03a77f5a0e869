"""Some of each node's edges at random, for many nodes at once."""

import numpy as np

from jraph_kit._checks import starts_of


def draw_uniform(
    rng: np.random.Generator, degrees: np.ndarray, fanout: int
) -> tuple[np.ndarray, np.ndarray]:
    """Draws up to `fanout` different places below each degree, all sets alike likely.

    Floyd's algorithm, a round for each place drawn, over all rows at once: the j-th
    round draws from [0, d - k + j] and takes d - k + j itself if that is taken already.

    Args:
      rng: where randomness comes from.
      degrees: integers [n].
      fanout: how many to draw; all where there are no more.

    Returns:
      Rows [m], ascending, and places [m] within each.

    References:
      Bentley and Floyd, A sample of brilliance, 1987,
      https://doi.org/10.1145/30401.315746
    """
    few = np.minimum(degrees, fanout)
    rows = np.repeat(np.arange(len(degrees)), few)
    places = np.arange(len(rows)) - np.repeat(starts_of(few)[:-1], few)
    many = np.flatnonzero(degrees > fanout)
    if len(many):
        drawn = np.full((len(many), fanout), -1, np.int64)
        for j in range(fanout):
            last = degrees[many] - fanout + j
            place = rng.integers(0, last + 1)
            taken = (drawn[:, :j] == place[:, None]).any(axis=1)
            drawn[:, j] = np.where(taken, last, place)
        places[np.repeat(degrees > fanout, few)] = np.sort(drawn, axis=1).reshape(-1)
    return rows, places


def draw_weighted(
    rng: np.random.Generator, degrees: np.ndarray, fanout: int, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Draws up to `fanout` different places below each degree, by weight.

    One after the other, each in proportion to its weight among those left: the places
    with the smallest exponential times of rate w.

    Args:
      rng: where randomness comes from.
      degrees: integers [n].
      fanout: how many to draw; all where there are no more.
      weights: positive [sum of degrees], those of each row one after the other.

    Returns:
      Rows [m], ascending, and places [m] within each.

    References:
      Efraimidis and Spirakis, Weighted random sampling with a reservoir, 2006,
      https://doi.org/10.1016/j.ipl.2005.11.003
    """
    rows = np.repeat(np.arange(len(degrees)), degrees)
    times = rng.standard_exponential(len(rows)) / weights
    order = np.lexsort((times, rows))
    starts = np.repeat(starts_of(degrees)[:-1], degrees)
    rank = np.arange(len(rows)) - starts  # of order, within its row
    kept = np.sort(order[rank < fanout])
    return rows[kept], kept - starts[kept]

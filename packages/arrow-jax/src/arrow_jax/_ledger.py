"""Where the time of a run goes, and what of its bytes is copied."""

import time
from typing import Any, NamedTuple

import jax
import numpy as np


class Stats(NamedTuple):
    """What a run has done so far; from `iterator.stats()`.

    Attributes:
      batches: how many were made, those ahead included.
      seconds: where the time went. "wait" is that of the reader; the others are those
        of the thread that makes batches: "read" files, "decode" images and sounds,
        "assemble" arrays, "transfer" them to the devices. While "wait" is small, data
        are no bottleneck.
      viewed: column -> bytes that were handed on where Arrow has them.
      copied: column -> bytes that were gathered, cast, padded or decoded.

    Example:
      >>> from arrow_jax import Dataset, Loader
      >>> with iter(Loader(Dataset.from_dict({"x": [1, 2]}), 2)) as run:
      ...     _ = next(run)
      ...     run.stats().batches
      1
    """

    batches: int
    seconds: dict[str, float]
    viewed: dict[str, int]
    copied: dict[str, int]


class _Timer:
    """Adds the time of a block; a tenth of what a generator as context costs."""

    __slots__ = ("_seconds", "_start", "_what")

    def __init__(self, seconds: dict[str, float], what: str) -> None:
        self._seconds, self._what = seconds, what

    def __enter__(self) -> None:
        self._start = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self._seconds[self._what] += time.perf_counter() - self._start


class Ledger:
    """Counts for one run; one thread writes, any may read."""

    def __init__(self) -> None:
        self._batches = 0
        self._seconds = dict.fromkeys(
            ("wait", "read", "decode", "assemble", "transfer"), 0.0
        )
        self._viewed: dict[str, int] = {}
        self._copied: dict[str, int] = {}

    def time(self, what: str) -> "_Timer":
        """Times a block.

        Args:
          what: a key of `Stats.seconds`.

        Returns:
          A context.
        """
        return _Timer(self._seconds, what)

    def column(self, name: str, tree: Any) -> None:
        """Counts the bytes of a column.

        Args:
          name: the column's.
          tree: its NumPy arrays. Views of Arrow memory can't be written to; what we
            have made can.
        """
        for leaf in [tree] if isinstance(tree, np.ndarray) else jax.tree.leaves(tree):
            of = self._copied if leaf.flags.writeable else self._viewed
            of[name] = of.get(name, 0) + leaf.nbytes

    def batch(self) -> None:
        """Counts a batch."""
        self._batches += 1

    @property
    def waited(self) -> float:
        """Seconds that the reader has waited."""
        return self._seconds["wait"]

    def stats(self) -> Stats:
        """What has been counted so far."""
        return Stats(
            self._batches, dict(self._seconds), dict(self._viewed), dict(self._copied)
        )

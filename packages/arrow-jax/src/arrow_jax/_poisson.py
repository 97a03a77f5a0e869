"""Poisson sampling: each row is in each batch with the same probability."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from arrow_jax._errors import ArrowJaxError
from arrow_jax._permutation import mix, round_keys
from arrow_jax._rows import is_whole
from arrow_jax._step import Draft, Position, Step, in_epochs

_LEAST = 1e-12  # an epoch of more batches than that has no end in sight
_BILLION = math.log(1e9)
_BLOCK = 1 << 20  # rows decided at once, which bounds memory


@dataclass(frozen=True)
class Poisson:
    """Draws every batch anew, each row by itself with probability `rate`.

    Differentially private training needs it: what is known about the loss of privacy
    (amplification by sampling) holds for such batches and not for shuffled ones. The
    size of a batch is random, so it is padded to the loader's `batch_size` and has the
    key "valid"; a row may come twice in an epoch, or not at all. An epoch is 1 / rate
    batches. A step looks at all rows, some 20 ns each.

    The draws are a hash of seed, step and row: the same on every host and after
    resuming. They are not cryptographically strong.

    Args:
      rate: the probability, in (0, 1].
      capacity: the same as the loader's `batch_size`, if it is to be checked.

    Raises:
      ArrowJaxError: if the rate is no probability.

    References:
      Martin Abadi et al., "Deep Learning with Differential Privacy", 2016.

    Example:
      >>> from arrow_jax import Dataset, Loader, Poisson
      >>> ds = Dataset.from_dict({"x": list(range(100))})
      >>> loader = Loader(ds, 32, sampling=Poisson(rate=0.1))
      >>> len(loader), [int(batch["valid"].sum()) for batch in loader][:4]
      (10, [12, 10, 11, 4])
    """

    rate: float
    capacity: int | None = None

    def __post_init__(self) -> None:
        number = isinstance(self.rate, int | float | np.number)
        if not number or not _LEAST <= self.rate <= 1:
            raise ArrowJaxError(f"Poisson(rate={self.rate!r}): wanted one in (0, 1]")
        if self.capacity is not None and not is_whole(self.capacity, 1):
            raise ArrowJaxError(
                f"Poisson(capacity={self.capacity!r}): wanted at least 1, or None"
            )
        object.__setattr__(self, "rate", float(self.rate))


@dataclass(frozen=True)
class PoissonOrder:
    """Every batch is drawn by itself.

    Attributes:
      n: rows of the dataset.
      epochs: how many times 1 / rate batches, or None for ever.
      rate: of a row in a batch.
      seed: of the draws.
    """

    n: int
    epochs: int | None
    rate: float
    seed: int

    @property
    def _steps(self) -> int:
        return max(round(1 / self.rate), 1)

    def count(self, batch_size: int) -> int | None:
        """Counts the batches of the run; None if it never ends."""
        del batch_size
        return None if self.epochs is None else self.epochs * self._steps

    def drawn(self, at: Position) -> np.ndarray:
        """Draws the rows of a batch.

        Args:
          at: its position; `row` is its number in the epoch.

        Returns:
          int64[k], ascending.
        """
        key = round_keys(self.seed, at.epoch)[0] ^ mix(np.array([at.row], np.uint64))
        limit = np.uint64(min(int(self.rate * 2**64), 2**64 - 1))
        found = []
        for first in range(0, self.n, _BLOCK):
            rows = np.arange(first, min(first + _BLOCK, self.n), dtype=np.uint64)
            hashed = mix(mix(rows ^ key) + key)
            found.append(np.flatnonzero(hashed <= limit) + first)
        return np.concatenate(found)

    def step(self, at: Position, batch_size: int) -> Step | None:
        """Finds the batch at a position; None at the end of the run."""
        if at.epoch == self.epochs:
            return None
        rows = self.drawn(at)
        if len(rows) > batch_size:
            mean = self.rate * self.n
            # Bernstein's bound on how far a sum of tosses goes beyond its mean.
            spare = _BILLION / 3 + math.sqrt(_BILLION**2 / 9 + 2 * _BILLION * mean)
            raise ArrowJaxError(
                f"batch {at.row} of epoch {at.epoch} drew {len(rows)} rows at rate "
                f"{self.rate}, batch_size={batch_size} holds fewer. Dropping rows "
                "would break the privacy of sampling: use a greater batch_size; "
                f"{math.ceil(min(mean + spare, self.n))} is enough for all but one "
                "batch in a thousand million"
            )
        padded = np.zeros(batch_size, np.int64)
        padded[: len(rows)] = rows
        last = at.row + 1 == self._steps
        after = Position(at.epoch + 1) if last else Position(at.epoch, at.row + 1)
        return Step(Draft(padded, len(rows), batch_size), after)

    def moved(self, at: Position, old: int, new: int) -> Position:
        """Finds the same position for another batch size."""
        del old, new
        return at

    def describe(self) -> dict[str, Any]:
        """Says in JSON what the order depends on, batch size apart."""
        return {"poisson": self.rate, "seed": self.seed}

    def holds(self, at: Position) -> bool:
        """Whether there is such a position."""
        whole = not at.offset and not at.pending
        return 0 <= at.row < self._steps and in_epochs(at, self.epochs) and whole

"""Rows of several datasets, interleaved by weight."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from arrow_jax._chunks import Index
from arrow_jax._concatenate import concatenate
from arrow_jax._dataset import Dataset
from arrow_jax._errors import ArrowJaxError
from arrow_jax._permutation import permute
from arrow_jax._rows import check_seed, is_whole

_BLOCK = 1 << 12  # places that are dealt out at once; weights are exact in each block


@dataclass(frozen=True, eq=False)
class Mix:
    """Several datasets to be read at once; made by `mix`, read by a `Loader`.

    Attributes:
      ds: all rows, those of the first dataset first.
      starts: where each dataset begins there, and the end of the last.
      weights: the part of each, in 1/4096.
      n: rows of an epoch.
      seed: of the interleaving.

    Example:
      >>> from arrow_jax import Dataset, mix
      >>> a, b = Dataset.from_dict({"x": [1, 2]}), Dataset.from_dict({"x": [3]})
      >>> mix([a, b], [1, 1])
      Mix of 2 rows x 0.5, 1 rows x 0.5
    """

    ds: Dataset
    starts: tuple[int, ...]
    weights: tuple[int, ...]
    n: int
    seed: int

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        parts = ", ".join(
            f"{b - a} rows x {w / _BLOCK:.4g}"
            for a, b, w in zip(self.starts, self.starts[1:], self.weights, strict=False)
        )
        return f"Mix of {parts}"


def mix(
    datasets: Sequence[Dataset],
    weights: Sequence[float],
    *,
    seed: int = 0,
    rows: int | None = None,
) -> Mix:
    """Interleaves the rows of datasets, for a `Loader`.

    In every 4,096 rows each dataset has its part exactly, in random order. Each dataset
    is gone through again and again, in its own order, or with the loader's
    `shuffle=True` in another one each time, a small one with a great weight often.
    Which row is where is arithmetic, so a run resumes exactly, at no cost.

    Args:
      datasets: with the same columns and the same format.
      weights: the part of each, at least zero; they are divided by their sum and
        rounded to 1/4096.
      seed: of the interleaving.
      rows: of an epoch; by default as many as the datasets have together.

    Returns:
      The mix.

    Raises:
      ArrowJaxError: if weights and datasets don't match, or a part rounds to nothing.
      ShapeError: if the columns of two datasets differ.

    Example:
      >>> from arrow_jax import Dataset, Loader, mix
      >>> a = Dataset.from_dict({"x": [1, 2]})
      >>> b = Dataset.from_dict({"x": [10, 20]})
      >>> mixed = mix([a, b], [3, 1], rows=4096)
      >>> rows = next(iter(Loader(mixed, 4096)))["x"]
      >>> int((rows < 10).sum())
      3072
    """
    known = isinstance(datasets, Sequence)
    datasets = list(datasets) if known else [datasets]
    numbers = _checked(datasets, weights)
    check_seed(seed)
    parts = numbers / numbers.max()  # whose sum is finite
    parts = parts / parts.sum()
    quotas = np.floor(parts * _BLOCK).astype(np.int64)
    most = np.argsort(quotas - parts * _BLOCK, kind="stable")
    quotas[most[: _BLOCK - quotas.sum()]] += 1
    for i, (part, quota) in enumerate(zip(parts, quotas, strict=True)):
        if part and not quota:
            raise ArrowJaxError(
                f"weights[{i}] is {part:.2g} of all, less than 1/{_BLOCK}, and would "
                "never come. Give it more, or leave the dataset out"
            )
    sizes = [len(ds) for ds in datasets]
    ends = np.cumsum([0, *sizes]).tolist()
    n = sum(sizes) if rows is None else rows
    if not is_whole(n, 1):
        raise ArrowJaxError(f"rows={rows!r}: wanted at least 1")
    return Mix(
        concatenate(datasets), tuple(ends), tuple(quotas.tolist()), int(n), int(seed)
    )


def _checked(datasets: list[Any], weights: Sequence[float]) -> np.ndarray:
    if not datasets or not all(isinstance(ds, Dataset) for ds in datasets):
        found = [type(ds).__name__ for ds in datasets]
        raise ArrowJaxError(f"mix got {found}, wanted a list of Datasets")
    try:
        numbers = np.asarray(weights, np.float64)
    except (TypeError, ValueError) as error:
        raise ArrowJaxError(f"weights={weights!r}: wanted a number each") from error
    if numbers.shape != (len(datasets),):
        raise ArrowJaxError(
            f"mix got {len(datasets)} datasets and weights of shape "
            f"{list(numbers.shape)}: give one weight each"
        )
    if not (np.isfinite(numbers).all() and (numbers >= 0).all() and numbers.any()):
        raise ArrowJaxError(
            f"weights={list(weights)}: wanted numbers of at least 0, not all 0"
        )
    empty = [i for i, ds in enumerate(datasets) if not len(ds) and numbers[i]]
    if empty:
        raise ArrowJaxError(f"dataset {empty[0]} of the mix has no rows")
    if any(ds.format != datasets[0].format for ds in datasets):
        raise ArrowJaxError(
            "the datasets of the mix have different formats. Give them the same: "
            "[ds.with_format(...) for ds in datasets]"
        )
    return numbers


@dataclass(frozen=True)
class MixStream:
    """The order of a mix.

    Attributes:
      n: rows of an epoch.
      starts: see `Mix`.
      weights: see `Mix`.
      mix_seed: of the interleaving.
      seed: of the shuffle of each dataset, or None.
    """

    n: int
    starts: tuple[int, ...]
    weights: tuple[int, ...]
    mix_seed: int
    seed: int | None
    covers: bool = False

    def rows(self, epoch: int, start: int, stop: int) -> Index:
        """Finds the rows at some places of an epoch."""
        # Epochs of a mix follow each other: a dataset goes on where it was.
        first, behind = epoch * self.n + start, epoch * self.n + stop
        blocks = range(first // _BLOCK, -(-behind // _BLOCK))
        if not blocks:
            return np.zeros(0, np.int64)
        rows = np.concatenate([_block(self, number) for number in blocks])
        at = blocks.start * _BLOCK
        return rows[first - at : behind - at]

    def describe(self) -> dict[str, Any]:
        """Says in JSON what the order depends on."""
        return {
            "shuffle": self.seed is not None,
            **({} if self.seed is None else {"seed": self.seed}),
            "mix": list(self.weights),
            "mix_sizes": np.diff(self.starts).tolist(),
            "mix_seed": self.mix_seed,
            "mix_rows": self.n,
        }


@functools.lru_cache(maxsize=16)
def _block(stream: MixStream, number: int) -> np.ndarray:
    places = permute(np.arange(_BLOCK), n=_BLOCK, seed=stream.mix_seed, epoch=number)
    out = np.empty(_BLOCK, np.int64)
    begin = 0
    for i, quota in enumerate(stream.weights):
        mine = np.sort(places[begin : begin + quota])
        begin += quota
        first, n = stream.starts[i], stream.starts[i + 1] - stream.starts[i]
        out[mine] = first + _cycled(n, number * quota, quota, stream.seed, i)
    out.setflags(write=False)
    return out


def _cycled(n: int, start: int, k: int, seed: int | None, i: int) -> np.ndarray:
    """The next k rows of a dataset that is gone through for ever."""
    epochs, places = np.divmod(np.arange(start, start + k), n)
    if seed is None:
        return places
    return permute(places, n=n, seed=seed + i, epoch=epochs)

"""From the loader's options to the order of its rows."""

from typing import Any

import numpy as np

from arrow_jax._block_order import BlockOrder
from arrow_jax._buckets import BucketCutter, Buckets
from arrow_jax._errors import ArrowJaxError
from arrow_jax._order import RowOrder
from arrow_jax._pack import Pack, PackCutter
from arrow_jax._poisson import Poisson, PoissonOrder
from arrow_jax._split_order import SplitOrder
from arrow_jax._step import Order
from arrow_jax._stream import Stream


def choose_order(
    stream: Stream,
    *,
    epochs: int | None,
    last: str,
    block: tuple[Buckets | Pack, np.ndarray] | None,
) -> Order:
    """Chooses how rows become batches.

    Args:
      stream: of the rows.
      epochs: how often it is gone through, or None.
      last: "mask", "drop" or "keep".
      block: the form that decides which rows are in a batch, and all rows' lengths.

    Returns:
      The order.
    """
    if block is None:
        return RowOrder(stream, epochs, last)
    form, lengths = block
    if isinstance(form, Buckets):
        cutter = BucketCutter(lengths, form.edges or (0,), form.block)
        return BlockOrder(stream, epochs, last, cutter)
    if form.split:
        return SplitOrder(stream, epochs, last, lengths, form.length)
    return BlockOrder(
        stream,
        epochs,
        last,
        PackCutter(lengths, form.length, form.block, stream.seed),
    )


def sample_order(
    sampling: Any, n: int, *, epochs: int | None, batch_size: int, seed: int
) -> PoissonOrder:
    """Makes the order of a sampling.

    Args:
      sampling: as the user gave it.
      n: rows of the dataset.
      epochs: see `PoissonOrder`.
      batch_size: of the loader.
      seed: of the draws.

    Returns:
      The order.

    Raises:
      ArrowJaxError: if it is none, or its capacity is not the batch size.
    """
    if not isinstance(sampling, Poisson):
        raise ArrowJaxError(f"sampling={sampling!r}: wanted Poisson(rate) or None")
    if sampling.capacity not in (None, batch_size):
        raise ArrowJaxError(
            f"batch_size={batch_size} and Poisson(capacity={sampling.capacity}) differ:"
            " a drawn batch is padded to batch_size. Use Loader(ds, "
            f"{sampling.capacity}, ...)"
        )
    return PoissonOrder(n, epochs, sampling.rate, seed)

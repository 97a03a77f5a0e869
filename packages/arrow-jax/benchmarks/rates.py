"""How many rows a second a reader gives."""

import time
from collections.abc import Callable, Iterable
from typing import Any

import jax

# Makes an iterable of batches, which are trees of arrays.
Reader = Callable[[], Iterable[Any]]


def rate_of(reader: Reader, batch_size: int, seconds: tuple[float, float]) -> float:
    """Reads at least one pass, cut short where it takes long; returns rows a second."""
    least, most = seconds
    n_batches, start, taken = 0, time.perf_counter(), 0.0
    while not n_batches or taken < least:
        for batch in reader():
            jax.block_until_ready(batch)
            n_batches += 1
            taken = time.perf_counter() - start
            if taken > most:
                break
    return n_batches * batch_size / taken

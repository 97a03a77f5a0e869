"""Sending many small arrays at the price of a few.

`jax.device_put` costs some time for each array, however small. A compiled function that
takes an array apart into equal ones costs a tenth of that for each. Compiling pays
after some hundred batches of one kind, so the first ones go without; what comes out is
the same.
"""

import functools
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from arrow_jax._nodes import aligned

PAYS_AFTER = 128  # batches of one kind, by all runs of this process
SMALL = 1 << 16  # bytes of an array that is worth packing
# XLA's CPU backend runs so many copies in the calling thread; more it hands to others,
# which takes twice as long.
MOST_OF_A_CALL = 8


class Sender:
    """Sends batches of one kind.

    Args:
      device: where they are committed, or None for jax's default, uncommitted.

    Attributes:
      n_sent: how many batches there have been.
      split: a compiled function from columns in one buffer to each.
      same: a compiled function from columns to the same.
    """

    def __init__(self, device: jax.Device | None) -> None:
        where = device and jax.sharding.SingleDeviceSharding(device)
        self.n_sent = 0
        self.split = jax.jit(lambda packed: list(packed), out_shardings=where)  # noqa: PLW0108  (a function of its own, for a cache of its own)
        self.same = jax.jit(lambda columns: columns, out_shardings=where)


@functools.lru_cache(maxsize=64)
def sender_of(kind: tuple[Any, ...], device: jax.Device | None) -> Sender:
    """Finds the sender of a kind of batch.

    Args:
      kind: what the batches have in common.
      device: see `Sender`.

    Returns:
      The same sender each time.
    """
    del kind  # each has its own count
    return Sender(device)


def send(arrays: Sequence[np.ndarray], device: jax.Device | None) -> list[jax.Array]:
    """Sends the arrays of a batch, small ones of a kind together.

    Args:
      arrays: the leaves of a batch.
      device: see `Sender`.

    Returns:
      The same on the device.
    """
    kinds: dict[Any, list[int]] = {}
    for i, array in enumerate(arrays):
        if 0 < array.nbytes <= SMALL:
            kinds.setdefault((array.dtype, array.shape), []).append(i)
    packed = {kind: found for kind, found in kinds.items() if len(found) > 2}
    if not packed:
        return jax.device_put(list(arrays), device)
    sender = sender_of(tuple((*k, len(f)) for k, f in packed.items()), device)
    sender.n_sent += 1
    if sender.n_sent <= PAYS_AFTER:
        return jax.device_put(list(arrays), device)
    apart = {i for found in packed.values() for i in found}
    rest = [i for i in range(len(arrays)) if i not in apart]
    placed = dict(
        zip(rest, jax.device_put([arrays[i] for i in rest], device), strict=True)
    )
    for (dtype, shape), found in packed.items():
        for first in range(0, len(found), MOST_OF_A_CALL):
            some = found[first : first + MOST_OF_A_CALL]
            buffer = aligned((len(some), *shape), dtype)
            np.stack([arrays[i] for i in some], out=buffer)
            placed.update(zip(some, sender.split(buffer), strict=True))
    return [placed[i] for i in range(len(arrays))]

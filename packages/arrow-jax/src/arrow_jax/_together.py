"""Batches a little ahead of their reader, many arrays in one call; see `_sender`."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import numpy as np

from arrow_jax._chunks import Index
from arrow_jax._device import find_device, mode, put, without_mesh
from arrow_jax._format import Format
from arrow_jax._nodes import aligned
from arrow_jax._number_plan import NumberPlan
from arrow_jax._plan import Plan
from arrow_jax._rows import compose
from arrow_jax._sender import MOST_OF_A_CALL, PAYS_AFTER, SMALL, sender_of

_MOST_AHEAD = 16  # batches
_MOST_BYTES_AHEAD = 16 << 20
# Bytes of a column in a batch: if it is small it is packed with others of its kind,
# up to this it is copied by the compiled function, above it is transferred alone.
_GREAT = 1 << 19


class Bunch(NamedTuple):
    """Columns that one call sends.

    Attributes:
      names: of the columns.
      dtype: of all, where they are packed.
      shape: of a batch of each, where they are packed.
    """

    names: tuple[str, ...]
    dtype: np.dtype
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """How many numbers a batch of all has."""
        return len(self.names) * math.prod(self.shape)


@dataclass(frozen=True)
class Together:
    """Gives batches of the columns of a format.

    Attributes:
      plans: of all columns.
      format: of the dataset.
      batch_size: rows in a batch.
      packed: the small columns, by dtype and shape.
      whole: the columns that are alone of their kind or no longer small, by call.
      great: those, each of which is worth a transfer.
      ahead: how many batches at once, at most.
    """

    plans: Mapping[str, Plan]
    format: Format
    batch_size: int
    packed: Sequence[Bunch]
    whole: Sequence[tuple[str, ...]]
    great: tuple[str, ...]
    ahead: int

    def batches(self, rows: Index, n: int) -> Iterator[dict[str, Any]]:
        """Gives full batches, as `give` does; one ahead at first, then more.

        Args:
          rows: of the source.
          n: how many batches.

        Yields:
          name -> column, in the order of the format.
        """
        first, ahead = 0, 1
        while first < n:
            ahead = min(ahead, self.ahead, n - first)
            yield from self._group(self._rows(rows, first, ahead), ahead)
            first, ahead = first + ahead, 4 * ahead

    def _rows(self, rows: Index, first: int, n: int) -> Index:
        return compose(
            rows, range(first * self.batch_size, (first + n) * self.batch_size)
        )

    def _group(self, rows: Index, n: int) -> Iterator[dict[str, Any]]:
        found = self._numbers(rows, n)
        others = {k: plan for k, plan in self.plans.items() if k not in found[0]}
        for i, batch in enumerate(found):
            if others:
                part = self._rows(rows, i, 1)
                rest = {name: plan.batch(part) for name, plan in others.items()}
                with mode(x64=self.format.x64):
                    batch.update(put(rest, self.format.device))
            yield {name: batch[name] for name in self.plans}

    def _numbers(self, rows: Index, n: int) -> list[dict[str, Any]]:
        name = self.format.device
        device = None if name is None else find_device(name)
        sender = sender_of((self.batch_size, *self.packed, *self.whole), device)
        sender.n_sent += n
        if sender.n_sent <= PAYS_AFTER:
            packed = {name for bunch in self.packed for name in bunch.names}
            names = (*packed, *itertools.chain(*self.whole), *self.great)
            return self._transferred(names, rows, n, device)
        found = self._transferred(self.great, rows, n, device)
        size = self.batch_size
        with mode(x64=self.format.x64), without_mesh():
            for bunch in self.packed:
                for batch, buffer in zip(
                    found, self._pack(bunch, rows, n), strict=True
                ):
                    batch.update(zip(bunch.names, sender.split(buffer), strict=True))
            for names in self.whole:
                columns = [self.plans[name].batch(rows) for name in names]
                for i, batch in enumerate(found):
                    own = [column[i * size : (i + 1) * size] for column in columns]
                    batch.update(zip(names, sender.same(own), strict=True))
        return found

    def _transferred(
        self, names: Sequence[str], rows: Index, n: int, device: jax.Device | None
    ) -> list[dict[str, Any]]:
        if not names:
            return [{} for _ in range(n)]
        parts = [self._rows(rows, i, 1) for i in range(n)]
        arrays = [self.plans[name].batch(part) for part in parts for name in names]
        with mode(x64=self.format.x64):
            placed = iter(jax.device_put(arrays, device))
        return [dict(zip(names, placed, strict=False)) for _ in parts]

    def _pack(self, bunch: Bunch, rows: Index, n: int) -> list[np.ndarray]:
        """Lays the columns of n batches beside each other, cast on the way."""
        # Each batch begins where jax's CPU backend can use it without a copy.
        step = 64 // bunch.dtype.itemsize
        buffer = aligned((n, -(-bunch.size // step) * step), bunch.dtype)
        batches = [
            line[: bunch.size].reshape(len(bunch.names), *bunch.shape)
            for line in buffer
        ]
        size = math.prod(bunch.shape)
        with np.errstate(under="ignore"):
            for at, name in enumerate(bunch.names):
                plan: Any = self.plans[name]
                into = buffer[:, at * size : (at + 1) * size]
                into[...] = plan.plain(rows).reshape(n, size)
        return batches


def find_together(
    plans: Mapping[str, Plan], form: Format, batch_size: int
) -> Together | None:
    """Finds the columns that can go together.

    Args:
      plans: of all columns, checked.
      form: the format, of kind "jax".
      batch_size: rows in a batch.

    Returns:
      What gives the batches, or None if no column is one array of numbers.
    """
    if isinstance(form.device, jax.sharding.Sharding):
        return None
    sizes = {name: _size(plan) * batch_size for name, plan in plans.items()}
    sizes = {name: size for name, size in sizes.items() if size}
    if not sizes:
        return None
    kinds: dict[Any, list[str]] = {}
    for name in [name for name, size in sizes.items() if size <= SMALL]:
        spec = plans[name].spec
        kinds.setdefault((spec.dtype, (batch_size, *spec.shape)), []).append(name)
    packed = [
        Bunch(names, *kind)
        for kind, alike in kinds.items()
        for names in _in_calls(alike)
        if len(names) > 1
    ]
    apart = {name for bunch in packed for name in bunch.names}
    whole = [n for n, size in sizes.items() if size <= _GREAT and n not in apart]
    return Together(
        plans=plans,
        format=form,
        batch_size=batch_size,
        packed=packed,
        whole=_in_calls(whole),
        great=tuple(n for n, size in sizes.items() if size > _GREAT),
        ahead=max(1, min(_MOST_AHEAD, _MOST_BYTES_AHEAD // sum(sizes.values()))),
    )


def _in_calls(names: list[str]) -> list[tuple[str, ...]]:
    most = MOST_OF_A_CALL
    return [tuple(names[i : i + most]) for i in range(0, len(names), most)]


def _size(plan: Plan) -> int:
    """The bytes of a row that is one array; 0 for any other."""
    if not isinstance(plan, NumberPlan) or plan.options.nulls == "mask":
        return 0
    if plan.is_ragged:
        return 0
    return math.prod(plan.spec.shape) * plan.dtype.itemsize

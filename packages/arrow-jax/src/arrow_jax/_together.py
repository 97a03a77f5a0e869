"""Many small columns to the device in one call.

`jax.device_put` costs some time for each array, however small; a compiled function
that returns its arguments takes half of that. Compiling it pays after some dozens of
batches of one size, so only long iterations do this; what comes out is the same.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import jax
import numpy as np

from arrow_jax._chunks import Index
from arrow_jax._device import find_device, mode, put
from arrow_jax._format import Format
from arrow_jax._nodes import Tensor, aligned
from arrow_jax._number_plan import NumberPlan
from arrow_jax._plan import Plan

FEWEST_BATCHES = 48
_FEWEST_COLUMNS = 4
_MOST_BYTES = 1 << 16  # of a column in a batch; greater ones are worth their call


@cache
def _sender(device: jax.Device | None) -> Any:
    where = device and jax.sharding.SingleDeviceSharding(device)
    return jax.jit(lambda arrays: arrays, out_shardings=where)


@dataclass(frozen=True)
class Together:
    """Gives batches of the columns of a format.

    Attributes:
      plans: of all columns.
      small: column -> its numbers for all rows of the source, for those that go
        together.
      format: of the dataset.
    """

    plans: Mapping[str, Plan]
    small: Mapping[str, np.ndarray]
    format: Format

    def batch(self, rows: Index) -> dict[str, Any]:
        """Gives a batch as `give` does.

        Args:
          rows: of the source.

        Returns:
          name -> column, in the order of the format.
        """
        key = slice(rows.start, rows.stop) if isinstance(rows, range) else rows
        arrays = []
        with np.errstate(under="ignore"):
            for name, values in self.small.items():
                made = aligned((len(rows), *values.shape[1:]), self._dtype(name))
                made[...] = values[key]
                arrays.append(made)
        name = self.format.device
        with mode(x64=self.format.x64):
            sent = _sender(None if name is None else find_device(name))(arrays)
            found = dict(zip(self.small, sent, strict=True))
            alone = {n: p.batch(rows) for n, p in self.plans.items() if n not in found}
            found |= put(alone, name) if alone else {}
        return {n: found[n] for n in self.plans}

    def _dtype(self, name: str) -> np.dtype:
        plan: Any = self.plans[name]
        return plan.dtype


def find_together(
    plans: Mapping[str, Plan], form: Format, batch_size: int
) -> Together | None:
    """Finds the columns that can go together.

    Args:
      plans: of all columns, checked.
      form: the format, of kind "jax".
      batch_size: rows in a batch.

    Returns:
      What gives the batches, or None if there are too few such columns.
    """
    small = {name: _plain_values(plan, batch_size) for name, plan in plans.items()}
    found = {name: values for name, values in small.items() if values is not None}
    if isinstance(form.device, jax.sharding.Sharding) or len(found) < _FEWEST_COLUMNS:
        return None
    return Together(plans, found, form)


def _plain_values(plan: Plan, batch_size: int) -> np.ndarray | None:
    """The numbers of a small column without nulls that lies in one piece, else None."""
    if not isinstance(plan, NumberPlan) or plan.options.nulls == "mask":
        return None
    (first, *others) = plan.column.chunks
    if others or not isinstance(first, Tensor):
        return None
    size = batch_size * math.prod(first.values.shape[1:]) * plan.dtype.itemsize
    plain = first.valid is None and first.inner is None
    return first.values if plain and 0 < size <= _MOST_BYTES else None

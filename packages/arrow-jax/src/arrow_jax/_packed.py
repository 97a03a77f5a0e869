"""Many small columns in one transfer.

A transfer costs the same for a small array as for a great one, so twenty columns cost
twenty times. Columns of one dtype are laid into one buffer here, which a compiled
function takes apart on the device. Compiling it pays after some dozens of batches of
one size, so only long iterations do this; what comes out is the same.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
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
_MOST_BYTES = 1 << 16  # of a column in a batch; greater ones are worth their transfer


@dataclass(frozen=True)
class _Group:
    """Columns of one dtype: their names, and the rows of all of the source."""

    dtype: np.dtype
    columns: Mapping[str, np.ndarray]

    def batch(self, rows: Index, device: Any) -> dict[str, jax.Array]:
        n = len(rows)
        key = slice(rows.start, rows.stop) if isinstance(rows, range) else rows
        shapes = tuple((n, *values.shape[1:]) for values in self.columns.values())
        buffer = aligned((sum(map(math.prod, shapes)),), self.dtype)
        at = 0
        with np.errstate(under="ignore"):
            for values, shape in zip(self.columns.values(), shapes, strict=True):
                end = at + math.prod(shape)
                buffer[at:end].reshape(shape)[...] = values[key]
                at = end
        sent = buffer if device is None else jax.device_put(buffer, device)
        return dict(zip(self.columns, _apart(sent, shapes), strict=True))


@partial(jax.jit, static_argnums=1)
def _apart(buffer: jax.Array, shapes: tuple[tuple[int, ...], ...]) -> list[jax.Array]:
    at, parts = 0, []
    for shape in shapes:
        end = at + math.prod(shape)
        parts.append(buffer[at:end].reshape(shape))
        at = end
    return parts


@dataclass(frozen=True)
class Packer:
    """Gives batches of the columns of a format.

    Attributes:
      plans: of all columns.
      groups: of those that go together.
      format: of the dataset.
    """

    plans: Mapping[str, Plan]
    groups: tuple[_Group, ...]
    format: Format

    def batch(self, rows: Index) -> dict[str, Any]:
        """Gives a batch as `give` does.

        Args:
          rows: of the source.

        Returns:
          name -> column, in the order of the format.
        """
        name = self.format.device
        device = find_device(name) if name is not None else None
        found: dict[str, Any] = {}
        with mode(x64=self.format.x64):
            for group in self.groups:
                found |= group.batch(rows, device)
            alone = {n: p.batch(rows) for n, p in self.plans.items() if n not in found}
            found |= put(alone, name) if alone else {}
        return {n: found[n] for n in self.plans}


def make_packer(
    plans: Mapping[str, Plan], form: Format, batch_size: int
) -> Packer | None:
    """Finds the columns that can go together.

    Args:
      plans: of all columns, checked.
      form: the format, of kind "jax".
      batch_size: rows in a batch.

    Returns:
      The packer, or None if there are too few such columns.
    """
    if isinstance(form.device, jax.sharding.Sharding):
        return None
    by_dtype: dict[np.dtype, dict[str, np.ndarray]] = {}
    for name, plan in plans.items():
        values = _plain_values(plan)
        if isinstance(plan, NumberPlan) and values is not None:
            size = batch_size * math.prod(values.shape[1:]) * plan.dtype.itemsize
            if 0 < size <= _MOST_BYTES:
                by_dtype.setdefault(plan.dtype, {})[name] = values
    groups = tuple(
        _Group(dtype, columns)
        for dtype, columns in by_dtype.items()
        if len(columns) >= _FEWEST_COLUMNS
    )
    return Packer(plans, groups, form) if groups else None


def _plain_values(plan: Plan) -> np.ndarray | None:
    """The numbers of a column without nulls that lies in one piece, else None."""
    if not isinstance(plan, NumberPlan) or plan.options.nulls == "mask":
        return None
    (first, *others) = plan.column.chunks
    if others or not isinstance(first, Tensor):
        return None
    return first.values if first.valid is None and first.inner is None else None

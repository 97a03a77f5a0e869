"""Tensors whose shape differs from row to row: `arrow.variable_shape_tensor`.

It is stored as a struct of the elements and the shape of each row. Older releases of
pyarrow don't know it: then the field's metadata say what the struct is. It becomes one
array where all rows have one shape, otherwise a list of arrays.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from arrow_jax._chunks import Index
from arrow_jax._containers import Masked
from arrow_jax._errors import ShapeError
from arrow_jax._facts import Facts, facts_of
from arrow_jax._nodes import Lists, Tensor, compact
from arrow_jax._number_plan import NumberPlan
from arrow_jax._plan import row_spec

_NAME = "arrow.variable_shape_tensor"


def permutation_of(field: pa.Field) -> tuple[int, ...] | None:
    """Finds how the axes of a column of tensors are ordered.

    Args:
      field: of the column.

    Returns:
      The order in which the stored axes are given; None if it is no such column.
    """
    type_, said = field.type, field.metadata or {}
    if getattr(type_, "extension_name", "") == _NAME:
        type_ = type_.storage_type
        # There is no class for it in Python: what it says in print is all there is.
        found = re.search(r"permutation=\[([\d,]+)\]", str(field.type))
        described: Any = {"permutation": json.loads(f"[{found[1]}]")} if found else {}
    elif said.get(b"ARROW:extension:name") == _NAME.encode():
        try:
            described = json.loads(said.get(b"ARROW:extension:metadata") or b"{}")
        except ValueError:
            return None
    else:
        return None
    if not pa.types.is_struct(type_) or {f.name for f in type_} != {"data", "shape"}:
        return None
    n_axes = type_.field("shape").type.list_size
    order = described.get("permutation") or range(n_axes)
    return tuple(order) if sorted(order) == list(range(n_axes)) else None


@dataclass(frozen=True)
class TensorsPlan:
    """A column of tensors of any shape.

    Attributes:
      name: the column's.
      data: of the elements of each row.
      shapes: of the sizes, in the order that is stored.
      order: of the axes.
    """

    name: str
    data: NumberPlan
    shapes: NumberPlan
    order: tuple[int, ...]

    @cached_property
    def _common(self) -> tuple[int, ...] | None:
        """The shape of every row, if it is one."""
        chunks = [c for c in self.shapes.column.chunks if isinstance(c, Tensor)]
        sizes = [c.values if c.valid is None else c.values[c.valid] for c in chunks]
        known = [s for s in sizes if len(s)]
        if not known:
            return (0,) * len(self.order)
        first = known[0][0]
        alike = all((s == first).all() for s in known) and not self.data.is_ragged
        return tuple(map(int, first)) if alike else None

    @property
    def facts(self) -> Facts:
        """Of the elements: of one length only if all shapes are one."""
        facts = facts_of(self.data.column.chunks[0])
        if self.is_ragged and not self.data.is_ragged:
            return Facts((None,), (*facts.nulls, False))
        return facts

    @property
    def is_ragged(self) -> bool:
        """Whether the shapes differ."""
        return self._common is None

    @property
    def spec(self) -> Any:
        """The row; if shapes differ, its axes have length 0, as no number is right."""
        shape = self._common or (0,) * len(self.order)
        spec: Any = row_spec(tuple(shape[axis] for axis in self.order), self.data.dtype)
        if self.data.options.nulls != "mask":
            return spec
        empty = self.data.batch(range(0)).values
        if isinstance(empty, Masked):
            spec = Masked(spec, row_spec(spec.shape, bool))
        return Masked(spec, row_spec((), bool))

    def check(self, rows: Index) -> None:
        """Raises for nulls, numbers that do not fit, and shapes that are none."""
        self.data.check(rows)
        node, sizes = self.data.column.gather(rows), self.shapes.batch(rows)
        if isinstance(node, Lists):
            lengths = compact(node).lengths
        else:
            lengths = np.full(len(node), node.values.shape[1])
            if node.valid is not None:
                lengths = np.where(node.valid, lengths, 0)
        wrong = np.flatnonzero(np.prod(sizes, axis=1, dtype=np.int64) != lengths)
        if len(wrong):
            row = int(wrong[0])
            where = self.data.source.words(int(rows[row]))
            raise ShapeError(
                f"column {self.name!r}, {where}: found {lengths[row]} elements for the "
                f"shape {sizes[row].tolist()}. Correct the data"
            )

    def batch(self, rows: Index) -> Any:
        """Makes one array, or a list of arrays if shapes differ."""
        flat, sizes = self.data.batch(rows), self.shapes.batch(rows)
        if self.data.options.nulls == "mask":
            return Masked(self._shaped(flat.values, sizes), flat.valid)
        return self._shaped(flat, sizes)

    def _shaped(self, flat: Any, sizes: np.ndarray) -> Any:
        if self._common is not None:
            shape = (len(sizes), *self._common)
            order = (0, *(1 + axis for axis in self.order))
            return _map(flat, lambda a: a.reshape(shape).transpose(order))
        rows = flat if isinstance(flat, list) else _rows_of(flat, len(sizes))
        return [
            _map(row, lambda a, shape=shape: a.reshape(shape).transpose(self.order))
            for row, shape in zip(rows, sizes.tolist(), strict=True)
        ]

    def padded(self, rows: Index, capacity: int, *, truncate: bool = False) -> Any:
        """Is refused: there is more than one axis to pad."""
        del rows, capacity, truncate
        raise ShapeError(
            f"column {self.name!r} holds tensors of different shapes, which ragged= "
            "can't pad. Make them one shape before, with ds.map"
        )


def _map(tree: Any, change: Callable[[np.ndarray], np.ndarray]) -> Any:
    if isinstance(tree, Masked):
        return Masked(change(tree.values), change(tree.valid))
    return change(tree)


def _rows_of(tree: Any, n: int) -> list[Any]:
    return [_map(tree, lambda a, i=i: a[i]) for i in range(n)]

"""Numbers, booleans, labels, times, and lists and tensors of these."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from arrow_jax._checks import (
    has_nulls,
    is_float,
    misfit,
    null_rows,
    range_of,
    rows_where,
    value_where,
)
from arrow_jax._chunks import Index
from arrow_jax._column import Column
from arrow_jax._containers import Masked, Ragged
from arrow_jax._errors import ArrowJaxError, NarrowingError, NullsError, ShapeError
from arrow_jax._features import no_label
from arrow_jax._nodes import (
    Lists,
    Node,
    Tensor,
    aligned,
    as_lists,
    compact,
)
from arrow_jax._plan import Options, row_spec
from arrow_jax._ragged import cut, flatten, pack, pad
from arrow_jax._source import Source
from arrow_jax._step import Layout


@dataclass(frozen=True)
class NumberPlan:
    """A column of numbers.

    Attributes:
      name: the column's.
      source: of the rows.
      path: column, then fields.
      stored: dtype of the Arrow values.
      dtype: dtype of what they become.
      declared: sizes of the axes where a feature declares them.
      options: what the user chose.
      unit: the Arrow type of a temporal column, else empty.
      n_labels: how many names there are where the numbers are labels, else None.
    """

    name: str
    source: Source
    path: tuple[str, ...]
    stored: np.dtype
    dtype: np.dtype
    declared: tuple[int | None, ...]
    options: Options
    unit: str
    n_labels: int | None = None

    @cached_property
    def column(self) -> Column:
        """The prepared column."""
        column = self.source.numbers(self.path, self.declared)
        self._check_fill(column)
        return column

    @cached_property
    def _masked(self) -> bool:
        return any(has_nulls(chunk) for chunk in self.column.chunks)

    @cached_property
    def _fill(self) -> Any:
        nulls = self.options.nulls
        if isinstance(nulls, str):
            return np.nan if nulls == "nan" and is_float(self.dtype) else 0
        return nulls

    @property
    def _forbids_nulls(self) -> bool:
        nulls = self.options.nulls
        return isinstance(nulls, str) and (
            nulls == "error" or (nulls == "nan" and not is_float(self.dtype))
        )

    @property
    def is_ragged(self) -> bool:
        """Whether the lists differ in length."""
        return isinstance(self.column.chunks[0], Lists)

    @cached_property
    def spec(self) -> Any:
        """The row; a ragged axis has length 0, since no number is right."""
        return self._spec(self.column.chunks[0], top=True)

    def _spec(self, node: Node, *, top: bool) -> Any:
        mask = row_spec((), bool)
        wants_mask = self.options.nulls == "mask"
        if isinstance(node, Lists):
            inner = self._spec(node.child, top=False)
            inner = _with_axis(inner, 0)
            spec = Ragged(inner, row_spec((), np.int32))
            return Masked(spec, mask) if wants_mask and _masks(node, top) else spec
        shape = node.values.shape[1:]
        spec = row_spec(shape, self.dtype)
        if not wants_mask:
            return spec
        if node.inner is not None:
            spec = Masked(spec, row_spec(shape, bool))
        return Masked(spec, mask) if _masks(node, top) else spec

    def _check_fill(self, column: Column) -> None:
        fill, nulls = self._fill, self.options.nulls
        if isinstance(nulls, str) or not any(map(has_nulls, column.chunks)):
            return
        with np.errstate(all="ignore"):
            kept = np.asarray(fill).astype(self.dtype)
        fits = bool(kept == fill) or (is_float(self.dtype) and np.isfinite(kept))
        if not fits and not (is_float(self.dtype) and not np.isfinite(fill)):
            raise NarrowingError(
                f"column {self.name!r}: nulls={fill!r} does not fit {self.dtype}. Give "
                'a fill value that does, or nulls="mask"'
            )

    def check(self, rows: Index) -> None:
        """Raises for nulls that were not allowed and numbers that do not fit."""
        if self._forbids_nulls and self._masked:
            self._raise_null(rows)
        self._check_labels(rows)
        self.check_range(rows)

    def _check_labels(self, rows: Index) -> None:
        n = self.n_labels
        if n is None:
            return
        least, greatest = self.column.limits
        if least >= -1 and greatest < n:
            return

        def test(codes: np.ndarray) -> np.ndarray:
            return (codes < -1) | (codes >= n)

        node = self.column.gather(rows)
        bad = np.flatnonzero(rows_where(node, test))
        if len(bad):
            raise ArrowJaxError(
                f"column {self.name!r}, {self.source.words(int(rows[bad[0]]))}: "
                f"{no_label(value_where(node, test), n)}. Correct the data, or say what"
                f' it is: ds.cast_column({self.name!r}, Value("int32"))'
            )

    def _raise_null(self, rows: Index) -> None:
        bad = np.flatnonzero(null_rows(self.column.gather(rows)))
        if not len(bad):
            return
        also = ', nulls="nan" for NaN' if is_float(self.dtype) else ""
        extra = (
            f'; nulls="nan" is for floats, this column is {self.dtype}'
            if self.options.nulls == "nan"
            else ""
        )
        raise NullsError(
            f"column {self.name!r}, {self.source.words(int(rows[bad[0]]))}: found a "
            f"null, wanted none ({len(bad)} of {len(rows)} rows have one){extra}. Use "
            f'with_format(..., nulls="mask") for Masked(values, valid){also}, or a '
            f"fill value: nulls=0"
        )

    def check_range(self, rows: Index) -> None:
        """Raises for numbers that do not fit."""
        if self.dtype == self.stored:
            return
        low, high = range_of(self.dtype)
        least, greatest = self.column.limits
        only_range = is_float(self.dtype) or self.stored.kind != "f"
        if only_range and least >= low and greatest <= high:
            return
        node, test = self.column.gather(rows), misfit(self.stored, self.dtype)
        bad = np.flatnonzero(rows_where(node, test))
        if not len(bad):
            return
        raise NarrowingError(
            f"column {self.name!r}, {self.source.words(int(rows[bad[0]]))}: "
            f"{value_where(node, test)} ({self.unit or self.stored}) does not fit "
            f"{self.dtype}{self._way_out}"
        )

    @property
    def _way_out(self) -> str:
        if self.options.dtype is not None:
            return (
                ", which dtype= asked for. Ask for one that holds it, such as dtype="
                f'{{{self.name!r}: "{self.stored}"}}, or change the numbers with ds.map'
            )
        coarser = (
            f', ask for two int32: ds.cast_column({self.name!r}, Days("ms"))'
            if self.unit and self._is_of_scalars
            else ", cast the column"
        )
        return (
            ", which jax uses while jax_enable_x64 is off. Turn it on before the format"
            f' (jax.config.update("jax_enable_x64", True)){coarser}, or use '
            'with_format("numpy")'
        )

    @property
    def _is_of_scalars(self) -> bool:
        node = self.column.chunks[0]
        plain = isinstance(node, Tensor) and node.values.ndim == 1
        return plain and len(self.path) == 1

    def batch(self, rows: Index) -> Any:
        """Makes NumPy of some rows."""
        return self._render(self.column.gather(rows), top=True)

    def plain(self, rows: Index) -> np.ndarray:
        """Makes numbers of some rows of a tensor; a cast is left to whoever copies."""
        node = self.column.gather(rows)
        if isinstance(node, Tensor) and node.valid is None and node.inner is None:
            return node.values
        return self.batch(rows)

    def _render(self, node: Node, *, top: bool) -> Any:
        wants_mask = self.options.nulls == "mask"
        if isinstance(node, Lists):
            node = compact(node)
            flat = self._render(node.child, top=False)
            ends = np.cumsum(node.lengths).tolist()
            runs = [
                _cut(flat, start, end)
                for start, end in zip([0, *ends], ends, strict=False)
            ]
            return self._mask(runs, node, top=top) if wants_mask else runs
        values = self._numbers(node)
        if not wants_mask:
            return values
        if node.inner is not None:
            values = Masked(values, node.inner)
        return self._mask(values, node, top=top)

    def _mask(self, values: Any, node: Node, *, top: bool) -> Any:
        if not _masks(node, top):
            return values
        valid = np.ones(len(node), bool) if node.valid is None else node.valid
        return Masked(values, valid)

    def _numbers(self, node: Tensor) -> np.ndarray:
        values = node.values
        hidden = None
        if node.valid is not None:
            hidden = ~node.valid.reshape(-1, *[1] * (values.ndim - 1))
        if node.inner is not None:
            hidden = ~node.inner if hidden is None else hidden | ~node.inner
        if hidden is None:
            return values if self.dtype == self.stored else _cast(values, self.dtype)
        # What Arrow keeps under a null may not fit; it goes before the cast.
        values = np.where(hidden, values.dtype.type(0), values)
        values = _cast(values, self.dtype)
        if self._fill != 0:
            values[np.broadcast_to(hidden, values.shape)] = self._fill
        return values

    def lengths(self, rows: Index) -> np.ndarray:
        """Finds how long the lists of some rows are; null rows have length 0."""
        found = [self._as_lists(chunk).lengths for chunk in self.column.chunks]
        lengths = np.concatenate(found)
        return (
            lengths[rows.start : rows.stop]
            if isinstance(rows, range)
            else lengths[rows]
        )

    def padded(self, rows: Index, capacity: int, *, truncate: bool = False) -> Any:
        """Makes a `Ragged` of some rows; one that is too long raises, or is cut."""
        node = self._lists(rows)
        if truncate:
            node = cut(node, capacity)
        long = np.flatnonzero(node.lengths > capacity)
        if len(long):
            raise ShapeError(
                f"column {self.name!r}, {self.source.words(int(rows[long[0]]))}: has "
                f"{node.lengths[long[0]]} elements, ragged={{{self.name!r}: "
                f"{capacity}}} holds {capacity}. Give a greater length, or cut the "
                f"rows: ragged={{{self.name!r}: Pad({capacity}, truncate=True)}}"
            )
        return self._ragged(pad(node, capacity, self._child), node)

    def flat(self, rows: Index, capacity: int) -> Any:
        """Makes a `Ragged` of some rows joined end to end; too many elements raise."""
        node = self._lists(rows)
        total = int(node.lengths.sum())
        if total > capacity:
            raise ShapeError(
                f"column {self.name!r}: the batch that begins with "
                f"{self.source.words(int(rows[0]))} has {total} elements, "
                f"ragged={{{self.name!r}: Flat({capacity})}} holds {capacity}. Give a "
                "greater capacity"
            )
        return self._ragged(flatten(node, capacity, self._child), node)

    def packed(
        self, rows: Index, layout: Layout, *, n_bins: int, capacity: int
    ) -> np.ndarray | Masked:
        """Makes the values of packed rows; `rows` has one a piece of the layout."""
        node = self._lists(rows)
        return pack(node, layout, n_bins=n_bins, capacity=capacity, render=self._child)

    def _child(self, node: Node) -> Any:
        return self._render(node, top=False)

    def _ragged(self, ragged: Ragged, node: Lists) -> Any:
        masked = self.options.nulls == "mask"
        return self._mask(ragged, node, top=True) if masked else ragged

    def _lists(self, rows: Index) -> Lists:
        return self._as_lists(self.column.gather(rows))

    def _as_lists(self, node: Node) -> Lists:
        if isinstance(node, Tensor) and node.values.ndim > 1:
            return as_lists(node)
        if isinstance(node, Lists) and isinstance(node.child, Tensor):
            return node
        raise ShapeError(
            f"column {self.name!r} can't be padded by ragged={{{self.name!r}: ...}}: "
            f"its rows are {'lists of ragged lists' if self.is_ragged else 'scalars'}"
        )


def _masks(node: Node, top: bool) -> bool:  # noqa: FBT001  (a fact, not a switch)
    return top or node.valid is not None


def _cast(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    out = aligned(values.shape, dtype)
    with np.errstate(under="ignore"):
        out[...] = values
    return out


def _cut(flat: Any, start: int, end: int) -> Any:
    return _map_arrays(flat, lambda a: a[start:end])


def _map_arrays(tree: Any, change: Any) -> Any:
    if isinstance(tree, Masked):
        return Masked(*(_map_arrays(part, change) for part in tree))
    return change(tree)


def _with_axis(tree: Any, length: int) -> Any:
    if isinstance(tree, tuple):
        return type(tree)(*(_with_axis(part, length) for part in tree))
    return row_spec((length, *tree.shape), tree.dtype)

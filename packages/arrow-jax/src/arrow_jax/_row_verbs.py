"""Rows of a source as a view, and the verbs that choose among them.

A view is a range or an array of indices: no verb here copies a row.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa

from arrow_jax._chunks import Index
from arrow_jax._errors import ArrowJaxError
from arrow_jax._features import Features
from arrow_jax._format import PYTHON, Format, check_columns
from arrow_jax._give import give
from arrow_jax._permutation import permute
from arrow_jax._planner import elders_of, known_of, scan_files
from arrow_jax._rows import compose, resolve
from arrow_jax._source import Source

if TYPE_CHECKING:
    from arrow_jax._dataset_dict import DatasetDict


@dataclass(frozen=True, eq=False, repr=False)
class RowVerbs:
    """Some rows of a source.

    Attributes:
      source: the table and what is known about it, shared by all views.
      rows: which of its rows these are: a range or int64 indices.
      format: what they are given as.
    """

    source: Source
    rows: Index
    format: Format = PYTHON

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def num_rows(self) -> int:
        """How many rows there are."""
        return len(self)

    @property
    def num_columns(self) -> int:
        """How many columns the format shows."""
        return len(self.column_names)

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows and columns there are."""
        return self.num_rows, self.num_columns

    @property
    def column_names(self) -> list[str]:
        """The names of the columns that the format shows."""
        shown = self.format.columns
        return list(self.source.table.column_names if shown is None else shown)

    @property
    def features(self) -> Features:
        """What the columns are."""
        return Features({n: self.source.features[n] for n in self.column_names})

    def select(self, indices: Any) -> Self:
        """Picks rows, as a view.

        Args:
          indices: what `ds[...]` takes: positions, a range, or a mask of booleans.

        Returns:
          A dataset with those rows, in that order.

        Raises:
          IndexError: if a position is out of range.
          ShapeError: if a mask has another length.

        Example:
          >>> from arrow_jax import Dataset
          >>> Dataset.from_dict({"x": [5, 6, 7]}).select([2, 0])[:]
          {'x': [7, 5]}
        """
        positions = resolve(indices, len(self))
        one = isinstance(positions, int)
        return self._view(np.array([positions]) if one else positions)

    def skip(self, n: int) -> Self:
        """Leaves out the first rows, as a view.

        Args:
          n: how many.

        Returns:
          The rest.

        Example:
          >>> from arrow_jax import Dataset
          >>> len(Dataset.from_dict({"x": [5, 6, 7]}).skip(1))
          2
        """
        return self._view(range(min(max(n, 0), len(self)), len(self)))

    def take(self, n: int) -> Self:
        """Keeps the first rows, as a view.

        Args:
          n: how many.

        Returns:
          At most `n` rows.

        Example:
          >>> from arrow_jax import Dataset
          >>> len(Dataset.from_dict({"x": [5, 6, 7]}).take(2))
          2
        """
        return self._view(range(min(max(n, 0), len(self))))

    def shuffle(self, seed: int = 0) -> Self:
        """Puts the rows into another order, as a view.

        For training, `Loader(..., shuffle=True)` gives another order each epoch.

        Args:
          seed: the same seed gives the same order, also the one that is there when
            none is given; `datasets` draws one then.

        Returns:
          The shuffled dataset.

        Example:
          >>> from arrow_jax import Dataset
          >>> sorted(Dataset.from_dict({"x": [5, 6, 7]}).shuffle(seed=1)["x"])
          [5, 6, 7]
        """
        return self._view(permute(np.arange(len(self)), n=len(self), seed=seed))

    def unique(self, column: str) -> list[Any]:
        """Lists the values that a column has, each once, as Python objects.

        Args:
          column: its name.

        Returns:
          The values in the order in which they come, None among them if it does.

        Raises:
          ArrowJaxError: if the column is not there, or its values can't be compared.

        Example:
          >>> from arrow_jax import Dataset
          >>> Dataset.from_dict({"x": [6, 5, 6]}).unique("x")
          [6, 5]
        """
        check_columns((column,), self.source.table.column_names)
        form = Format("arrow")
        table = give(self.source, [column], self.rows, form, plans=[], one=False)
        try:
            return table.column(0).unique().to_pylist()
        except pa.ArrowNotImplementedError as error:
            raise ArrowJaxError(
                f"column {column!r} has type {table.schema.field(0).type}, of which no "
                "two can be compared. Choose one of numbers, times or strings"
            ) from error

    def sort(
        self,
        columns: str | Sequence[str],
        *,
        reverse: bool | Sequence[bool] = False,
        null_placement: str = "at_end",
    ) -> Self:
        """Sorts the rows by columns, as a view; equal rows keep their order.

        Args:
          columns: a name, or several: rows equal in the first go by the second.
          reverse: whether the greatest comes first; one for all columns, or one each.
          null_placement: "at_end" or "at_start"; NaN lies next to the nulls.

        Returns:
          The sorted dataset.

        Raises:
          ArrowJaxError: if a column is not there or has no order, or an option is
            none.

        Example:
          >>> from arrow_jax import Dataset
          >>> Dataset.from_dict({"x": [6, None, 5]}).sort("x")["x"]
          [5, 6, None]
        """
        names = [columns] if isinstance(columns, str) else list(columns)
        check_columns(tuple(names), self.source.table.column_names)
        one = isinstance(reverse, bool | np.bool_)
        flags = [bool(reverse)] * len(names) if one else list(reverse)
        if len(flags) != len(names) or not names:
            raise ArrowJaxError(
                f"sort got {len(names)} columns and reverse={flags}: name at least one "
                "column, and give one boolean for all or one for each"
            )
        if null_placement not in ("at_end", "at_start"):
            raise ArrowJaxError(
                f'null_placement={null_placement!r}: wanted "at_end" or "at_start"'
            )
        order = np.arange(len(self))
        for name, backwards in reversed(list(zip(names, flags, strict=True))):
            order = order[self._order(name, order, null_placement, backwards)]
        return self._view(order)

    def _order(
        self,
        name: str,
        within: np.ndarray,
        nulls: str,
        backwards: bool,  # noqa: FBT001
    ) -> np.ndarray:
        rows = compose(self.rows, within)
        form = Format("arrow")
        table = give(self.source, [name], rows, form, plans=[], one=False)
        key = (name, "descending" if backwards else "ascending")
        try:
            order = np.asarray(_sort_indices(table, key))
        except pa.ArrowException as error:
            raise ArrowJaxError(
                f"column {name!r} has type {table.schema.field(0).type}, which has no "
                "order. Sort by a column of numbers, times or strings"
            ) from error
        # Arrow puts nulls last, and NaN before them.
        missing = table.column(0).is_null(nan_is_null=True)
        n_missing = np.count_nonzero(np.asarray(missing))
        return np.roll(order, n_missing) if nulls == "at_start" else order

    def train_test_split(
        self, test_size: float = 0.25, *, seed: int = 0, shuffle: bool = True
    ) -> "DatasetDict":
        """Splits the rows in two, as views.

        Args:
          test_size: a part below 1.0, rounded up to whole rows, or a number of rows.
          seed: the same seed gives the same split.
          shuffle: whether rows are chosen at random; otherwise the last are "test".

        Returns:
          The datasets "train" and "test".

        Raises:
          ArrowJaxError: if one of them would have no rows, or the size is no number.

        Example:
          >>> from arrow_jax import Dataset
          >>> ds = Dataset.from_dict({"x": [*range(10)]})
          >>> {n: len(d) for n, d in ds.train_test_split(test_size=0.2).items()}
          {'train': 8, 'test': 2}
        """
        from arrow_jax._dataset_dict import DatasetDict  # noqa: PLC0415  (is made of these)

        n = len(self)
        is_number = isinstance(test_size, int | float | np.integer | np.floating)
        if not is_number or not math.isfinite(test_size):
            raise ArrowJaxError(
                f"train_test_split(test_size={test_size!r}): wanted a part between 0.0 "
                "and 1.0, or a number of rows"
            )
        is_part = isinstance(test_size, float | np.floating)
        n_test = math.ceil(test_size * n) if is_part else int(test_size)
        if not 0 < n_test < n:
            raise ArrowJaxError(
                f"train_test_split(test_size={test_size!r}) of {n} rows leaves "
                f"{n - n_test} to train and {n_test} to test. Give a part between 0.0 "
                f"and 1.0, or a number of rows from 1 to {n - 1}"
            )
        order: Index = range(n)
        if shuffle:
            order = permute(np.arange(n), n=n, seed=seed)
        parts = {"train": order[: n - n_test], "test": order[n - n_test :]}
        views: dict[str, Any] = {k: self._view(rows) for k, rows in parts.items()}
        return DatasetDict(views)

    def __getstate__(self) -> dict[str, Any]:
        # A view travels without the rows that it does not show, and keeps the facts.
        source, rows = self.source, self.rows
        if len(rows) < len(source):
            # Indices, since Arrow pickles all that lies under a slice.
            view = replace(self, rows=np.asarray(rows, np.int64))
            source, rows = view._own_source(), range(len(rows))  # noqa: SLF001
        if source.elders:
            scan_files(source)
        return {"source": source, "rows": rows, "format": self.format}

    def _own_source(self) -> Source:
        """Copies these rows into a source that knows what is known about all."""
        names = self.source.table.column_names
        form = Format("arrow")
        table = give(self.source, names, self.rows, form, plans=[], one=False)
        return Source.of(
            table.replace_schema_metadata(None),
            self.source.features,
            folder=self.source.folder,
            said=known_of(self.source, names, all_rows=False),
            typed=self.source.typed,
            elders=elders_of(self.source, names),
        )

    def _view(self, positions: Index) -> Self:
        return replace(self, rows=compose(self.rows, positions))


def _sort_indices(table: pa.Table, key: tuple[str, str]) -> Any:
    import pyarrow.compute as pc  # noqa: PLC0415  (it takes long, and few need it)

    type_ = table.schema.field(0).type
    if pa.types.is_dictionary(type_):  # by what the codes stand for
        table = table.cast(pa.schema([(key[0], type_.value_type)]))
    return pc.call_function("sort_indices", [table], pc.SortOptions([key]))

"""The dataset: rows of a source, and the format in which they are given."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from arrow_jax._batches import check_batched
from arrow_jax._chunks import Index
from arrow_jax._column_verbs import ColumnVerbs
from arrow_jax._encode import to_arrow
from arrow_jax._errors import ArrowJaxError
from arrow_jax._filter import kept_rows
from arrow_jax._format import check_columns, make_format, summary
from arrow_jax._give import give
from arrow_jax._map import mapped
from arrow_jax._plan import Plan
from arrow_jax._planner import check_times, plan_columns
from arrow_jax._rows import check_batch_size, compose, resolve
from arrow_jax._source import Source
from arrow_jax._table import as_table, with_features
from arrow_jax._together import Together, find_together
from arrow_jax._unread import typed_columns


@dataclass(frozen=True, eq=False, repr=False)
class Dataset(ColumnVerbs):
    """Rows of Arrow data that turn into arrays on access.

    Make one with `from_dict`, `from_arrow` or `read_parquet`. It never changes: every
    verb returns another one, and selections and shuffles are index views that copy
    nothing.

    What a column becomes is decided for the column as a whole, never by the rows asked
    for: a null, a short row or an empty slice changes neither dtype nor rank nor
    container, so a jitted function that takes a batch is traced once.

    Attributes:
      source: the table and what is known about it, shared by all views.
      rows: which of its rows these are: a range or int64 indices.
      format: what they are given as.

    Example:
      >>> ds = Dataset.from_dict({"data": [[1, 2], [3, 4]]}).with_format("jax")
      >>> ds[0]
      {'data': Array([1, 2], dtype=int32)}
      >>> ds[:2]["data"].shape
      (2, 2)
    """

    @classmethod
    def from_dict(
        cls, mapping: Mapping[str, Any], features: Mapping[str, Any] | None = None
    ) -> "Dataset":
        """Makes a dataset of columns in memory; they are copied.

        Args:
          mapping: name -> list, NumPy or jax array of any rank, one row for each
            element of the first axis.
          features: what some of the columns are, such as `ClassLabel` or `Image`.

        Returns:
          The dataset.

        Raises:
          ShapeError: if columns differ in their number of rows.
          ArrowJaxError: if a column can't become what its feature declares.

        Example:
          >>> from arrow_jax import ClassLabel, Features
          >>> features = Features({"pet": ClassLabel(["cat", "dog"])})
          >>> Dataset.from_dict({"pet": ["dog", "cat"]}, features)[:]
          {'pet': [1, 0]}
        """
        table = to_arrow(mapping, features)
        return cls.of_source(Source.of(table, features, typed=typed_columns(mapping)))

    @classmethod
    def from_arrow(
        cls,
        data: Any,
        features: Mapping[str, Any] | None = None,
        *,
        folder: Any = None,
    ) -> "Dataset":
        """Makes a dataset of Arrow data; nothing is copied.

        Args:
          data: a `pyarrow` Table, RecordBatch or RecordBatchReader, a Hugging Face
            Dataset, or any object with `__arrow_c_stream__` or `__arrow_c_array__`,
            such as a polars or pandas frame.
          features: what some of the columns are; one that is stored as something else
            is cast, such as decimals to `Value("float32")`.
          folder: where paths in image columns start; only what lies below is read, and
            absolute paths only with "/". By default no path is.

        Returns:
          The dataset.

        Raises:
          UnsupportedTypeError: if the object is none of these.
          ArrowJaxError: if two columns have one name, or one can't be cast.

        Example:
          >>> import pyarrow as pa
          >>> len(Dataset.from_arrow(pa.table({"x": [1, 2, 3]})))
          3
        """
        table = with_features(as_table(data), features or {})
        below = None if folder is None else Path(folder)
        return cls.of_source(Source.of(table, features, folder=below))

    @classmethod
    def of_source(cls, source: Source, rows: Index | None = None) -> "Dataset":
        """Makes a dataset of a source; for this package's readers.

        Args:
          source: of the rows.
          rows: which of them, all by default.

        Returns:
          The dataset, without a format.
        """
        return cls(source, range(len(source)) if rows is None else rows)

    @property
    def spec(self) -> dict[str, Any]:
        """The tree of `jax.ShapeDtypeStruct` that one row is.

        Columns of Python objects are left out. A column whose rows differ in length is
        a `Ragged` whose values have an axis of length 0, since no number would be
        right. Without a format it is that of "jax".

        Example:
          >>> Dataset.from_dict({"x": [[1, 2], [3, 4]]}).spec
          {'x': ShapeDtypeStruct(shape=(2,), dtype=int32)}
        """
        if not self._formats_arrays:
            form = self.format
            return self.with_format("jax", columns=form.columns, nulls=form.nulls).spec
        specs = {name: plan.spec for name, plan in self._plans.items()}
        return {name: spec for name, spec in specs.items() if spec is not None}

    def with_format(
        self,
        kind: str | None = None,
        *,
        type: str | None = None,  # noqa: A002  (as `datasets` calls it)
        columns: Any = None,
        device: Any = None,
        nulls: Any = "error",
        dtype: Any = None,
    ) -> "Dataset":
        """Chooses what rows are given as; nothing is converted before it is asked for.

        Args:
          kind: "jax" for `jax.Array`, "numpy", "arrow" for tables, or None for Python
            objects. "jax" and "numpy" give strings and bytes as Python objects.
          type: another name for it, as `datasets` has it.
          columns: the names to give; all of them by default.
          device: only with "jax": `str(device)`, a Device or a Sharding, to which the
            arrays are committed. By default they are uncommitted, on jax's default
            device.
          nulls: "error" raises at the first use of a column with nulls among these
            rows; "mask" gives `Masked(values, valid)` for every column of numbers;
            "nan" puts NaN into floats and raises for others; a number fills in. Or a
            mapping from column to one of these.
          dtype: what numbers become instead of their own dtype, checked: nothing is cut
            and nothing wraps. One dtype is for all columns of integers and floats;
            booleans, labels, codes and times keep theirs. Or a mapping from column to
            dtype.

        Returns:
          The same rows in another format. 64-bit columns become 32 bits wide if
          `jax_enable_x64` is off now; values that do not fit raise.

        Raises:
          UnsupportedTypeError: if a column has no array to become.
          NarrowingError: if a time does not fit 32 bits and `jax_enable_x64` is off.
          DeviceError: if this process has no such device.
          ArrowJaxError: if a column or an option is unknown.

        Example:
          >>> ds = Dataset.from_dict({"x": [1, None]})
          >>> ds.with_format("numpy", nulls="mask")[:]["x"].valid
          array([ True, False])
        """
        known = self.source.table.column_names
        if kind is not None and type not in (None, kind):
            raise ArrowJaxError(
                f"with_format({kind!r}, type={type!r}): both say what rows are given "
                "as. Give one of them"
            )
        chosen = make_format(
            kind or type,
            known,
            columns=columns,
            device=device,
            nulls=nulls,
            dtype=dtype,
        )
        return replace(self, format=chosen)

    def set_format(self, kind: str | None = None, **options: Any) -> None:
        """Sets the format of this very dataset, as `datasets` has it.

        `with_format` leaves the dataset as it is and is to be preferred: whoever else
        holds this one sees its rows change.

        Args:
          kind: see `with_format`.
          **options: likewise.

        Example:
          >>> ds = Dataset.from_dict({"x": [1, 2]})
          >>> ds.set_format("jax")
          >>> ds["x"]
          Array([1, 2], dtype=int32)
        """
        made = self.with_format(kind, **options)
        for name in ("_plans", "_checked"):
            self.__dict__.pop(name, None)
        object.__setattr__(self, "format", made.format)

    def __post_init__(self) -> None:
        # Types that can't be arrays are refused now, not at the third batch.
        if self._formats_arrays:
            for plan in self._plans.values():
                check_times(plan, self.rows)

    @property
    def _formats_arrays(self) -> bool:
        return self.format.kind in ("jax", "numpy")

    @cached_property
    def _plans(self) -> dict[str, Plan]:
        return plan_columns(
            self.source,
            self.column_names,
            x64=self.format.x64,
            nulls=self.format.nulls,
            dtype=self.format.dtype,
        )

    @cached_property
    def _checked(self) -> dict[str, Plan]:
        return {}

    def _plan(self, name: str) -> Plan:
        if name not in self._checked:
            plan = self._plans[name]
            plan.check(self.rows)
            self._checked[name] = plan
        return self._checked[name]

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            check_columns((key,), self.column_names)
            return self._give([key], self.rows)[key]
        positions = resolve(key, len(self))
        if isinstance(positions, int):
            row = range(positions, positions + 1)
            return self._give(self.column_names, compose(self.rows, row), one=True)
        return self._give(self.column_names, compose(self.rows, positions))

    def __getitems__(self, rows: list[int]) -> Any:
        """Gives rows as one batch; torch's DataLoader asks for them so."""
        return self[rows]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def iter(self, batch_size: int, *, drop_last_batch: bool = False) -> Iterator[Any]:
        """Gives the rows in batches, in order.

        `Loader` does more: it shuffles, prefetches, shards and resumes. In the format
        "jax" up to 16 batches are ahead of the reader, of 16 MB together, and after
        some hundred batches a compiled function sends them.

        Args:
          batch_size: rows in a batch; the last one may have fewer.
          drop_last_batch: whether to leave such a last batch out.

        Yields:
          What `ds[a:b]` gives.

        Raises:
          ArrowJaxError: if `batch_size` is less than one.

        Example:
          >>> ds = Dataset.from_dict({"x": [1, 2, 3]})
          >>> list(ds.iter(batch_size=2))
          [{'x': [1, 2]}, {'x': [3]}]
        """
        check_batch_size(batch_size)
        stop = len(self) - len(self) % batch_size if drop_last_batch else len(self)
        return self._batches(batch_size, stop)

    def _batches(self, batch_size: int, stop: int) -> Iterator[Any]:
        together, first = self._together(batch_size), 0
        if together is not None:
            n = stop // batch_size
            first = n * batch_size
            yield from together.batches(self.rows, n)
        for i in range(first, stop, batch_size):
            yield self[i : i + batch_size]

    def _together(self, batch_size: int) -> Together | None:
        if self.format.kind != "jax":
            return None
        plans = {name: self._plan(name) for name in self.column_names}
        return find_together(plans, self.format, batch_size)

    def _give(self, names: list[str], rows: Index, *, one: bool = False) -> Any:
        plans = [self._plan(name) for name in names] if self._formats_arrays else []
        return give(self.source, names, rows, self.format, plans=plans, one=one)

    def filter(
        self, condition: Any, *, batched: bool = True, batch_size: int = 1024
    ) -> "Dataset":
        """Keeps the rows that a condition holds for, as a view.

        Args:
          condition: an Arrow expression such as `pc.field("label") == 3`, or a
            function that takes a batch, a dict of columns in the dataset's format
            ("numpy" if none was set), and returns one boolean a row. A column is
            decoded, and its nulls are minded, when the function asks for it.
          batched: True; it is there for code written for `datasets`.
          batch_size: rows in a batch, for a function.

        Returns:
          The rows that are left; those for which an expression is null are not.

        Raises:
          ShapeError: if the function returns another number of booleans.
          NullsError: if it asks for a column with nulls, and `nulls=` says nothing.
          ArrowJaxError: if an expression names no column, or is no boolean.

        Example:
          >>> import pyarrow.compute as pc
          >>> ds = Dataset.from_dict({"x": [5, 6, 7]})
          >>> ds.filter(pc.field("x") > 5)["x"]
          [6, 7]
          >>> ds.filter(lambda batch: batch["x"] % 2 == 1)["x"]
          [5, 7]
        """
        check_batched("filter", batched=batched)
        return self._view(kept_rows(self, condition, batch_size))

    def map(
        self,
        function: Callable[[dict[str, Any]], Mapping[str, Any]],
        *,
        batched: bool = True,
        batch_size: int = 1024,
        features: Mapping[str, Any] | None = None,
    ) -> "Dataset":
        """Makes columns out of columns, batch by batch.

        Args:
          function: takes a dict of columns in the dataset's format ("numpy" if none
            was set) and returns a dict of columns: arrays, lists, `Masked`, `Ragged`.
            A column is decoded, and its nulls are minded, when the function asks for
            it; columns that it does not return, or returns as they were given, stay as
            they are stored.
          batched: True; it is there for code written for `datasets`.
          batch_size: rows in a batch.
          features: what some of the new columns are.

        Returns:
          A new dataset in memory, in the same format. What the function made or changed
          has the dtype that it returned.

        Raises:
          ShapeError: if the function returns no dict of columns, another number of
            rows, or columns that differ from batch to batch.
          NullsError: if it asks for a column with nulls, and `nulls=` says nothing.

        Example:
          >>> ds = Dataset.from_dict({"x": [1, 2]})
          >>> ds.map(lambda batch: {"y": batch["x"] * 2})[:]
          {'x': [1, 2], 'y': [2, 4]}
        """
        check_batched("map", batched=batched)
        return mapped(self, function, batch_size, features)

    def __repr__(self) -> str:
        return summary(len(self), self.features, self.format)

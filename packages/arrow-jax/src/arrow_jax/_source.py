"""Where the rows of a dataset are, and what is known about them.

Facts belong to the source: its views (selections, shuffles, the splits of a
DatasetDict, which lie one after the other in one source) inherit them, so a column
becomes the same thing in all of them. Facts are found once, at first use.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from arrow_jax._chunks import Kept
from arrow_jax._column import Column, prepare
from arrow_jax._dictionaries import with_values
from arrow_jax._errors import ArrowJaxError, UnsupportedTypeError
from arrow_jax._facts import Facts, key_of
from arrow_jax._features import Features
from arrow_jax._lengths import check_lengths
from arrow_jax._metadata import is_list, read_features
from arrow_jax._plain import plain
from arrow_jax._split import check_fields, split


@dataclass(frozen=True, eq=False)
class Source:
    """A table with its features.

    Attributes:
      table: the rows.
      features: one a column.
      origins: (first row, words) of each part the rows come from, in order; the words,
        such as " of a.parquet", end what errors call a row.
      folder: where paths in image columns start from, or None if none may be opened.
      said: see `key_of` -> what files say is known about it.
      typed: columns of strings that the caller typed into `from_dict`.
      elders: column of images or sounds -> the source, and its column there, of which
        these rows are a part; what is known about all of that holds for the part.
    """

    table: pa.Table
    features: Features
    origins: tuple[tuple[int, str], ...] = ((0, ""),)
    folder: Path | None = None
    said: Mapping[str, Facts] = field(default_factory=dict)
    typed: frozenset[str] = frozenset()
    elders: Mapping[str, tuple["Source", str]] = field(default_factory=dict)
    _facts: dict[Any, Any] = field(default_factory=dict, repr=False)
    _lock: Any = field(default_factory=threading.RLock, repr=False)

    @classmethod
    def of(
        cls,
        table: pa.Table,
        features: Mapping[str, Any] | None = None,
        *,
        origins: tuple[tuple[int, str], ...] = ((0, ""),),
        folder: Path | None = None,
        said: Mapping[str, Facts] | None = None,
        typed: frozenset[str] = frozenset(),
        elders: Mapping[str, tuple["Source", str]] | None = None,
    ) -> "Source":
        """Makes a source of a table.

        Args:
          table: the rows.
          features: some columns' features; those of the others come from the schema.
          origins: see the class.
          folder: see the class.
          said: see the class.
          typed: see the class.
          elders: see the class.

        Returns:
          The source.

        Raises:
          ArrowJaxError: if two columns, or fields of one struct, have one name, or a
            column ends early.
        """
        names = table.column_names
        twice = sorted({n for n in names if names.count(n) > 1})
        if twice:
            raise ArrowJaxError(
                f"column {twice[0]!r} is there {names.count(twice[0])} times. Give "
                "each its own name: table.rename_columns([...])"
            )
        check_lengths(table)
        for column in table.schema:
            check_fields(column)
        if any("dictionary<" in str(t) for t in table.schema.types):
            table = table.unify_dictionaries()
        found = dict(read_features(table.schema)) | dict(features or {})
        if table.num_rows:
            for name, feature in found.items():
                found[name] = with_values(feature, table.column(name).chunk(0))
        said, elders = said or {}, elders or {}
        return cls(table, Features(found), origins, folder, said, typed, elders)

    def __len__(self) -> int:
        return self.table.num_rows

    def __reduce__(self) -> Any:
        return Source, (
            self.table,
            self.features,
            self.origins,
            self.folder,
            self.said,
            self.typed,
            {},  # elders stay behind; what they say was found before, see `scan_files`
            {k: v for k, v in self._facts.items() if k[0] in ("headers", "sounds")},
        )

    def elder(self, path: tuple[str, ...]) -> tuple["Source", tuple[str, ...]] | None:
        """Finds where it is known what the images or sounds of a column are.

        Args:
          path: column, then the fields that lead to it.

        Returns:
          The elder and the path there, or None where it is this source.
        """
        if path[0] not in self.elders:
            return None
        source, column = self.elders[path[0]]
        return source, (column, *path[1:])

    def words(self, row: int) -> str:
        """Names a row for errors.

        Args:
          row: its number in this source.

        Returns:
          Words such as "row 7" or "row 7 of b.parquet".
        """
        firsts = [first for first, _ in self.origins]
        part = int(np.searchsorted(firsts, row, side="right")) - 1
        first, words = self.origins[part]
        return f"row {row - first}{words}"

    def fact(self, key: Any, find: Callable[[], Any]) -> Any:
        """Finds a fact, or remembers it.

        Args:
          key: what it is called.
          find: finds it, with no arguments.

        Returns:
          What `find` returned the first time.
        """
        with self._lock:
            if key not in self._facts:
                self._facts[key] = find()
            return self._facts[key]

    def stored(self, name: str) -> Kept:
        """A column as it is stored.

        Args:
          name: the column's.

        Returns:
          The column, of the type that the table has.
        """
        return self.fact(("stored", name), lambda: Kept.of(self._chunks(name)))

    def kept(self, path: tuple[str, ...]) -> Kept:
        """A column, or a field of a struct column, as Arrow of a plain layout.

        Args:
          path: column, then the fields that lead to it.

        Returns:
          The column.
        """
        return self.fact(("kept", path), lambda: Kept.of(self._arrays(path)))

    def numbers(
        self, path: tuple[str, ...], declared: tuple[int | None, ...] = ()
    ) -> Column:
        """A column, or a field of a struct column, as NumPy.

        Args:
          path: column, then the fields that lead to it.
          declared: sizes of the axes where a feature declares them.

        Returns:
          The prepared column.

        Raises:
          ShapeError: if a row differs from the declared shape.
        """
        return self.fact(
            ("numbers", path),
            lambda: prepare(
                ".".join(path),
                self._arrays(path),
                declared=declared,
                said=self.said.get(key_of(path)),
                words=self.words,
            ),
        )

    def _arrays(self, path: tuple[str, ...]) -> list[pa.Array]:
        arrays = [plain(a) for a in self._chunks(path[0])]
        for name in path[1:]:
            arrays = [split(a)[name] for a in arrays]
        return arrays

    def _chunks(self, name: str) -> list[pa.Array]:
        column = self.table.column(name)
        return column.chunks or [pa.nulls(0, column.type)]


def unsupported(path: tuple[str, ...], type_: Any) -> UnsupportedTypeError:
    """Makes the error for a type that has no array to become.

    Args:
      path: column, then the fields that lead to it.
      type_: its plain Arrow type.

    Returns:
      The error, with ways out.
    """
    column, *fields = path
    feature = _castable(type_)
    if fields:
        feature = feature and f"ds.features[{column!r}] | {{{fields[0]!r}: {feature}}}"
    ask = f"Say what it shall be: ds.cast_column({column!r}, {feature}), or leave"
    return UnsupportedTypeError(
        f"column {'.'.join(path)!r} has type {type_}, which has no array to become. "
        f"{ask if feature and len(fields) < 2 else 'Leave'} it out with "
        'with_format(..., columns=[...]), or read it with with_format("arrow")'
    )


def _castable(type_: pa.DataType) -> str:
    """A feature that such a column can be cast to, as one types it."""
    if is_list(type_):
        inner = _castable(type_.value_type)
        return inner and f"List({inner})"
    if pa.types.is_null(type_):
        return 'Value("int32")'
    return 'Value("float32")' if pa.types.is_decimal(type_) else ""

"""Parquet files that are read a few row groups at a time."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from arrow_jax._errors import ArrowJaxError
from arrow_jax._facts import KEY, Facts, from_json, merge
from arrow_jax._features import Features
from arrow_jax._files import differ
from arrow_jax._format import PYTHON, Format, check_columns, make_format, summary
from arrow_jax._metadata import read_features
from arrow_jax._parquet import PARQUET
from arrow_jax._paths import expand, filesystem_of, is_address


class Group(NamedTuple):
    """A row group.

    Attributes:
      file: its number among the files.
      number: its number in the file.
      n: how many rows it has, after `filters`.
    """

    file: int
    number: int
    n: int


@dataclass(frozen=True, eq=False, repr=False)
class Scan:
    """Parquet files for a `Loader` that need not fit into memory; from `scan_parquet`.

    Attributes:
      files: their names.
      fragments: the same, as Arrow opens them.
      stamps: size and time of each when it was opened, None of one behind an address.
      groups: the row groups, in order.
      schema: of the columns.
      features: one a column.
      filters: an Arrow expression, or None.
      folder: where paths in image columns start.
      said: what the files say is known about their columns.
      format: columns, nulls, dtype and device for the loader.

    Example:
      >>> import pathlib, tempfile
      >>> from arrow_jax import Loader, Window, scan_parquet, write_parquet
      >>> folder = pathlib.Path(tempfile.mkdtemp())
      >>> write_parquet(folder / "a.parquet", {"x": [1, 2, 3]})
      >>> scan = scan_parquet(folder)
      >>> batch = next(iter(Loader(scan, 3, shuffle=Window(8))))
      >>> sorted(batch["x"].tolist())
      [1, 2, 3]
    """

    files: tuple[str, ...]
    fragments: tuple[Any, ...]
    stamps: tuple[Any, ...]
    groups: tuple[Group, ...]
    schema: pa.Schema
    features: Features
    filters: Any
    folder: Path | None
    said: Mapping[str, Facts]
    format: Format = PYTHON
    known: dict[Any, Any] = field(default_factory=dict)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "known": {}}

    def __len__(self) -> int:
        return int(self.starts[-1])

    @property
    def starts(self) -> np.ndarray:
        """The row at which each row group begins, and the end of the last."""
        return np.cumsum([0, *(group.n for group in self.groups)])

    @property
    def column_names(self) -> list[str]:
        """The columns that the format gives."""
        chosen = self.format.columns
        return list(self.schema.names if chosen is None else chosen)

    def with_format(
        self,
        kind: str | None = None,
        *,
        columns: Any = None,
        device: Any = None,
        nulls: Any = "error",
        dtype: Any = None,
    ) -> "Scan":
        """Chooses what the loader makes of the columns; see `Dataset.with_format`.

        Columns that are not named are not read.

        Args:
          kind: "jax", "numpy" or None; the loader gives arrays in any case.
          columns: the names to give; all of them by default.
          device: see `Dataset.with_format`.
          nulls: likewise; with "mask", every level of a column whose files do not say
            that it has no nulls gets a mask.
          dtype: likewise.

        Returns:
          The same files in another format.

        Raises:
          ArrowJaxError: if a column or an option is unknown.
        """
        chosen = make_format(
            kind,
            self.schema.names,
            columns=columns,
            device=device,
            nulls=nulls,
            dtype=dtype,
        )
        return replace(self, format=chosen)

    def read(self, groups: Sequence[int], columns: Sequence[str]) -> pa.Table:
        """Reads row groups.

        Args:
          groups: their numbers, ascending.
          columns: the names to read.

        Returns:
          Their rows, one after the other.

        Raises:
          ArrowJaxError: if a file is gone or was cut short.
        """
        parts = []
        for file in dict.fromkeys(self.groups[g].file for g in groups):
            wanted = [self.groups[g] for g in groups if self.groups[g].file == file]
            part = self._read(file, [g.number for g in wanted], list(columns))
            if len(part) != sum(g.n for g in wanted):
                raise self.changed(file)
            parts.append(part)
        return pa.concat_tables(parts)

    def changed(self, file: int) -> ArrowJaxError:
        """Makes the error for a file that is not what was opened.

        Args:
          file: its number.

        Returns:
          The error.
        """
        return ArrowJaxError(
            f"{self.files[file]} has changed since it was opened. Scan it again"
        )

    def _read(self, file: int, numbers: list[int], columns: list[str]) -> pa.Table:
        if (
            Path(self.files[file]).exists()
            and _stamp(self.files[file]) != (self.stamps[file])
        ):
            raise self.changed(file)
        try:
            some = self.fragments[file].subset(row_group_ids=numbers)
            table = some.to_table(columns=columns, filter=self.filters)
        except (OSError, pa.ArrowException) as error:
            raise ArrowJaxError(
                f"{self.files[file]} can't be read any more: {error}. It was there "
                "when the scan was made; put it back and resume"
            ) from error
        return table

    def fact(self, key: Any, find: Any) -> Any:
        """Finds something about the rows once.

        Args:
          key: what it is called.
          find: finds it.

        Returns:
          What `find` returned the first time.
        """
        if key not in self.known:
            self.known[key] = find()
        return self.known[key]

    def __repr__(self) -> str:
        lines = summary(len(self), self.features, self.format).split("\n")
        n = len(self.files)
        files = f"{n} file{'s' if n > 1 else ''}, {len(self.groups)} row groups"
        return "\n".join([f"Scan of {files}, {len(self):,} rows", *lines[1:]])


def scan_parquet(
    paths: Any,
    *,
    columns: Sequence[str] | None = None,
    filters: Any = None,
    features: Mapping[str, Any] | None = None,
    folder: Any = None,
) -> Scan:
    """Opens Parquet files for a `Loader`, without reading their rows.

    Use it for files that do not fit into memory; `read_parquet` reads them whole. Only
    footers are read now, and the row groups as the loader gets to them. What a column
    becomes must be known beforehand: lists of any length want `ragged=`, images a
    declared shape.

    Args:
      paths: as for `read_parquet`, but no mapping.
      columns: the names to read; all of them by default.
      filters: an Arrow expression; which rows it keeps is counted now, reading only the
        columns it names.
      features: what some of the columns are, such as `Image(shape=(28, 28))`.
      folder: as for `read_parquet`.

    Returns:
      The scan.

    Raises:
      FileNotFoundError: if there is nothing at a path.
      ArrowJaxError: if a file is not Parquet or is cut short, a column is not there, or
        files differ in their columns.

    Example:
      >>> import pathlib, tempfile
      >>> from arrow_jax import scan_parquet, write_parquet
      >>> folder = pathlib.Path(tempfile.mkdtemp())
      >>> write_parquet(folder / "a.parquet", {"x": [1, 2, 3]})
      >>> scan_parquet(folder)
      Scan of 1 file, 1 row groups, 3 rows
        x  Value(dtype='int64')
    """
    several = isinstance(paths, Sequence) and not isinstance(paths, str)
    listed = paths if several else [paths]
    for path in listed:
        if not isinstance(path, str | os.PathLike):
            raise ArrowJaxError(
                f"scan_parquet got {path!r}, wanted a path, an address or a list"
            )
    files = [f for p in listed for f in expand(str(p), PARQUET.endings)]
    if not files:
        raise ArrowJaxError("scan_parquet got an empty list: name at least one file")
    fragments = [_open(file) for file in files]
    first = fragments[0].physical_schema
    for file, fragment in zip(files, fragments, strict=True):
        if not fragment.physical_schema.equals(first):
            raise differ(file, files[0], fragment.physical_schema, first)
    if twice := sorted({n for n in first.names if first.names.count(n) > 1}):
        raise ArrowJaxError(
            f"{files[0]}: column {twice[0]!r} is there {first.names.count(twice[0])} "
            "times. Write the file again, with a name for each column"
        )
    names = first.names if columns is None else _names(columns, first.names)
    if filters is not None:
        _check_filter(files[0], fragments[0], filters)
    schema = pa.schema([first.field(name) for name in names], first.metadata)
    known = dict(read_features(schema)) | dict(features or {})
    check_columns(tuple(known), names)
    facts = [from_json((f.metadata.metadata or {}).get(KEY)) for f in fragments]
    folders = {str(Path(f).parent) for f in files if not is_address(f)}
    below = Path(folders.pop()) if len(folders) == 1 else None
    return Scan(
        files=tuple(files),
        fragments=tuple(fragments),
        stamps=tuple(map(_stamp, files)),
        groups=tuple(_groups(files, fragments, filters)),
        schema=schema,
        features=Features(known),
        filters=filters,
        folder=below if folder is None else Path(folder),
        said=merge(facts) if all(facts) else {},
    )


def _names(columns: Any, known: list[str]) -> list[str]:
    if not isinstance(columns, str | Sequence):
        raise ArrowJaxError(f"columns={columns!r}: wanted a list of names")
    names = [columns] if isinstance(columns, str) else list(columns)
    check_columns(tuple(names), known)
    return list(dict.fromkeys(names))


def _stamp(path: str) -> tuple[int, int] | None:
    """Tells a file from one that was written in its place."""
    if is_address(path):
        return None
    found = Path(path).stat()
    return found.st_size, found.st_mtime_ns


def _open(path: str) -> Any:
    import pyarrow.dataset as pads  # noqa: PLC0415  (it loads pandas)

    filesystem, inside = filesystem_of(path)
    try:
        fragment = pads.ParquetFileFormat().make_fragment(inside, filesystem)
        fragment.ensure_complete_metadata()
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"there is nothing at {path}. Check the address"
        ) from error
    except (OSError, pa.ArrowException) as error:
        reason = str(error).split(". ", maxsplit=1)[0].replace("\n", " ")
        raise ArrowJaxError(
            f"{path} can't be read as Parquet: {reason}. It is another kind of file or "
            "was cut short; get it again, or write one with arrow_jax.write_parquet"
        ) from error
    return fragment


def _groups(files: list[str], fragments: list[Any], filters: Any) -> list[Group]:
    found = []
    for number, (file, fragment) in enumerate(zip(files, fragments, strict=True)):
        for group in fragment.row_groups:
            n = group.num_rows
            if filters is not None:
                n = _kept(file, fragment, group.id, filters)
            if n:
                found.append(Group(number, group.id, n))
    return found


def _kept(file: str, fragment: Any, number: int, filters: Any) -> int:
    try:
        return fragment.subset(row_group_ids=[number]).count_rows(filter=filters)
    except (pa.ArrowException, TypeError) as error:
        raise _no_filter(file, error) from error


def _check_filter(file: str, fragment: Any, filters: Any) -> None:
    try:
        found = fragment.scanner(columns={"kept": filters}).projected_schema
    except (pa.ArrowException, TypeError, AttributeError) as error:
        raise _no_filter(file, error) from error
    if found.field("kept").type != pa.bool_():
        raise _no_filter(file, f"it is of type {found.field('kept').type}")


def _no_filter(file: str, reason: Any) -> ArrowJaxError:
    return ArrowJaxError(
        f"filters= can't be applied to {file}: {reason}. Give an Arrow expression that "
        'is true or false, such as pyarrow.compute.field("label") == 3'
    )

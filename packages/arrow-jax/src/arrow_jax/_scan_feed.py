"""Batches of row groups that are read as the loader gets to them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from arrow_jax._batcher import Batcher, make_batcher
from arrow_jax._buckets import Buckets
from arrow_jax._chunks import Index
from arrow_jax._dataset import Dataset
from arrow_jax._errors import ArrowJaxError, ShapeError, UnsupportedTypeError
from arrow_jax._facts import Facts
from arrow_jax._feed import Choices
from arrow_jax._format import Format
from arrow_jax._forms import Flat, Form, block_form, fitted, lengths_of
from arrow_jax._ledger import Ledger
from arrow_jax._pack import Pack
from arrow_jax._paths import short_names
from arrow_jax._plan import Plan
from arrow_jax._planner import plan_columns
from arrow_jax._scan import Scan
from arrow_jax._scan_facts import check_known, scan_facts
from arrow_jax._scan_reader import ScanReader
from arrow_jax._source import Source
from arrow_jax._state import describe_files, describe_groups, describe_lengths
from arrow_jax._stream import Sequential, Stream
from arrow_jax._table import with_features
from arrow_jax._window import Window, WindowStream


@dataclass(frozen=True, eq=False)
class ScanFeed:
    """Rows of files.

    Attributes:
      scan: the files.
      stream: the order of the rows.
      forms: column -> form.
      masked: whether batches get the key "valid".
      x64: whether 64-bit columns stay.
      empty: makes batches of no rows, which is all that a spec needs.
      said: what is known about the columns.
      block: see `Feed`.
    """

    scan: Scan
    stream: Stream
    forms: Mapping[str, Form]
    masked: bool
    x64: bool
    empty: Batcher
    said: Mapping[str, Facts]
    block: tuple[Buckets | Pack, np.ndarray] | None = None

    @property
    def format(self) -> Format:
        """Of the scan."""
        return self.scan.format

    @property
    def flat(self) -> list[str]:
        """The columns whose values have no batch axis."""
        return self.empty.flat

    def spec(self, batch_size: int, length: int | None = None) -> dict[str, Any]:
        """Finds what a batch is, without reading a row."""
        return self.empty.spec(batch_size, length)

    def manifest(self) -> dict[str, Any]:
        """Describes the data."""
        scan = self.scan
        sizes = [0] * len(scan.files)
        for group in scan.groups:
            sizes[group.file] += group.n
        names = short_names(scan.files)
        lengths = (
            {} if self.block is None else {"lengths": describe_lengths(self.block[1])}
        )
        return {
            **lengths,
            "rows": len(scan),
            "columns": {n: str(scan.schema.field(n).type) for n in scan.column_names},
            "view": "all" if scan.filters is None else f"where {scan.filters}",
            "files": describe_files(list(zip(names, sizes, strict=True))),
            "row_groups": describe_groups([group.n for group in scan.groups]),
        }

    def open(self, ledger: Ledger, ahead: int) -> ScanReader:
        """Begins a run."""
        return ScanReader(
            self.scan,
            self.stream,
            batcher=self._batcher,
            forms=self.forms,
            masked=self.masked,
            ledger=ledger,
            ahead=ahead,
        )

    def _batcher(self, table: pa.Table, groups: Sequence[int], origins: Any) -> Batcher:
        ds = dataset_of(self.scan, table, self.said, origins)
        form = self.scan.format
        plans = plan_columns(
            ds.source, ds.column_names, x64=self.x64, nulls=form.nulls, dtype=form.dtype
        )
        for plan in plans.values():
            plan.check(ds.rows)
        self._check_lengths(plans, groups, ds.rows)
        batcher = Batcher(
            view=ds.rows,
            plans={name: plans[name] for name in self.empty.plans},
            host={name: plans[name] for name in self.empty.host},
            forms=self.forms,
            masked=False,
        )
        wanted = self.empty.spec(1)
        for name, column in batcher.spec(1).items():
            if column != wanted[name]:
                raise ShapeError(
                    f"column {name!r}{origins[0][1]} becomes {column}, the files say "
                    f"{wanted[name]}. They were changed by another program: write "
                    "them again with arrow_jax.write_parquet"
                )
        return batcher

    def _check_lengths(
        self, plans: Mapping[str, Plan], groups: Sequence[int], rows: Index
    ) -> None:
        """Raises if lists have other lengths than when batches were planned."""
        if self.block is None:
            return
        (form, lengths), starts = self.block, self.scan.starts
        names = block_form(self.forms)[1]
        found = lengths_of(plans, names, form, rows)
        known = [lengths[starts[g] : starts[g + 1]] for g in groups]
        if not np.array_equal(found, np.concatenate(known)):
            raise self.scan.changed(self.scan.groups[groups[0]].file)


def dataset_of(
    scan: Scan,
    table: pa.Table,
    said: Mapping[str, Facts],
    origins: Any = ((0, ""),),
) -> Dataset:
    """Makes a dataset of some rows of a scan.

    Args:
      scan: the files.
      table: the rows.
      said: what is known about the columns.
      origins: see `Source`.

    Returns:
      The dataset, in the scan's format.
    """
    features = {name: scan.features[name] for name in table.column_names}
    source = Source.of(
        with_features(table, features),
        features,
        origins=origins,
        folder=scan.folder,
        said=said,
    )
    columns = tuple(table.column_names)
    return replace(
        Dataset.of_source(source), format=replace(scan.format, columns=columns)
    )


def scan_feed(scan: Scan, choices: Choices) -> ScanFeed:
    """Opens files.

    Args:
      scan: the files.
      choices: of the loader; they are shuffled by a `Window` or not.

    Returns:
      The feed.

    Raises:
      ArrowJaxError: and its kinds, as `Loader` says.
    """
    shuffle, seed, forms, host, masked, x64 = choices
    if not len(scan):
        kept = "" if scan.filters is None else f" where {scan.filters}"
        raise ArrowJaxError(f"the files have no rows{kept}: there is nothing to load")
    if shuffle is True:
        raise ArrowJaxError(
            "shuffle=True would read a row group for every row. Shuffle row groups and "
            "then rows within some of them: Loader(scan, ..., shuffle=Window(8)); or "
            "read everything: read_parquet"
        )
    check_known(scan, forms)
    if any(isinstance(form, Flat) for form in forms.values()):
        raise ArrowJaxError("Flat is for datasets in memory. Pad to a length")
    said = scan_facts(scan)
    fields = [scan.schema.field(name) for name in scan.column_names]
    # Schema.empty_table knows no lists of extension types.
    nothing = [pa.nulls(0, field.type) for field in fields]
    none = dataset_of(scan, pa.table(nothing, schema=pa.schema(fields)), said)
    try:
        empty = make_batcher(none, forms=forms, host=host, masked=masked, x64=x64)
    except UnsupportedTypeError as error:
        raise UnsupportedTypeError(
            f"{error}. Of a scan, say it with scan_parquet(..., features={{...}})"
        ) from error
    starts = tuple(scan.starts.tolist())
    stream: Stream = Sequential(len(scan))
    if isinstance(shuffle, Window):
        stream = WindowStream(starts, shuffle.row_groups, seed)
    form, names = block_form(forms)
    block = None
    if form is not None:
        lengths = scan.fact(
            ("lengths", isinstance(form, Pack), *names),
            lambda: _lengths(scan, names, form, said),
        )
        form = fitted(form, names[0], lengths, "row {}".format)
        forms = {**forms, **dict.fromkeys(names, form)}
        empty = replace(empty, forms=forms)
        block = form, lengths
    return ScanFeed(scan, stream, forms, masked, x64, empty, said, block)


def _lengths(
    scan: Scan, names: list[str], form: Any, said: Mapping[str, Facts]
) -> np.ndarray:
    """One pass over the columns whose lengths decide what is in a batch."""
    found = []
    for group in range(len(scan.groups)):
        ds = dataset_of(scan, scan.read([group], names), said)
        plans = plan_columns(ds.source, names, x64=True, nulls=0)
        found.append(lengths_of(plans, names, form, ds.rows))
    return np.concatenate(found)

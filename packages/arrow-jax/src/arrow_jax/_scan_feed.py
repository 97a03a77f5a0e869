"""Batches of row groups that are read as the loader gets to them."""

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from arrow_jax._batcher import Batcher, make_batcher
from arrow_jax._buckets import Buckets
from arrow_jax._dataset import Dataset
from arrow_jax._errors import ArrowJaxError, ShapeError
from arrow_jax._facts import Facts
from arrow_jax._format import Format
from arrow_jax._forms import Flat, Form, block_form, fitted, lengths_of
from arrow_jax._join_parts import join_host, join_parts
from arrow_jax._ledger import Ledger
from arrow_jax._pack import Pack, Packed
from arrow_jax._planner import plan_columns
from arrow_jax._ragged import segments
from arrow_jax._scan import Scan
from arrow_jax._scan_facts import check_known, scan_facts
from arrow_jax._source import Source
from arrow_jax._state import describe_files
from arrow_jax._step import Draft
from arrow_jax._stream import Sequential, Stream
from arrow_jax._table import with_features
from arrow_jax._window import Window, WindowStream

_KEPT = 2  # windows in memory: the one at hand and the one before it


@dataclass(frozen=True)
class _Part:
    """Row groups in memory.

    Attributes:
      groups: their numbers, ascending.
      firsts: int64[len(groups)], the row at which each begins here.
      batcher: of their rows.
    """

    groups: tuple[int, ...]
    firsts: np.ndarray
    batcher: Batcher


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
    _parts: OrderedDict[Any, _Part] = field(default_factory=OrderedDict)
    _lock: Any = field(default_factory=threading.Lock)

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
        sizes = dict.fromkeys((name.rsplit("/", 1)[-1] for name in scan.files), 0)
        for group in scan.groups:
            sizes[scan.files[group.file].rsplit("/", 1)[-1]] += group.n
        return {
            "rows": len(scan),
            "columns": {n: str(scan.schema.field(n).type) for n in scan.column_names},
            "view": "all" if scan.filters is None else f"where {scan.filters}",
            "files": describe_files(sizes),
        }

    def make(
        self, draft: Draft, local: np.ndarray | None, ledger: Ledger
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Makes the columns for the devices, and those that stay."""
        valid = np.arange(draft.size) < draft.n_real
        if local is not None:
            draft, valid = draft.local(local), valid[local]
        rows = np.asarray(draft.rows, np.int64)
        starts = self.scan.starts
        homes = np.searchsorted(starts, rows, side="right") - 1
        within = rows - starts[homes]
        made = []
        with self._lock:
            for part in self._parts_for(homes, draft, ledger):
                at = np.searchsorted(part.groups, homes)
                at = np.minimum(at, len(part.groups) - 1)
                mine = np.flatnonzero(np.asarray(part.groups)[at] == homes)
                some = draft.of(mine, part.firsts[at[mine]] + within[mine])
                made.append((mine, *part.batcher.make(some, None, ledger)))
        batch = self._segmented(join_parts(made, draft), draft)
        if self.masked:
            batch["valid"] = valid
        return batch, join_host(made)

    def _segmented(self, batch: dict[str, Any], draft: Draft) -> dict[str, Any]:
        """Numbers the pieces of packed rows, over all parts."""
        for name, form in self.forms.items():
            if isinstance(form, Pack) and draft.layout is not None:
                ids, positions = segments(
                    draft.layout, n_bins=draft.size, capacity=form.length
                )
                batch[name] = Packed(batch[name].values, ids, positions)
        return batch

    def _parts_for(
        self, homes: np.ndarray, draft: Draft, ledger: Ledger
    ) -> list[_Part]:
        turn = len(homes) if draft.turn is None else draft.turn
        wanted = dict.fromkeys(np.unique(homes[turn:]).tolist(), draft.epoch + 1)
        wanted |= dict.fromkeys(np.unique(homes[:turn]).tolist(), draft.epoch)
        if not wanted:  # a batch of padding alone
            wanted = {0: draft.epoch}
        parts: list[_Part] = []
        for group, epoch in sorted(wanted.items()):
            if not any(group in part.groups for part in parts):
                parts.append(self._part(group, epoch, wanted, ledger))
        return parts

    def _part(
        self, group: int, epoch: int, wanted: Mapping[int, int], ledger: Ledger
    ) -> _Part:
        for part in self._parts.values():
            if group in part.groups:
                self._parts.move_to_end(part.groups)
                return part
        # Old windows go before new ones are read, which bounds memory.
        spare = [k for k in self._parts if wanted.keys().isdisjoint(k)]
        for key in spare[: max(len(self._parts) - _KEPT + 1, 0)]:
            del self._parts[key]
        part = self._load(epoch, group, ledger)
        self._parts[part.groups] = part
        return part

    def _load(self, epoch: int, group: int, ledger: Ledger) -> _Part:
        together = [group]
        if isinstance(self.stream, WindowStream):
            together = self.stream.together(epoch, group)
        with ledger.time("read"):
            table = self.scan.read(together, self.scan.column_names)
        sizes = [self.scan.groups[g].n for g in together]
        firsts = np.cumsum([0, *sizes[:-1]])
        words = [f" of {self._words(g)}" for g in together]
        origins = tuple(zip(firsts.tolist(), words, strict=True))
        with ledger.time("assemble"):
            batcher = self._batcher(table, origins)
        return _Part(tuple(together), firsts, batcher)

    def _words(self, group: int) -> str:
        file, number, _ = self.scan.groups[group]
        name = self.scan.files[file].rsplit("/", 1)[-1]
        return f"row group {number} of {name}"

    def _batcher(self, table: pa.Table, origins: Any) -> Batcher:
        ds = dataset_of(self.scan, table, self.said, origins)
        form = self.scan.format
        plans = plan_columns(
            ds.source, ds.column_names, x64=self.x64, nulls=form.nulls, dtype=form.dtype
        )
        for plan in plans.values():
            plan.check(ds.rows)
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


def scan_feed(
    scan: Scan,
    *,
    shuffle: Any,
    seed: int,
    forms: Mapping[str, Form],
    host: Any,
    masked: bool,
    x64: bool,
) -> ScanFeed:
    """Opens files.

    Args:
      scan: the files.
      shuffle: False or a `Window`.
      seed: of the shuffle.
      forms: column -> form.
      host: columns that stay.
      masked: whether batches get the key "valid".
      x64: whether 64-bit columns stay.

    Returns:
      The feed.

    Raises:
      ArrowJaxError: and its kinds, as `Loader` says.
    """
    if not len(scan):
        raise ArrowJaxError("the files have no rows, so there is nothing to load")
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
    none = dataset_of(scan, scan.schema.empty_table().select(scan.column_names), said)
    options: Any = {"host": host, "x64": x64}
    empty = make_batcher(none, forms=forms, masked=masked, **options)
    starts = tuple(scan.starts.tolist())
    stream: Stream = Sequential(len(scan))
    if isinstance(shuffle, Window):
        stream = WindowStream(starts, shuffle.row_groups, seed)
    form, names = block_form(forms)
    block = None
    if form is not None:
        lengths = scan.fact(
            ("lengths", *names), lambda: _lengths(scan, names, form, said)
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

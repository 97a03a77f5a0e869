"""One run over files: row groups come, are gathered from, and go.

What is read is a part: one row group, or the window of them that is shuffled together.
While a window is used up, the row groups of the next one are read by a thread, no more
of them than a prefetch allows and the used part of the window stands for.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from arrow_jax._batcher import Batcher
from arrow_jax._forms import Form
from arrow_jax._join_parts import join_host, join_parts
from arrow_jax._ledger import Ledger
from arrow_jax._pack import Pack, Packed
from arrow_jax._paths import short_names
from arrow_jax._ragged import segments
from arrow_jax._scan import Scan
from arrow_jax._step import Draft
from arrow_jax._stream import Stream
from arrow_jax._window import WindowStream

_KEPT = 2  # parts in memory: the one at hand and the one before it


class Part(NamedTuple):
    """Row groups in memory.

    Attributes:
      groups: their numbers, ascending.
      firsts: int64[len(groups)], the row at which each begins here.
      batcher: of their rows.
    """

    groups: tuple[int, ...]
    firsts: np.ndarray
    batcher: Batcher


class ScanReader:
    """Makes the batches of one run.

    Args:
      scan: the files.
      stream: the order of the rows.
      batcher: makes the batcher of the table of some row groups, whose rows begin at
        the given places.
      forms: column -> form.
      masked: whether batches get the key "valid".
      ledger: of the run.
      ahead: how many row groups may be read before their window has begun to be used.
    """

    def __init__(
        self,
        scan: Scan,
        stream: Stream,
        *,
        batcher: Callable[[pa.Table, Sequence[int], Any], Batcher],
        forms: Mapping[str, Form],
        masked: bool,
        ledger: Ledger,
        ahead: int,
    ) -> None:
        self._scan, self._stream = scan, stream
        self._batcher, self._forms, self._masked = batcher, forms, masked
        self._ledger, self._ahead = ledger, ahead
        self._starts, self._names = scan.starts, short_names(scan.files)
        self.parts: OrderedDict[tuple[int, ...], Part] = OrderedDict()
        self._latest: tuple[Part, int] | None = None
        self._used = 0
        self._coming: dict[int, Future[pa.Table]] = {}
        self._thread = ThreadPoolExecutor(1, "arrow-jax") if ahead else None

    def close(self) -> None:
        """Drops what is kept, and ends the thread."""
        self.parts.clear()
        if self._thread is not None:
            self._thread.shutdown(wait=True, cancel_futures=True)
        self._coming.clear()

    def make(
        self, draft: Draft, local: np.ndarray | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Makes the columns for the devices, and those that stay."""
        valid = np.arange(draft.size) < draft.n_real
        if local is not None:
            draft, valid = draft.local(local), valid[local]
        rows = np.asarray(draft.rows, np.int64)
        homes = np.searchsorted(self._starts, rows, side="right") - 1
        within = rows - self._starts[homes]
        made = []
        left = np.ones(len(homes), bool)  # a row group may be in two windows' parts
        for part in self._parts_for(homes, draft):
            at = np.searchsorted(part.groups, homes)
            at = np.minimum(at, len(part.groups) - 1)
            mine = np.flatnonzero(left & (np.asarray(part.groups)[at] == homes))
            left[mine] = False
            some = draft.of(mine, part.firsts[at[mine]] + within[mine])
            made.append((mine, *part.batcher.make(some, None, self._ledger)))
        batch = self._numbered(join_parts(made, draft), draft)
        if self._masked:
            batch["valid"] = valid
        self._read_ahead(draft)
        return batch, join_host(made)

    def _numbered(self, batch: dict[str, Any], draft: Draft) -> dict[str, Any]:
        """Numbers the pieces of packed rows, over all parts."""
        for name, form in self._forms.items():
            if isinstance(form, Pack) and draft.layout is not None:
                ids, positions = segments(
                    draft.layout, n_bins=draft.size, capacity=form.length
                )
                batch[name] = Packed(batch[name].values, ids, positions)
        return batch

    def _parts_for(self, homes: np.ndarray, draft: Draft) -> list[Part]:
        turn = len(homes) if draft.turn is None else draft.turn
        wanted = dict.fromkeys(np.unique(homes[turn:]).tolist(), draft.epoch + 1)
        wanted |= dict.fromkeys(np.unique(homes[:turn]).tolist(), draft.epoch)
        if not wanted:  # a batch of padding alone
            wanted = {0: draft.epoch}
        parts: list[Part] = []
        for group, epoch in sorted(wanted.items()):
            if not any(group in part.groups for part in parts):
                parts.append(self._part(group, epoch, wanted))
        # The last row is the furthest one of a stream.
        last = int(homes[-1]) if len(homes) else 0
        part = next(p for p in parts if last in p.groups)
        if self._latest is None or part is not self._latest[0]:
            self._latest, self._used = (part, wanted[last]), 0
        return parts

    def _part(self, group: int, epoch: int, wanted: Mapping[int, int]) -> Part:
        for part in self.parts.values():
            if group in part.groups:
                self.parts.move_to_end(part.groups)
                return part
        # Old parts go before new ones are read, which bounds memory.
        spare = [k for k in self.parts if wanted.keys().isdisjoint(k)]
        for key in spare[: max(len(self.parts) - _KEPT + 1, 0)]:
            del self.parts[key]
        part = self._load(self._together(epoch, group))
        self.parts[part.groups] = part
        return part

    def _together(self, epoch: int, group: int) -> list[int]:
        if isinstance(self._stream, WindowStream):
            return self._stream.together(epoch, group)
        return [group]

    def _load(self, groups: list[int]) -> Part:
        names = self._scan.column_names
        with self._ledger.time("read"):
            coming = [self._coming.pop(g, None) for g in groups]
            if any(coming):
                tables = [
                    self._scan.read([g], names) if found is None else found.result()
                    for g, found in zip(groups, coming, strict=True)
                ]
                table = pa.concat_tables(tables)
            else:
                table = self._scan.read(groups, names)
        sizes = [self._scan.groups[g].n for g in groups]
        firsts = np.cumsum([0, *sizes[:-1]])
        words = [f" of {self._words(g)}" for g in groups]
        with self._ledger.time("assemble"):
            origins = tuple(zip(firsts.tolist(), words, strict=True))
            return Part(tuple(groups), firsts, self._batcher(table, groups, origins))

    def _words(self, group: int) -> str:
        file, number, _ = self._scan.groups[group]
        return f"row group {number} of {self._names[file]}"

    def _read_ahead(self, draft: Draft) -> None:
        """Has the thread read what comes next, as far as it may."""
        if self._thread is None or self._latest is None:
            return
        part, epoch = self._latest
        self._used += len(draft.rows)
        n = sum(self._scan.groups[g].n for g in part.groups)
        may = self._ahead + int(self._used / max(n, 1) * len(part.groups))
        for group in self._next_groups(part, epoch)[:may]:
            if group not in self._coming and not self._holds(group):
                self._coming[group] = self._thread.submit(
                    self._scan.read, [group], self._scan.column_names
                )

    def _holds(self, group: int) -> bool:
        return any(group in groups for groups in self.parts)

    def _next_groups(self, part: Part, epoch: int) -> list[int]:
        if isinstance(self._stream, WindowStream):
            return self._stream.following(epoch, part.groups[0])
        after = part.groups[-1] + 1
        return [after] if after < len(self._scan.groups) else []

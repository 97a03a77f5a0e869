"""Batches that are cut from blocks of rows: buckets and packed rows.

Rows are taken a block at a time, and each block is cut into batches by a rule that sees
all of it. A position is a block and how many of its batches have been given; what a
block leaves over begins the next one. So the state of a run is small, whatever the
rule, and going on costs one block.
"""

import threading
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from arrow_jax._errors import ManifestError
from arrow_jax._permutation import permute
from arrow_jax._step import Draft, Position, Step, filled, in_epochs
from arrow_jax._stream import Stream, take_rows_at


class Cut(NamedTuple):
    """A block in batches.

    Attributes:
      drafts: the batches; only the last one may be short.
      pending: rows that are left over.
    """

    drafts: list[Draft]
    pending: np.ndarray


class Cutter(Protocol):
    """How a block becomes batches."""

    def block_rows(self, batch_size: int) -> int:
        """Says how many rows a block begins with."""
        ...

    def cut(self, rows: np.ndarray, batch_size: int, *, ended: bool) -> Cut:
        """Cuts a block; where rows have ended, nothing may be left over."""
        ...

    def describe(self) -> dict[str, Any]:
        """Says in JSON what the rule depends on."""
        ...


class _Block(NamedTuple):
    drafts: list[Draft]
    after: Position
    unmoved: Position


@dataclass(frozen=True, eq=False)
class BlockOrder:
    """Batches of blocks.

    Attributes:
      stream: of the rows.
      epochs: how often it is gone through, or None for ever.
      last: "mask", "drop" or "keep".
      cutter: how a block becomes batches.
    """

    stream: Stream
    epochs: int | None
    last: str
    cutter: Cutter
    _known: dict[Any, Any] = field(default_factory=dict, repr=False)
    _lock: Any = field(default_factory=threading.Lock, repr=False)

    def __reduce__(self) -> Any:
        return BlockOrder, (self.stream, self.epochs, self.last, self.cutter)

    def count(self, batch_size: int) -> int | None:
        """Counts the batches of the run; None if it never ends."""
        if self.epochs is None:
            return None
        if ("count", batch_size) not in self._known:
            n, at = 0, Position()
            while (block := self._cut(at, batch_size)).after != at:
                n, at = n + len(block.drafts), block.after
            self._known["count", batch_size] = n
        return self._known["count", batch_size]

    def step(self, at: Position, batch_size: int) -> Step | None:
        """Finds the batch at a position; None at the end of the run."""
        block = self._block(at._replace(offset=0), batch_size)
        while at.offset >= len(block.drafts):
            if block.after == at._replace(offset=0):
                return None
            at = block.after
            block = self._block(at, batch_size)
        given = at.offset + 1
        after = at._replace(offset=given) if given < len(block.drafts) else block.after
        draft = block.drafts[at.offset]._replace(epoch=at.epoch)
        return Step(filled(draft, batch_size) if self.last == "mask" else draft, after)

    def moved(self, at: Position, old: int, new: int) -> Position:
        """Finds the same position for another batch size.

        What is left of the block at hand waits to be cut anew.
        """
        if not at.offset:
            return at
        block = self._block(at._replace(offset=0), old)
        if at.offset >= len(block.drafts):
            raise ManifestError(
                f"the state has given {at.offset} batches of a block that has "
                f"{len(block.drafts)}: it was changed by hand"
            )
        if old == new:
            return at
        left = [_rows_of(draft) for draft in block.drafts[at.offset :]]
        pending = np.concatenate([*left, np.array(block.after.pending, np.int64)])
        return block.unmoved._replace(pending=tuple(pending.tolist()))

    def describe(self) -> dict[str, Any]:
        """Says in JSON what the order depends on, batch size apart."""
        return {**self.stream.describe(), "last": self.last, **self.cutter.describe()}

    def holds(self, at: Position) -> bool:
        """Whether there is such a position."""
        inside = 0 <= at.row <= self.stream.n and min(at.offset, *at.pending, 0) >= 0
        return inside and in_epochs(at, self.epochs)

    def _block(self, at: Position, batch_size: int) -> _Block:
        with self._lock:
            if self._known.get("at") != (at, batch_size):
                self._known["block"] = self._cut(at, batch_size)
                self._known["at"] = at, batch_size
            return self._known["block"]

    def _cut(self, at: Position, batch_size: int) -> _Block:
        across = self.last == "drop"
        wanted = self.cutter.block_rows(batch_size)
        rows = np.array(at.pending, np.int64)
        epoch, row = at.epoch, at.row
        ended = self.epochs is not None and at.epoch >= self.epochs
        # A position at the very end of an epoch holds what is left of its last block.
        at_end = row == self.stream.n
        if at_end:
            ended = not across or epoch + 1 == self.epochs
            epoch, row = epoch + 1, 0
        unmoved = Position(at.epoch, at.row)
        while True:
            missing = max(wanted - len(rows), 0)
            if not ended and missing:
                taken = take_rows_at(
                    self.stream,
                    epoch,
                    row,
                    missing,
                    epochs=self.epochs,
                    across=across,
                )
                rows = np.concatenate([rows, np.asarray(taken.rows, np.int64)])
                before = epoch
                epoch, row, ended = taken[1:]
                unmoved = Position(epoch, row)
                if ended:
                    unmoved = Position(max(before, epoch - 1), self.stream.n)
            cut = self.cutter.cut(rows, batch_size, ended=ended)
            if cut.drafts or ended:
                break
            wanted *= 2
        drafts = cut.drafts
        if across and drafts and drafts[-1].size < batch_size:
            drafts = drafts[:-1]
        after = Position(epoch, row, 0, tuple(cut.pending.tolist()))
        return _Block(self._mixed(drafts, at, batch_size), after, unmoved)

    def _mixed(self, drafts: list[Draft], at: Position, batch_size: int) -> list[Draft]:
        seed = self.stream.seed
        full = sum(draft.size == batch_size for draft in drafts)
        if seed is None or full < 2:
            return drafts
        order = permute(np.arange(full), n=full, seed=seed ^ at.row, epoch=at.epoch)
        return [drafts[i] for i in order] + drafts[full:]


def _rows_of(draft: Draft) -> np.ndarray:
    if draft.layout is not None:
        return np.asarray(draft.rows, np.int64)
    return np.asarray(draft.rows, np.int64)[: draft.n_real]

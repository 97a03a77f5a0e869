"""Batches that are cut from blocks of rows: buckets and packed rows.

Rows are taken a block at a time, and each block is cut into batches by a rule that sees
all of it. A position is a block and how many of its batches have been given; what a
block leaves over begins the next one. So the state of a run is small, whatever the
rule, and going on costs one block.
"""

import enum
import itertools
import threading
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from arrow_jax._errors import ManifestError
from arrow_jax._permutation import permute
from arrow_jax._step import Draft, Position, Step, filled, in_epochs
from arrow_jax._stream import Stream, take_rows_at


class Rest(enum.Enum):
    """What becomes of rows that fill no batch."""

    WAITS = "it begins the next block"
    SHORT = "it is a last batch, which may be short"
    DROPPED = "it is dropped, so it may not go by what is in a row"


class Cut(NamedTuple):
    """A block in batches.

    Attributes:
      drafts: the batches; only one that is `Rest.SHORT` may be short, the last.
      pending: rows that are in none.
    """

    drafts: list[Draft]
    pending: np.ndarray


class Cutter(Protocol):
    """How a block becomes batches."""

    def block_rows(self, batch_size: int) -> int:
        """Says how many rows a block begins with."""
        ...

    def cut(self, rows: np.ndarray, batch_size: int, rest: Rest) -> Cut:
        """Cuts a block."""
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
    _counts: dict[int, int] = field(default_factory=dict, repr=False)
    _newest: dict[Any, _Block] = field(default_factory=dict, repr=False)
    _lock: Any = field(default_factory=threading.Lock, repr=False)

    def __reduce__(self) -> Any:
        return BlockOrder, (self.stream, self.epochs, self.last, self.cutter)

    def count(self, batch_size: int) -> int | None:
        """Counts the batches of the run; None if it never ends."""
        if self.epochs is None:
            return None
        if batch_size not in self._counts:
            n, at = 0, Position()
            while not self._is_over(block := self._cut(at, batch_size)):
                n, at = n + len(block.drafts), block.after
            self._counts[batch_size] = n
        return self._counts[batch_size]

    def _is_over(self, block: _Block) -> bool:
        return not block.drafts and block.after.epoch == self.epochs

    def step(self, at: Position, batch_size: int) -> Step | None:
        """Finds the batch at a position; None at the end of the run."""
        block = self._block(at._replace(offset=0), batch_size)
        while at.offset >= len(block.drafts):
            if self._is_over(block):
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
        left = [_rows_of(draft).tolist() for draft in block.drafts[at.offset :]]
        pending = (*itertools.chain(*left), *block.after.pending)
        return block.unmoved._replace(pending=pending)

    def describe(self) -> dict[str, Any]:
        """Says in JSON what the order depends on, batch size apart."""
        return {**self.stream.describe(), "last": self.last, **self.cutter.describe()}

    def holds(self, at: Position) -> bool:
        """Whether there is such a position."""
        inside = 0 <= at.row <= self.stream.n and min(at.offset, *at.pending, 0) >= 0
        return inside and in_epochs(at, self.epochs)

    def _block(self, at: Position, batch_size: int) -> _Block:
        with self._lock:
            if (at, batch_size) not in self._newest:
                self._newest.clear()
                self._newest[at, batch_size] = self._cut(at, batch_size)
            return self._newest[at, batch_size]

    def _cut(self, at: Position, batch_size: int) -> _Block:
        across = self.last == "drop"
        rows = np.array(at.pending, np.int64)
        wanted = max(self.cutter.block_rows(batch_size), len(rows))
        epoch, row, unmoved = at.epoch, at.row, at._replace(offset=0, pending=())
        ended = epoch == self.epochs
        if row == self.stream.n:
            # The very end of an epoch, where what is left of its last block waits.
            epoch, row = epoch + 1, 0
            ended = not across or epoch == self.epochs
        while True:
            if not ended:
                taken = take_rows_at(
                    self.stream,
                    epoch,
                    row,
                    wanted - len(rows),
                    epochs=self.epochs,
                    across=across,
                )
                rows = np.concatenate([rows, np.asarray(taken.rows, np.int64)])
                unmoved = Position(taken.epoch, taken.row)
                if taken.ended:
                    unmoved = Position(taken.epoch - 1, self.stream.n)
                epoch, row, ended = taken[1:]
            rest = Rest.WAITS
            if ended:
                rest = Rest.DROPPED if across else Rest.SHORT
            cut = self.cutter.cut(rows, batch_size, rest)
            if cut.drafts or ended:
                break
            wanted *= 2
        after = Position(epoch, row, 0, tuple(cut.pending.tolist()))
        return _Block(self._mixed(cut.drafts, at, batch_size), after, unmoved)

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

"""What a loader reads from: rows in memory, a mix of them, or files.

The loader itself only knows rows by number; a feed makes batches of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from arrow_jax._batcher import Batcher, make_batcher
from arrow_jax._buckets import Buckets
from arrow_jax._dataset import Dataset
from arrow_jax._errors import ArrowJaxError
from arrow_jax._format import Format
from arrow_jax._forms import Form, block_form, fitted, lengths_of
from arrow_jax._ledger import Ledger
from arrow_jax._mix import Mix, MixStream
from arrow_jax._pack import Pack
from arrow_jax._state import describe_lengths, make_manifest
from arrow_jax._step import Draft
from arrow_jax._stream import Sequential, Shuffled, Stream
from arrow_jax._window import Window, WindowStream


class Choices(NamedTuple):
    """What the user of a loader chose that its feed has to know.

    Attributes:
      shuffle: whether each epoch has its own order, or a `Window`.
      seed: of the shuffle.
      forms: column -> form.
      host: columns that stay.
      masked: whether batches get the key "valid".
      x64: whether 64-bit columns stay.
    """

    shuffle: bool | Window
    seed: int
    forms: Mapping[str, Form]
    host: Any
    masked: bool
    x64: bool


class Reader(Protocol):
    """Makes the batches of one run; closed when it ends."""

    def make(
        self, draft: Draft, local: np.ndarray | None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Makes the columns for the devices, and those that stay."""
        ...

    def close(self) -> None:
        """Ends what it has running."""
        ...


class Feed(Protocol):
    """Where batches come from."""

    @property
    def stream(self) -> Stream:
        """The order of the rows."""
        ...

    @property
    def format(self) -> Format:
        """Of the dataset."""
        ...

    @property
    def block(self) -> tuple[Buckets | Pack, np.ndarray] | None:
        """The form that decides which rows are in a batch, and all rows' lengths."""
        ...

    @property
    def flat(self) -> list[str]:
        """The columns whose values have no batch axis."""
        ...

    def open(self, ledger: Ledger, ahead: int) -> Reader:
        """Begins a run, with row groups read ahead where that makes sense."""
        ...

    def spec(self, batch_size: int, length: int | None = None) -> dict[str, Any]:
        """Finds what a batch is, without reading a row."""
        ...

    def manifest(self) -> dict[str, Any]:
        """Describes the data."""
        ...


class MemoryReader(NamedTuple):
    """Makes batches of rows in memory.

    Attributes:
      batcher: of the rows.
      ledger: of the run.
    """

    batcher: Batcher
    ledger: Ledger

    def make(
        self, draft: Draft, local: np.ndarray | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Makes the columns for the devices, and those that stay."""
        return self.batcher.make(draft, local, self.ledger)

    def close(self) -> None:
        """Nothing is running."""


@dataclass(frozen=True)
class MemoryFeed:
    """Rows of a dataset, or of a mix.

    Attributes:
      ds: the rows.
      stream: their order.
      batcher: makes the batches.
      block: see `Feed`.
    """

    ds: Dataset
    stream: Stream
    batcher: Batcher
    block: tuple[Buckets | Pack, np.ndarray] | None

    @property
    def format(self) -> Format:
        """Of the dataset."""
        return self.ds.format

    @property
    def flat(self) -> list[str]:
        """The columns whose values have no batch axis."""
        return self.batcher.flat

    def open(self, ledger: Ledger, ahead: int) -> Reader:
        """Begins a run; there is nothing to read ahead."""
        del ahead
        return MemoryReader(self.batcher, ledger)

    def spec(self, batch_size: int, length: int | None = None) -> dict[str, Any]:
        """Finds what a batch is, without reading a row."""
        return self.batcher.spec(batch_size, length)

    def manifest(self) -> dict[str, Any]:
        """Describes the data."""
        found = make_manifest(self.ds.source, self.ds.column_names, self.ds.rows)
        if self.block is not None:
            found["lengths"] = describe_lengths(self.block[1])
        return found


def memory_feed(data: Dataset | Mix, choices: Choices) -> MemoryFeed:
    """Opens rows in memory.

    Args:
      data: a dataset or a mix.
      choices: of the loader; a `Window` takes the chunks of the table as row groups.

    Returns:
      The feed.

    Raises:
      ArrowJaxError: and its kinds, as `Loader` says.
    """
    shuffle, seed, forms = choices[:3]
    ds = data.ds if isinstance(data, Mix) else data
    if not len(ds):
        raise ArrowJaxError("the dataset has no rows, so there is nothing to load")
    form, names = block_form(forms)
    batcher = make_batcher(
        ds, forms=forms, host=choices.host, masked=choices.masked, x64=choices.x64
    )
    block = None
    if form is not None:
        lengths = lengths_of(batcher.plans, names, form, ds.rows)
        if isinstance(data, Mix):  # rows of a dataset without weight never come
            weights = np.repeat(data.weights, np.diff(data.starts))
            lengths = np.where(weights > 0, lengths, 0)
        form = fitted(
            form, names[0], lengths, lambda row: ds.source.words(int(ds.rows[row]))
        )
        batcher = replace(batcher, forms={**forms, **dict.fromkeys(names, form)})
        block = form, lengths
    stream = _windows(data, shuffle, seed) if isinstance(shuffle, Window) else None
    stream = stream or _stream(data, seed if shuffle else None)
    return MemoryFeed(ds, stream, batcher, block)


def _windows(data: Dataset | Mix, shuffle: Window, seed: int) -> Stream:
    whole = isinstance(data, Dataset) and isinstance(data.rows, range)
    if isinstance(data, Mix) or not whole or len(data) != len(data.source):
        raise ArrowJaxError(
            f"shuffle={shuffle} is for files and whole tables. Use shuffle=True, which "
            "costs nothing in memory"
        )
    chunks = data.source.table.column(0).chunks
    starts = np.cumsum([0, *map(len, chunks)]).tolist()
    return WindowStream(tuple(starts), shuffle.row_groups, seed)


def _stream(data: Dataset | Mix, seed: int | None) -> Stream:
    if isinstance(data, Mix):
        return MixStream(data.n, data.starts, data.weights, data.seed, seed)
    return Sequential(len(data)) if seed is None else Shuffled(len(data), seed)

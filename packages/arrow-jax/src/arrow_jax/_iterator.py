"""One run of a loader."""

import os
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Self

from arrow_jax._errors import ArrowJaxError
from arrow_jax._ledger import Ledger, Stats
from arrow_jax._prefetch import Prefetcher
from arrow_jax._step import Position


class Produced(NamedTuple):
    """A batch on its way to the reader.

    Attributes:
      arrays: the tree on the devices.
      host: columns that stay beside it.
      after: the position behind it.
    """

    arrays: Any
    host: dict[str, Any]
    after: Position


class LoaderIterator:
    """Gives the batches of a run; made by `iter(loader)` and `loader.resume`.

    Attributes:
      host_columns: the columns named in `host=`, for the batch given last.
    """

    def __init__(
        self,
        batches: Iterator[Produced],
        *,
        at: Position,
        prefetch: int,
        finish: Callable[[Any], Any],
        describe: Callable[[Position], dict[str, Any]],
        ledger: Ledger,
    ) -> None:
        self._batches: Any = Prefetcher(batches, prefetch) if prefetch else batches
        self._ahead = prefetch > 0
        self._at = at
        self._finish = finish
        self._describe = describe
        self._ledger = ledger
        self._process = os.getpid()
        self._held: Produced | None = None
        self._failed: str | None = None
        self.host_columns: dict[str, Any] = {}

    def __iter__(self) -> "LoaderIterator":
        return self

    def __next__(self) -> Any:
        if os.getpid() != self._process:
            raise ArrowJaxError(
                f"this run was begun in process {self._process}, and process "
                f"{os.getpid()} is a fork of it, where its thread does not live. Start "
                'processes with multiprocessing.get_context("spawn") and make the '
                "loader there"
            )
        if self._held is None:
            self._held = self._next()
        # A batch that an error or an interrupt kept from being finished comes again.
        arrays = self._finish(self._held.arrays)
        self.host_columns, self._at = self._held.host, self._held.after
        self._held = None
        return arrays

    def _next(self) -> Produced:
        try:
            with self._ledger.time("wait"):
                return next(self._batches)
        except StopIteration:
            if self._failed is None:
                raise
            # To stop here would look as if the run had given all of its rows.
            raise ArrowJaxError(
                f"this run ended with {self._failed}, before its last batch. Go on "
                "with loader.resume(run.state())"
            ) from None
        except BaseException as error:
            if self._batches.failed if self._ahead else not self._batches.gi_frame:
                self._failed = f"{type(error).__name__}: {error}".rstrip(": ")
            raise

    @property
    def wait_seconds(self) -> float:
        """How long the reader has waited for data, in total."""
        return self._ledger.waited

    def stats(self) -> Stats:
        """Says where the time of the run went, and what was copied.

        Returns:
          Counts up to now; batches made ahead are in them.
        """
        return self._ledger.stats()

    def state(self) -> dict[str, Any]:
        """Says where the run is, for `loader.resume`.

        Batches made ahead do not count, only those that were given.

        Returns:
          A small dict for JSON: the order, epoch, rows given, rows that wait for a
          batch, and a description of the data.
        """
        return self._describe(self._at)

    def close(self) -> None:
        """Ends the run and its thread; there are no batches after."""
        self._held = self._failed = None
        self._batches.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

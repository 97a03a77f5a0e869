"""One run of a loader."""

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Self

from arrow_jax._order import Position
from arrow_jax._prefetch import Prefetcher


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
      wait_seconds: how long the reader has waited for data, in total. Next to the time
        of the steps it says whether data are the bottleneck.
    """

    def __init__(
        self,
        batches: Iterator[Produced],
        *,
        at: Position,
        prefetch: int,
        finish: Callable[[Any], Any],
        describe: Callable[[Position], dict[str, Any]],
    ) -> None:
        self._batches: Any = Prefetcher(batches, prefetch) if prefetch else batches
        self._at = at
        self._finish = finish
        self._describe = describe
        self.host_columns: dict[str, Any] = {}
        self.wait_seconds = 0.0

    def __iter__(self) -> "LoaderIterator":
        return self

    def __next__(self) -> Any:
        start = time.perf_counter()
        try:
            produced = next(self._batches)
        finally:
            self.wait_seconds += time.perf_counter() - start
        arrays = self._finish(produced.arrays)
        self.host_columns = produced.host
        self._at = produced.after
        return arrays

    def state(self) -> dict[str, Any]:
        """Says where the run is, for `loader.resume`.

        Batches made ahead do not count, only those that were given.

        Returns:
          A small dict for JSON: seed, epoch, rows given, and a description of the data.
        """
        return self._describe(self._at)

    def close(self) -> None:
        """Ends the run and its thread; there are no batches after."""
        self._batches.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

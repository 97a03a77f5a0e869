"""The loader: a dataset as a stream of device batches of one fixed shape."""

import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self

import jax

from arrow_jax._batcher import make_batcher
from arrow_jax._dataset import Dataset
from arrow_jax._device import mode
from arrow_jax._errors import ArrowJaxError
from arrow_jax._iterator import LoaderIterator, Produced
from arrow_jax._order import Order, Position
from arrow_jax._placement import Placement, shardings_of
from arrow_jax._rows import check_batch_size
from arrow_jax._state import make_manifest, make_state, read_state

_LAST = ("mask", "drop", "keep")


class Loader:
    """Batches of a dataset on devices: shuffled, sharded, prefetched, resumable.

    Every batch has the same tree, shapes and dtypes, known before the first one as
    `spec`, so a jitted step is traced once. Which rows are in which batch is index
    arithmetic from the seed: the order does not depend on batch size, prefetching or
    the number of hosts, and a run goes on from a saved state exactly, at no cost.

    Args:
      ds: the rows; of its format, the columns, `nulls` and `device` hold.
      batch_size: rows in a batch, over all devices and processes together.
      shuffle: whether each epoch has its own random order.
      seed: of the shuffle.
      epochs: how often to go through the rows, or None for ever.
      last: "mask" fills the last batch of each epoch up by repeating a row and adds
        the key "valid", bool[batch]; "drop" lets epochs follow each other without a
        gap, so that a batch may hold rows of two, and drops only what is left at the
        very end; "keep" gives a shorter last batch each epoch.
      ragged: column -> length, for columns of lists: they become `Ragged`, padded to
        that length; a longer row raises.
      sharding: a Sharding for all columns, or a dict by column.
      prefetch: how many batches are made ahead, by one thread; 0 for none and no
        thread.
      host: columns that stay beside the batch as Python objects or NumPy, for strings:
        `iterator.host_columns`.
      transform: takes a batch and returns one; jitted, runs on the devices, so that
        uint8 travels and float is made there.

    Attributes:
      spec: the tree of `jax.ShapeDtypeStruct` that every batch is (with last="keep",
        every full one).

    Raises:
      UnsupportedTypeError: if a column is strings or bytes and not in `host`, or has no
        array to become.
      ShapeError: if a column's rows differ in length and `ragged` does not name it, or
        devices can't share a batch evenly.
      NullsError: if a column has nulls and the dataset's format allows none.
      NarrowingError: if a number does not fit 32 bits and `jax_enable_x64` is off.
      ArrowJaxError: if there are no rows or no batches, or an option is none.

    Example:
      >>> ds = Dataset.from_dict({"x": [10, 11, 12]})
      >>> with Loader(ds, 2) as loader:
      ...     for batch in loader:
      ...         print(batch["x"], batch["valid"])
      [10 11] [ True  True]
      [12 12] [ True False]
    """

    def __init__(
        self,
        ds: Dataset,
        batch_size: int,
        *,
        shuffle: bool = False,
        seed: int = 0,
        epochs: int | None = 1,
        last: str = "mask",
        ragged: Mapping[str, int] | None = None,
        sharding: Any = None,
        prefetch: int = 2,
        host: Any = (),
        transform: Callable[[Any], Any] | None = None,
    ) -> None:
        _check_options(ds, batch_size, epochs, last, prefetch)
        self._batch_size = batch_size
        self._seed = seed
        self._prefetch = prefetch
        self._order = Order(len(ds), epochs, last, self._seed if shuffle else None)
        if self._order.count(self._batch_size) == 0:
            raise ArrowJaxError(
                f'batch_size={batch_size} with last="drop" gives no batch of {len(ds)} '
                f"rows in {epochs} epoch(s). Use a batch_size of at most "
                f'{len(ds) * (epochs or 1)}, or last="mask"'
            )
        self._x64 = bool(jax.config.jax_enable_x64)
        self._default_device = jax.config.jax_default_device
        self._batcher = make_batcher(
            ds, ragged=ragged or {}, host=host, masked=last == "mask", x64=self._x64
        )
        self._manifest = make_manifest(ds.source.table.schema, ds.column_names, ds.rows)
        if sharding is None and ds.format.kind == "jax":
            sharding = ds.format.device
        spec = self._batcher.spec(self._batch_size)
        self._placement = Placement.of(shardings_of(spec, sharding))
        self._local = self._placement.local_rows(spec)
        if last == "keep" and len(ds) % self._batch_size:
            self._placement.check(self._batcher.spec(len(ds) % self._batch_size))
        self._transform = None if transform is None else jax.jit(transform)
        self.spec: Any = self._placement.describe(spec)
        if self._transform is not None:
            with mode(x64=self._x64):
                self.spec = jax.eval_shape(self._transform, self.spec)
        self._open: weakref.WeakSet[LoaderIterator] = weakref.WeakSet()

    def __len__(self) -> int:
        count = self._order.count(self._batch_size)
        if count is None:
            raise TypeError(
                "a loader with epochs=None runs for ever and has no length; give "
                "epochs=, or count steps where you stop"
            )
        return count

    def __iter__(self) -> "LoaderIterator":
        return self._start(Position())

    def resume(self, state: Mapping[str, Any]) -> "LoaderIterator":
        """Goes on where a run was.

        The batches that follow are those that the run would have given, whatever the
        prefetching; with another `batch_size` they have the same rows. It costs no
        reading.

        Args:
          state: what `state()` of an iterator returned, also by way of JSON.

        Returns:
          An iterator.

        Raises:
          ManifestError: if the state is that of other data, another seed, shuffle or
            `last`; says what differs.

        Example:
          >>> loader = Loader(Dataset.from_dict({"x": [1, 2, 3, 4]}), 1)
          >>> with iter(loader) as run:
          ...     _ = next(run)
          ...     state = run.state()
          >>> [int(batch["x"][0]) for batch in loader.resume(state)]
          [2, 3, 4]
        """
        return self._start(read_state(state, self._order, self._seed, self._manifest))

    def close(self) -> None:
        """Closes every iterator of this loader; their threads end."""
        for iterator in list(self._open):
            iterator.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start(self, at: Position) -> "LoaderIterator":
        iterator = LoaderIterator(
            self._produce(at),
            at=at,
            prefetch=self._prefetch,
            finish=self._finish,
            describe=self._describe,
        )
        self._open.add(iterator)
        return iterator

    def _describe(self, at: Position) -> dict[str, Any]:
        return make_state(at, self._order, self._seed, self._manifest)

    def _produce(self, at: Position) -> Iterator[Produced]:
        while (step := self._order.step(at, self._batch_size)) is not None:
            at, n, local = step.after, len(step.rows), self._local
            if n != self._batch_size:
                local = self._placement.local_rows(self._batcher.spec(n))
            batch, host = self._batcher.make(step.rows, step.n_real, local)
            with mode(x64=self._x64, default_device=self._default_device):
                arrays = self._placement.put(batch, n, local)
            yield Produced(arrays, host, at)

    def _finish(self, arrays: Any) -> Any:
        # In the reader's thread: processes must dispatch their programs in one order.
        if self._transform is None:
            return arrays
        with mode(x64=self._x64, default_device=self._default_device):
            return self._transform(arrays)


def _check_options(
    ds: Any, batch_size: Any, epochs: Any, last: str, prefetch: Any
) -> None:
    if not isinstance(ds, Dataset):
        raise ArrowJaxError(
            f"Loader got a {type(ds).__name__}, wanted a Dataset; make one with "
            "Dataset.from_arrow, Dataset.from_dict or read_parquet"
        )
    check_batch_size(batch_size)
    if not len(ds):
        raise ArrowJaxError("the dataset has no rows, so there is nothing to load")
    if epochs is not None and (not isinstance(epochs, int) or epochs < 1):
        raise ArrowJaxError(f"epochs={epochs!r}: wanted at least 1, or None for ever")
    if last not in _LAST:
        raise ArrowJaxError(f'last={last!r}: wanted "mask", "drop" or "keep"')
    if not isinstance(prefetch, int) or prefetch < 0:
        raise ArrowJaxError(f"prefetch={prefetch!r}: wanted 0 or more")

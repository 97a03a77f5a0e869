"""The loader: a dataset as a stream of device batches of one fixed shape."""

import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self

import jax

from arrow_jax._buckets import Buckets
from arrow_jax._choose_order import choose_order, sample_order
from arrow_jax._dataset import Dataset
from arrow_jax._device import mode
from arrow_jax._errors import ArrowJaxError
from arrow_jax._feed import Choices, Feed, memory_feed
from arrow_jax._forms import Form, block_form, read_forms
from arrow_jax._host_transform import HostTransform
from arrow_jax._iterator import LoaderIterator, Produced
from arrow_jax._ledger import Ledger
from arrow_jax._mix import Mix
from arrow_jax._pack import Pack
from arrow_jax._placement import Placement, shardings_of
from arrow_jax._poisson import Poisson
from arrow_jax._rows import check_batch_size, check_seed, is_whole
from arrow_jax._scan import Scan
from arrow_jax._scan_feed import scan_feed
from arrow_jax._state import make_state, read_state
from arrow_jax._step import Order, Position
from arrow_jax._window import Window

_LAST = ("mask", "drop", "keep")


class Loader:
    """Batches of a dataset on devices: shuffled, sharded, prefetched, resumable.

    Every batch has the same tree, shapes and dtypes, known before the first one as
    `spec`, so a jitted step is traced once. Which rows are in which batch is index
    arithmetic from the seed: the order does not depend on batch size, prefetching or
    the number of hosts, and a run goes on from a saved state exactly, at no cost.

    Args:
      ds: the rows, a `mix` of datasets, or files from `scan_parquet`; of the format,
        the columns, `nulls` and `device` hold.
      batch_size: rows in a batch, over all devices and processes together.
      shuffle: whether each epoch has its own random order; for files a `Window`.
      seed: of the shuffle.
      epochs: how often to go through the rows, or None for ever.
      last: "mask" fills the last batch of each epoch up by repeating a row and adds
        the key "valid", bool[batch]; "drop" lets epochs follow each other without a
        gap, so that a batch may hold rows of two, and drops only what is left at the
        very end; "keep" gives a shorter last batch each epoch.
      ragged: for columns of lists, column -> what becomes of them. A length, or `Pad`,
        gives a `Ragged` padded to it, and a longer row raises; `Buckets` pads each
        batch to one of a few lengths; `Pack` puts several rows in one; `Flat` joins
        them.
      sampling: `Poisson(rate)` draws every batch by itself, for private training.
      sharding: a Sharding for all columns, or a dict by column.
      prefetch: how many batches are made ahead, by one thread; 0 for none and no
        thread.
      host: columns that stay beside the batch as Python objects or NumPy, for strings:
        `iterator.host_columns`.
      host_transform: takes a batch as a dict of NumPy arrays, before the devices, and
        returns one; with several processes, of the rows that this one holds. Shapes
        and dtypes are those that it gave for a batch of zeros.
      transform: takes a batch and returns one; jitted, runs on the devices, so that
        uint8 travels and float is made there.

    Attributes:
      spec: the tree of `jax.ShapeDtypeStruct` that every batch is (with last="keep",
        every full one; with `Buckets`, the one of the greatest length).
      specs: one `spec` for each length of `Buckets`, ascending.

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
        ds: Dataset | Mix | Scan,
        batch_size: int,
        *,
        shuffle: bool | Window = False,
        seed: int = 0,
        epochs: int | None = 1,
        last: str = "mask",
        ragged: Mapping[str, Any] | None = None,
        sampling: Poisson | None = None,
        sharding: Any = None,
        prefetch: int = 2,
        host: Any = (),
        host_transform: Callable[[Any], Any] | None = None,
        transform: Callable[[Any], Any] | None = None,
    ) -> None:
        _check_options(ds, batch_size, epochs, last, prefetch)
        check_seed(seed)
        if not isinstance(shuffle, bool | Window):
            raise ArrowJaxError(f"shuffle={shuffle!r}: wanted True, False or a Window")
        if transform is not None and not callable(transform):
            raise ArrowJaxError(
                f"transform={transform!r}: wanted a function from a batch to one"
            )
        batch_size, seed, prefetch = int(batch_size), int(seed), int(prefetch)
        epochs = None if epochs is None else int(epochs)
        self._batch_size = batch_size
        self._shapes: dict[Any, dict[str, Any]] = {}
        self._prefetch = prefetch
        self._x64 = bool(jax.config.jax_enable_x64)
        self._default_device = jax.config.jax_default_device
        forms = read_forms(ragged or {})
        open_feed: Any = scan_feed if isinstance(ds, Scan) else memory_feed
        choices = Choices(shuffle, seed, forms, host, last == "mask", self._x64)
        self._feed: Feed = open_feed(ds, choices)
        self._order: Order
        if sampling is None:
            self._order = choose_order(
                self._feed.stream, epochs=epochs, last=last, block=self._feed.block
            )
        else:
            _check_sampling(ds, forms, shuffle=bool(shuffle), last=last)
            self._order = sample_order(
                sampling, len(ds), epochs=epochs, batch_size=batch_size, seed=seed
            )
        if self._order.step(Position(), batch_size) is None:
            raise ArrowJaxError(
                f"batch_size={batch_size} with last={last!r} gives no batch of "
                f"{len(ds)} rows in {epochs} epoch(s). Use a smaller batch_size, more "
                'epochs, or last="mask"'
            )
        self._manifest = self._feed.manifest()
        self._host_transform = (
            None
            if host_transform is None
            else HostTransform(host_transform, x64=self._x64)
        )
        self._transform = None if transform is None else jax.jit(transform)
        form = self._feed.block and self._feed.block[0]
        self._lengths = (form.edges if isinstance(form, Buckets) else None) or (None,)
        assembled = self._assembled(batch_size, self._lengths[-1])
        if sharding is None and self._feed.format.kind == "jax":
            sharding = self._feed.format.device
        self._placement = Placement.of(shardings_of(assembled, sharding))
        self._placement.check_flat(assembled, self._feed.flat)
        self._keeps, self._rows = last == "keep", len(ds)
        if self._keeps:
            # How many packed rows the last batch has is known when it is packed.
            packed = isinstance(form, Pack)
            self._check_short(1 if packed else len(ds) % batch_size)
        self.specs: tuple[Any, ...] = tuple(map(self._spec, self._lengths))
        self.spec: Any = self.specs[-1]
        self._open: weakref.WeakSet[LoaderIterator] = weakref.WeakSet()

    def _assembled(self, batch_size: int, length: int | None) -> dict[str, Any]:
        """What the host makes, before the devices."""
        if (batch_size, length) not in self._shapes:
            spec = self._feed.spec(batch_size, length)
            if self._host_transform:
                n = None if self._feed.flat else batch_size
                spec = self._host_transform.spec(spec, n)
            self._shapes[batch_size, length] = spec
        return self._shapes[batch_size, length]

    def _spec(self, length: int | None) -> Any:
        spec = self._assembled(self._batch_size, length)
        self._placement.check(spec)
        spec = self._placement.describe(spec)
        if self._transform is None:
            return spec
        with mode(x64=self._x64):
            if not self._placement.shardings:
                return jax.eval_shape(self._transform, spec)
            # What the devices will hold is known to the compiler only; the batches run
            # the same program, which is compiled once.
            lowered = self._transform.lower(spec)
            shardings = lowered.compile().output_shardings
            return jax.tree.map(
                lambda s, own: jax.ShapeDtypeStruct(s.shape, s.dtype, sharding=own),
                lowered.out_info,
                shardings,
            )

    def _check_short(self, short: int) -> None:
        """Raises if devices can't share a last batch of so many rows."""
        if short and short != self._batch_size:
            self._placement.check(self._assembled(short, self._lengths[-1]))

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
          ShapeError: if with another `batch_size` the devices can't share a last batch
            that is kept short.

        Example:
          >>> loader = Loader(Dataset.from_dict({"x": [1, 2, 3, 4]}), 1)
          >>> with iter(loader) as run:
          ...     _ = next(run)
          ...     state = run.state()
          >>> [int(batch["x"][0]) for batch in loader.resume(state)]
          [2, 3, 4]
        """
        at = read_state(state, self._order, self._batch_size, self._manifest)
        if self._keeps and self._feed.block is None:
            self._check_short((self._rows - at.row) % self._batch_size)
        return self._start(at)

    def close(self) -> None:
        """Closes every iterator of this loader; their threads end."""
        for iterator in list(self._open):
            iterator.close()

    def __reduce__(self) -> Any:
        raise TypeError(
            "a Loader does not pickle: it holds threads and compiled programs. Pickle "
            "the dataset and the run's state(), and make the loader where it is used"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start(self, at: Position) -> "LoaderIterator":
        ledger = Ledger()
        iterator = LoaderIterator(
            self._produce(at, ledger),
            at=at,
            prefetch=self._prefetch,
            finish=self._finish,
            describe=self._describe,
            ledger=ledger,
        )
        self._open.add(iterator)
        return iterator

    def _describe(self, at: Position) -> dict[str, Any]:
        return make_state(at, self._order, self._batch_size, self._manifest)

    def _produce(self, at: Position, ledger: Ledger) -> Iterator[Produced]:
        local_rows: dict[Any, Any] = {}
        reader = self._feed.open(ledger, self._prefetch)
        try:
            while (step := self._order.step(at, self._batch_size)) is not None:
                draft, at = step
                spec = self._assembled(draft.size, draft.length)
                shape = draft.size, draft.length
                if shape not in local_rows:
                    local_rows[shape] = self._placement.local_rows(spec)
                local = local_rows[shape]
                batch, host = reader.make(draft, local)
                if self._host_transform:
                    n = None if local is None else len(local)
                    batch = self._host_transform.apply(batch, spec, n)
                with (
                    ledger.time("transfer"),
                    mode(x64=self._x64, default_device=self._default_device),
                ):
                    arrays = self._placement.put(batch, draft.size, local)
                ledger.batch()
                yield Produced(arrays, host, at)
        finally:
            reader.close()

    def _finish(self, arrays: Any) -> Any:
        # In the reader's thread: processes must dispatch their programs in one order.
        if self._transform is None:
            return arrays
        with mode(x64=self._x64, default_device=self._default_device):
            return self._transform(arrays)


def _check_options(
    ds: Any, batch_size: Any, epochs: Any, last: str, prefetch: Any
) -> None:
    if not isinstance(ds, Dataset | Mix | Scan):
        raise ArrowJaxError(
            f"Loader got a {type(ds).__name__}, wanted a Dataset; make one with "
            "Dataset.from_arrow, Dataset.from_dict or read_parquet"
        )
    check_batch_size(batch_size)
    if epochs is not None and not is_whole(epochs, 1):
        raise ArrowJaxError(f"epochs={epochs!r}: wanted at least 1, or None for ever")
    if last not in _LAST:
        raise ArrowJaxError(f'last={last!r}: wanted "mask", "drop" or "keep"')
    if not is_whole(prefetch, 0):
        raise ArrowJaxError(f"prefetch={prefetch!r}: wanted 0 or more")


def _check_sampling(
    ds: Any, forms: Mapping[str, Form], *, shuffle: bool, last: str
) -> None:
    if not isinstance(ds, Dataset):
        raise ArrowJaxError("sampling= is for one dataset in memory, not for a mix")
    if shuffle or last != "mask" or block_form(forms)[0] is not None:
        raise ArrowJaxError(
            "sampling= draws every batch by itself: it goes with shuffle=False, "
            'last="mask" and ragged= of lengths or Flat'
        )

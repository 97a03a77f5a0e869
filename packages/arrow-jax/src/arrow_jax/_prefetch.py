"""Making items ahead, in one thread that never outlives its reader.

The thread holds the channel, not the reader. When the reader is closed, exhausted or
garbage collected, the channel is stopped and the thread ends with the item at hand.
"""

import os
import threading
import weakref
from collections import deque
from collections.abc import Iterator
from typing import Any

_PATIENCE = 5.0  # seconds that garbage collection waits for a thread, at most


class _Channel:
    """Items on their way from the thread to the reader."""

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.items: deque[Any] = deque()
        self.changed = threading.Condition()
        self.stopped = False
        self.done = False
        self.error: BaseException | None = None
        self.failed = False

    def wait_for_room(self) -> bool:
        with self.changed:
            while len(self.items) >= self.depth and not self.stopped:
                self.changed.wait()
            return not self.stopped

    def put(self, item: Any) -> None:
        with self.changed:
            self.items.append(item)
            self.changed.notify_all()

    def finish(self, error: BaseException | None) -> None:
        with self.changed:
            self.done, self.error, self.failed = True, error, error is not None
            self.changed.notify_all()

    def get(self) -> Any:
        with self.changed:
            while not (self.items or self.done or self.stopped):
                self.changed.wait()
            if self.items and not self.stopped:
                item = self.items.popleft()
                self.changed.notify_all()
                return item
            error, self.error = self.error, None
        if error is not None:
            raise error
        raise StopIteration

    def stop(self) -> None:
        with self.changed:
            self.stopped = True
            self.items.clear()
            self.changed.notify_all()


def _fill(make: Iterator[Any], channel: _Channel) -> None:
    error = None
    try:
        while channel.wait_for_room():
            try:
                item = next(make)
            except StopIteration:
                break
            channel.put(item)
            del item  # a batch must not live until the next one is made
    except BaseException as caught:  # noqa: BLE001  (it travels to the reader)
        error = caught
    channel.finish(error)


def _stop(channel: _Channel, thread: threading.Thread, process: int) -> None:
    if os.getpid() != process:
        return  # in a fork the thread is gone, and may have held the channel's lock
    channel.stop()
    if thread is not threading.current_thread():
        thread.join(_PATIENCE)


class Prefetcher:
    """An iterator whose items are made ahead by a thread.

    Args:
      make: an iterator; the thread runs it. It must not refer to the prefetcher.
      depth: how many items may wait, at least one.
    """

    def __init__(self, make: Iterator[Any], depth: int) -> None:
        self._channel = _Channel(depth)
        self._thread = threading.Thread(
            target=_fill, args=(make, self._channel), name="arrow-jax", daemon=True
        )
        self._thread.start()
        self._finalize = weakref.finalize(
            self, _stop, self._channel, self._thread, os.getpid()
        )

    def __iter__(self) -> "Prefetcher":
        return self

    def __next__(self) -> Any:
        try:
            return self._channel.get()
        except BaseException:
            if self._channel.done:
                self.close()
            raise

    @property
    def failed(self) -> bool:
        """Whether making an item raised, after which there are no more."""
        return self._channel.failed

    def close(self) -> None:
        """Stops the thread and waits for it."""
        found = self._finalize.detach()
        if found is None or os.getpid() == found[2][2]:
            self._channel.stop()
            self._thread.join()

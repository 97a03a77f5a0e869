"""Disks that fill up, lose the end of a file, are slow, or say no.

What is written half is what a checkpoint is for, and no test sees it on a disk that
works. The faults reach code that opens files by `open`, `io.open` or `pathlib`, and
that moves or makes them by `os`.
"""

import builtins
import contextlib
import dataclasses
import errno
import fnmatch
import io
import os
import time
from collections.abc import Callable, Generator
from typing import Any
from unittest import mock


@dataclasses.dataclass(kw_only=True)
class _Fault:
    pattern: str = "*"

    def touches(self, path: Any) -> bool:
        """Whether the fault is about this path."""
        if not isinstance(path, str | bytes | os.PathLike):
            return False  # a file descriptor
        return fnmatch.fnmatch(os.fsdecode(path), self.pattern)

    def opening(self, path: Any, *, writing: bool) -> None:
        """Happens before a file is opened, moved or made."""

    def keep(self, data: memoryview) -> memoryview:
        """What of the data reaches the disk; raises after that, if at all."""
        return data

    def raise_after(self) -> None:
        """Happens after data were written in part."""


@dataclasses.dataclass(kw_only=True)
class DiskFull(_Fault):
    """A disk that takes so many bytes more, and then raises ENOSPC.

    Args:
      pattern: paths that it is about, as in `fnmatch`; "*" also matches "/".
      after_bytes: how many bytes it still takes, over all files.

    Example:
      >>> DiskFull(pattern="*.ckpt", after_bytes=100)
      DiskFull(pattern='*.ckpt', after_bytes=100)
    """

    after_bytes: int = 0
    _full: bool = dataclasses.field(default=False, repr=False)

    def keep(self, data: memoryview) -> memoryview:
        """What still fits."""
        kept = data[: self.after_bytes]
        self.after_bytes -= len(kept)
        self._full = len(kept) < len(data)
        return kept

    def raise_after(self) -> None:
        """Raises if something did not fit."""
        if self._full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@dataclasses.dataclass(kw_only=True)
class TornWrite(_Fault):
    """A disk that loses all after some bytes of a file, and says nothing.

    As after a power cut, when a file was renamed before its data were synced.

    Args:
      pattern: paths that it is about.
      keep_bytes: how many bytes are kept, over all files.

    Example:
      >>> TornWrite(pattern="*.json", keep_bytes=10)
      TornWrite(pattern='*.json', keep_bytes=10)
    """

    keep_bytes: int = 0

    def keep(self, data: memoryview) -> memoryview:
        """What is kept."""
        kept = data[: self.keep_bytes]
        self.keep_bytes -= len(kept)
        return kept


@dataclasses.dataclass(kw_only=True)
class Slow(_Fault):
    """A disk that takes its time for each file that is opened, moved or made.

    Args:
      pattern: paths that it is about.
      seconds: how long; by `time.sleep`, so that a `FakeClock` can pass it.

    Example:
      >>> Slow(seconds=0.5)
      Slow(pattern='*', seconds=0.5)
    """

    seconds: float = 0.1

    def opening(self, path: Any, *, writing: bool) -> None:
        """Sleeps."""
        del path, writing
        time.sleep(self.seconds)


@dataclasses.dataclass(kw_only=True)
class Denied(_Fault):
    """Paths that must not be written, or not even read.

    Args:
      pattern: paths that it is about.
      reading: whether reading is denied too.

    Example:
      >>> Denied(pattern="/data/*")
      Denied(pattern='/data/*', reading=False)
    """

    reading: bool = False

    def opening(self, path: Any, *, writing: bool) -> None:
        """Raises EACCES."""
        if writing or self.reading:
            text = os.strerror(errno.EACCES)
            raise PermissionError(errno.EACCES, text, os.fspath(path))


FileFault = DiskFull | TornWrite | Slow | Denied


class _FaultyRaw(io.FileIO):
    """A file whose writes pass through the faults."""

    def __init__(self, path: Any, mode: str, faults: list[FileFault]) -> None:
        super().__init__(path, mode)
        self._faults = faults

    def readable(self) -> bool:
        """Says yes, for the buffer, which is one for both directions.

        NumPy would write past a `BufferedWriter`, to the file descriptor.
        """
        return True

    def write(self, data: Any, /) -> int:
        """Writes what the faults leave; says that it wrote all."""
        whole = memoryview(data).cast("B")
        kept = whole
        for fault in self._faults:
            kept = fault.keep(kept)
        super().write(kept)
        for fault in self._faults:
            fault.raise_after()
        return len(whole)


@contextlib.contextmanager
def faulty_files(*faults: FileFault) -> Generator[None]:
    """Makes files fail while the block runs, in all threads.

    What it cannot reach: libraries that write from C or C++ (pyarrow, tensorstore and
    so orbax's arrays, zipfile's reads by descriptor), `os.open` and `os.write`, `from
    os import replace` done before, other processes.

    Args:
      *faults: what goes wrong (`DiskFull`, `TornWrite`, `Slow`, `Denied`), each for
        the paths of its pattern; they count their bytes, so make them anew.

    Yields:
      Nothing.

    Example:
      >>> import pathlib, tempfile
      >>> file = pathlib.Path(tempfile.mkdtemp()) / "state.json"
      >>> with faulty_files(DiskFull(pattern="*/state.json", after_bytes=3)):
      ...     file.write_text("12345")
      Traceback (most recent call last):
      OSError: [Errno 28] No space left on device
      >>> file.read_text()
      '123'
    """
    open_ = _opener(builtins.open, faults)
    with contextlib.ExitStack() as stack:
        for module in (builtins, io):
            stack.enter_context(mock.patch.object(module, "open", open_))
        for name in ("replace", "rename", "mkdir", "remove", "unlink"):
            own = _guarded(getattr(os, name), faults)
            stack.enter_context(mock.patch.object(os, name, own))
        yield


def _opener(
    real: Callable[..., Any], faults: tuple[FileFault, ...]
) -> Callable[..., Any]:
    def open_(  # noqa: PLR0917  (the signature of open)
        file: Any,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        *rest: Any,
        **options: Any,
    ) -> Any:
        found = [fault for fault in faults if fault.touches(file)]
        writing = bool(set(mode) & set("wax+"))
        for fault in found:
            fault.opening(file, writing=writing)
        if not (found and writing):
            text = (encoding, errors, newline)
            return real(file, mode, buffering, *text, *rest, **options)
        raw = _FaultyRaw(file, mode.replace("b", "").replace("t", ""), found)
        if "b" in mode and buffering == 0:
            return raw
        buffered = io.BufferedRandom(raw)
        if "b" in mode:
            return buffered
        return io.TextIOWrapper(buffered, encoding, errors, newline)

    return open_


def _guarded(
    real: Callable[..., Any], faults: tuple[FileFault, ...]
) -> Callable[..., Any]:
    def call(*paths: Any, **options: Any) -> Any:
        for path in paths:
            for fault in faults:
                if fault.touches(path):
                    fault.opening(path, writing=True)
        return real(*paths, **options)

    return call

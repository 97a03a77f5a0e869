"""Disks that fill up, lose the end of a file, are slow, or say no.

What is written half is what a checkpoint is for, and no test sees it on a disk that
works. The faults reach code that opens files by `open`, `io.open`, `pathlib` or
`os.open`, and that moves, makes or copies them by `os` and `shutil`.
"""

import builtins
import contextlib
import io
import os
from collections.abc import Callable, Generator
from typing import Any
from unittest import mock

from chex_harness._file_faults import Act, FileFault

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


class _FaultyRaw(io.FileIO):
    """A file whose writes pass through the faults."""

    faults: list[FileFault]

    def readable(self) -> bool:
        """Says yes, for the buffer, which is one for both directions.

        NumPy would write past a `BufferedWriter`, to the file descriptor.
        """
        return True

    def write(self, data: Any, /) -> int:
        """Writes what the faults leave; says that it wrote all."""
        return _through(self.faults, data, super().write)


def _through(
    faults: list[FileFault], data: Any, write: Callable[[memoryview], Any]
) -> int:
    whole = memoryview(data).cast("B")
    kept = whole
    for fault in faults:
        kept = fault.keep(kept)
    write(kept)
    for fault in faults:
        fault.raise_after()
    return len(whole)


@contextlib.contextmanager
def faulty_files(*faults: FileFault) -> Generator[None]:
    """Makes files fail while the block runs, in all threads.

    What it cannot reach: libraries that write from C or C++ (pyarrow, tensorstore and
    so orbax's arrays), the bytes of `ndarray.tofile` (its opening is reached), `mmap`,
    `os.pwrite` and `os.writev`, `shutil.copy` on macOS, files that were opened and
    names that were imported before (`from os import replace`), other processes.

    Args:
      *faults: what goes wrong (`DiskFull`, `TornWrite`, `Slow`, `Denied`), each for
        the paths of its pattern; they count their bytes, so make them anew.

    Yields:
      Nothing.

    Raises:
      AssertionError: after the block, if a fault met no file, so that the test would
        pass for nothing: `DiskFull` and `TornWrite` meet what is opened for writing,
        `Denied` also what is moved, made or removed (and with `reading=True` all), and
        `Slow` all. Not if the block has raised.

    Example:
      >>> import pathlib, tempfile
      >>> from chex_harness import DiskFull
      >>> file = pathlib.Path(tempfile.mkdtemp()) / "state.json"
      >>> with faulty_files(DiskFull(pattern="*/state.json", after_bytes=3)):
      ...     file.write_text("12345")
      Traceback (most recent call last):
      OSError: [Errno 28] No space left on device
      >>> file.read_text()
      '123'
    """
    disk = _Disk(faults)
    with contextlib.ExitStack() as stack:
        for module in (builtins, io):
            own = disk.opener(builtins.open)
            stack.enter_context(mock.patch.object(module, "open", own))
        makers = {"open": disk.descriptor, "write": disk.write}
        makers |= {"sendfile": disk.sendfile} if hasattr(os, "sendfile") else {}
        moving = ("replace", "rename", "mkdir", "remove", "unlink")
        for name, maker in (makers | dict.fromkeys(moving, disk.moving)).items():
            own = maker(getattr(os, name))
            stack.enter_context(mock.patch.object(os, name, own))
        yield
    disk.assert_met()


class _Disk:
    """The ways to a file, each with the faults on it."""

    def __init__(self, faults: tuple[FileFault, ...]) -> None:
        self._faults = faults
        self._written: dict[int, tuple[tuple[int, int], list[FileFault]]] = {}
        self._seen: dict[str, None] = {}

    def opener(self, real: Callable[..., Any]) -> Callable[..., Any]:
        """`open`, by path, descriptor or with an opener of its own."""

        def open_(  # noqa: PLR0917  (the signature of open)
            file: Any,
            mode: str = "r",
            buffering: int = -1,
            encoding: str | None = None,
            errors: str | None = None,
            newline: str | None = None,
            closefd: Any = True,  # noqa: FBT002  (the signature of open)
            opener: Any = None,
        ) -> Any:
            writing = bool(set(mode) & set("wax+"))
            found = self._met(file, "write" if writing else "read")
            found = self._of(file) if isinstance(file, int) else found
            text = (encoding, errors, newline)
            if not writing or not (found or opener):
                return real(file, mode, buffering, *text, closefd, opener)
            plain = mode.replace("b", "").replace("t", "")
            raw = _FaultyRaw(file, plain, closefd, opener)
            raw.faults = self._of(raw.fileno()) or found  # an opener names the file
            self._remember(raw.fileno(), raw.faults)
            if "b" in mode and buffering == 0:
                return raw
            buffered = io.BufferedRandom(raw)
            return buffered if "b" in mode else io.TextIOWrapper(buffered, *text)

        return open_

    def descriptor(self, real: Callable[..., int]) -> Callable[..., int]:
        """`os.open`."""

        def open_(path: Any, flags: int, *rest: Any, **options: Any) -> int:
            writing = bool(flags & _WRITING)
            found = self._met(path, "write" if writing else "read")
            fd = real(path, flags, *rest, **options)
            self._remember(fd, found if writing else [])
            return fd

        return open_

    def write(self, real: Callable[..., int]) -> Callable[..., int]:
        """`os.write`."""

        def write(fd: int, data: Any, /) -> int:
            if not (found := self._of(fd)):
                return real(fd, data)
            return _through(found, data, lambda kept: real(fd, kept))

        return write

    def sendfile(self, real: Callable[..., int]) -> Callable[..., int]:
        """`os.sendfile`, by which `shutil` copies on Linux."""

        def sendfile(
            out_fd: int, in_fd: int, offset: int | None, count: int, **rest: Any
        ) -> int:
            if not self._of(out_fd):
                return real(out_fd, in_fd, offset, count, **rest)
            size = min(count, 1 << 20)  # it may send less than it was asked for
            if offset is None:
                return os.write(out_fd, os.read(in_fd, size))
            return os.write(out_fd, os.pread(in_fd, size, offset))

        return sendfile

    def moving(self, real: Callable[..., Any]) -> Callable[..., Any]:
        """What moves, makes or removes the paths that it is given."""

        def call(*paths: Any, **options: Any) -> Any:
            for path in paths:
                self._met(path, "move")
            return real(*paths, **options)

        return call

    def assert_met(self) -> None:
        """Asserts that each fault was about something that happened."""
        unmet = [fault for fault in self._faults if not fault.met]
        if unmet:
            seen = ", ".join(self._seen) or "no file"
            raise AssertionError(
                f"faulty_files: {', '.join(map(repr, unmet))} met no file, so nothing "
                f"was tested. The block did: {seen}. Correct pattern=, as in fnmatch "
                "('*/state.json' is that name in any folder), or leave the fault out."
            )

    def _met(self, path: Any, act: Act) -> list[FileFault]:
        if isinstance(path, str | bytes | os.PathLike) and len(self._seen) < 8:
            self._seen[f"{act} {os.fsdecode(path)}"] = None
        found = [fault for fault in self._faults if fault.meets(path, act)]
        for fault in found:
            fault.opening(path)
        return found

    def _remember(self, fd: int, faults: list[FileFault]) -> None:
        if faults:
            self._written[fd] = (_identity(fd), faults)

    def _of(self, fd: int) -> list[FileFault]:
        """The faults of a descriptor, unless it was closed and is another file now."""
        identity, faults = self._written.get(fd, (None, []))
        with contextlib.suppress(OSError):
            return faults if faults and _identity(fd) == identity else []
        return []


def _identity(fd: int) -> tuple[int, int]:
    found = os.fstat(fd)
    return found.st_dev, found.st_ino

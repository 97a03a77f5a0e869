"""What can go wrong with a disk, each for the paths of a pattern."""

import dataclasses
import errno
import fnmatch
import os
import time
from typing import Any, Literal

Act = Literal["read", "write", "move"]


@dataclasses.dataclass(kw_only=True)
class _Fault:
    pattern: str = "*"
    met: bool = dataclasses.field(default=False, init=False, repr=False, compare=False)

    def meets(self, path: Any, act: Act) -> bool:
        """Whether the fault is about this, and remembers that it was."""
        if act not in self.acts() or not isinstance(path, str | bytes | os.PathLike):
            return False
        found = fnmatch.fnmatch(os.fsdecode(path), self.pattern)
        self.met = self.met or found
        return found

    def acts(self) -> tuple[Act, ...]:
        """What must be done to a path for the fault to matter."""
        return ("write",)

    def opening(self, path: Any) -> None:
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

    def acts(self) -> tuple[Act, ...]:
        """All of them."""
        return ("read", "write", "move")

    def opening(self, path: Any) -> None:
        """Sleeps."""
        del path
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

    def acts(self) -> tuple[Act, ...]:
        """Writing and moving, or all."""
        return ("read", "write", "move") if self.reading else ("write", "move")

    def opening(self, path: Any) -> None:
        """Raises EACCES."""
        text = os.strerror(errno.EACCES)
        raise PermissionError(errno.EACCES, text, os.fspath(path))


FileFault = DiskFull | TornWrite | Slow | Denied

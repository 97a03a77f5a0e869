"""Files that are either whole or not there."""

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from mnist_gan._errors import UserError


def remove_leftovers(path: Path) -> None:
    """Removes what a killed process was writing beside `path`.

    Args:
      path: a file that `write_whole`, or another atomic writer, puts in its place.
    """
    for beside in path.parent.glob(f".{path.name}.*"):
        beside.unlink()


def check_writable(path: Path, option: str) -> None:
    """Checks that something can be made at `path`, before the work that makes it.

    Args:
      path: of a file or folder that may not exist yet.
      option: what the user named it with, for the message.

    Raises:
      UserError: if the nearest folder above that exists cannot be written to.
    """
    above = next(p for p in (path, *path.absolute().parents) if os.path.lexists(p))
    if not above.is_dir():
        if above == path:
            return
        raise UserError(f"{option} {path}: {above} is no folder; name another place")
    if not os.access(above, os.W_OK | os.X_OK):
        raise UserError(f"{option} {path}: {above} cannot be written to; name another")


def check_file(path: Path, option: str) -> None:
    """Checks that a file can be made, or replaced, at `path`; see `check_writable`."""
    if path.is_dir():
        raise UserError(f"{option} {path}: is a folder; name a file in it")
    check_writable(path, option)


def write_whole(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Writes a file beside `path`, then puts it in its place.

    A reader, or a run that goes on after a kill, sees the old file or the new one.

    Args:
      path: where the file is to be.
      write: writes the content to the binary file that it is given.

    Raises:
      UserError: if it cannot be written; it names `path`, not what is beside it.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with beside.open("wb") as file:
            write(file)
        beside.replace(path)
    except OSError as error:
        reason = error.strerror or error
        raise UserError(
            f"{path}: cannot be written ({reason}); what was there before is whole"
        ) from error
    finally:
        with contextlib.suppress(OSError):  # where nothing could be made
            beside.unlink()

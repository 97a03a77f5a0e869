"""Files that are either whole or not there."""

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


def write_whole(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Writes a file beside `path`, then puts it in its place.

    A reader, or a run that goes on after a kill, sees the old file or the new one.

    Args:
      path: where the file is to be.
      write: writes the content to the binary file that it is given.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with beside.open("wb") as file:
            write(file)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)

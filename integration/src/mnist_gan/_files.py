"""Files that are either whole or not there."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO


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

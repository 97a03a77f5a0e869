"""Files that appear whole or not at all."""

import contextlib
import os
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import BinaryIO


@contextlib.contextmanager
def new_file(path: str | os.PathLike[str]) -> Generator[BinaryIO]:
    """Opens a file that takes its name once all is written.

    Whatever happens before leaves what was there, and nothing else.

    Args:
      path: of the file; an older one is replaced.

    Yields:
      A file to write bytes to.

    Raises:
      OSError: if it cannot be written.
    """
    path = Path(path)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.chmod(0o666 & ~_umask())  # as any other new file; mkstemp's are private
        part.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink()
        raise


def _umask() -> int:
    umask = os.umask(0)
    os.umask(umask)
    return umask

"""TensorBoard events, written by who makes them.

tensorboardX's own writer hands events to a thread. When that cannot write it dies, and
the queue to it, full after some events, then blocks whoever adds one for ever.
"""

import contextlib
import os
import socket
import struct
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import numpy as np
from tensorboardX.proto import event_pb2
from tensorboardX.record_writer import masked_crc32c
from tensorboardX.summary import image, scalar

from mnist_gan._errors import UserError

_VERSION = "brain.Event:2"
# protobuf makes these names when it is imported, which no type checker sees.
Event: Any = event_pb2.Event  # pyrefly: ignore[missing-attribute]
SessionLog: Any = event_pb2.SessionLog  # pyrefly: ignore[missing-attribute]


class Events:
    """A file of events, in the format that TensorBoard reads.

    Args:
      folder: where it is made, beside those of earlier starts of the run.
      purge: the first step that is made again, of which TensorBoard then forgets what
        earlier files say, and of those after it; None for a new run.

    Raises:
      UserError: by all methods, if the file cannot be written.
    """

    def __init__(self, folder: Path, *, purge: int | None = None) -> None:
        name = f"events.out.tfevents.{time.time():.0f}.{socket.gethostname()}"
        self._path = folder / f"{name}.{os.getpid()}"
        with self._explained():
            folder.mkdir(parents=True, exist_ok=True)
            self._file = self._path.open("ab")
        self._write(Event(file_version=_VERSION))
        if purge is not None:
            self._write(Event(step=purge, file_version=_VERSION))
            start = SessionLog(status=SessionLog.START)
            self._write(Event(step=purge, session_log=start))

    def add(self, name: str, value: float, *, step: int) -> None:
        """Adds a number."""
        self._write(Event(step=step, summary=scalar(name, value)))

    def add_picture(self, name: str, picture: np.ndarray, *, step: int) -> None:
        """Adds a picture, uint8[height, width]."""
        summary = image(name, picture, dataformats="HW")
        self._write(Event(step=step, summary=summary))

    def flush(self) -> None:
        """Puts all events so far on disk."""
        with self._explained():
            self._file.flush()

    def close(self) -> None:
        """Ends the file."""
        with self._explained():
            self._file.close()

    def _write(self, event: Any) -> None:
        event.wall_time = time.time()
        content = event.SerializeToString()
        length = struct.pack("<Q", len(content))
        with self._explained():
            self._file.write(length + _checksum(length) + content + _checksum(content))

    @contextlib.contextmanager
    def _explained(self) -> Generator[None]:
        try:
            yield
        except OSError as error:
            raise UserError(
                f"{self._path}: cannot be written ({error.strerror}); put that right, "
                "and go on with --resume"
            ) from error


def _checksum(content: bytes) -> bytes:
    return struct.pack("<I", masked_crc32c(content))

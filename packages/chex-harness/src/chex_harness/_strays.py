"""Programs that left the process group of the job that started them.

A child with a session of its own is not reached by a signal to the group. It still has
the environment that it was started with, which names the job.
"""

import contextlib
import os
import signal
import time
from pathlib import Path


def end_strays(mark: str) -> None:
    """Kills every process whose environment has this variable with a value like it.

    Does nothing where there is no `/proc` (macOS). A program that was started with an
    environment of its own, or that runs as another user, is not found.

    Args:
      mark: the start of a line of the environment, "NAME=value".
    """
    deadline = time.monotonic() + 2
    while _kill(os.fsencode(mark)) and time.monotonic() < deadline:
        time.sleep(0.01)  # those that they have started meanwhile


def _kill(mark: bytes) -> int:
    killed = 0
    for folder in Path("/proc").glob("[0-9]*"):
        # Held by its descriptor, so that no other process gets the signal.
        with contextlib.suppress(OSError):
            holder = os.pidfd_open(int(folder.name))
            try:
                lines = (folder / "environ").read_bytes().split(b"\0")
                if any(line.startswith(mark) for line in lines):
                    signal.pidfd_send_signal(holder, signal.SIGKILL)
                    killed += 1
            finally:
                os.close(holder)
    return killed

"""Several processes of one command on this machine, and another try when one dies.

On a pod the cluster does this: a JobSet, Slurm or a queue starts the hosts again. Here
it is done in the same way, to rehearse it: when one process ends badly all are ended,
since none can go on without it, and all are started again from the last checkpoint.
"""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import NamedTuple, TextIO

from mnist_gan import _exits
from mnist_gan._errors import UserError
from mnist_gan._files import check_writable
from mnist_gan._interrupts import PARENT, Interrupts

_GRACE = 8.0  # for the others to say what they know of the one that ended
_SAVING = 120.0  # to save in, when told to end
_POLL = 0.1
# How a process ends because of another.
_ECHOES = (_exits.HANGS, -signal.SIGABRT, _exits.PREEMPTED)


class Job(NamedTuple):
    """What to run.

    Attributes:
      command: arguments of `mnist-gan`, such as `["train", "--steps", "30"]`.
      processes: how many.
      devices: simulated in each.
      restarts: how often to start again after a crash.
      logs: folder for a file a process; None for one that is made.
      program: what takes the arguments.
    """

    command: Sequence[str]
    processes: int
    devices: int = 1
    restarts: int = 3
    logs: str | None = None
    program: Sequence[str] = (sys.executable, "-m", "mnist_gan")


class _End(NamedTuple):
    """The process that decided how a try ended."""

    index: int
    code: int


def supervise(job: Job, interrupted: Interrupts, say: TextIO) -> int:
    """Runs the job to its end, with as many tries as it takes.

    Args:
      job: what to run.
      interrupted: true once the user wants it to stop; then all save and end.
      say: where the first process's output, and what happens, is shown.

    Returns:
      The exit code: that of the processes, or of the one that ended badly.

    Raises:
      UserError: if there is no command, or the logs cannot be written.
    """
    if not job.command:
        raise UserError(
            "launch: no command; put it behind --, such as: mnist-gan launch "
            "--processes 2 -- train --steps 30"
        )
    if job.command[0] == "launch":
        raise UserError(
            "launch: runs no other launch, which would start a job in every process; "
            "give --processes the number in all"
        )
    logs = Path(job.logs or tempfile.mkdtemp(prefix="mnist-gan-"))
    check_writable(logs, "--logs")
    try:
        logs.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"--logs {logs}: is no folder, and none can be made ({error.strerror}); "
            "name another"
        ) from error
    say.write(f"{job.processes} processes, a log each in {logs}\n")
    command, crashes = list(job.command), 0
    while True:
        end = _attempt(job, command, logs, interrupted, say)
        if interrupted and end.code == _exits.PREEMPTED:
            by_hand = interrupted.received == signal.SIGINT
            return _exits.STOPPED if by_hand else _exits.PREEMPTED
        crashes += end.code != _exits.PREEMPTED
        code = end.code if end.code >= 0 else _exits.CRASHED
        if end.code:
            log = _log(logs, end.index)
            say.write(f"process {end.index}: {_exits.describe(end.code)}; see {log}\n")
        if interrupted or end.code in _exits.FINAL or crashes > job.restarts:
            return code
        if command[0] == "train" and not any("--resume" in word for word in command):
            command.append("--resume=auto")
        say.write(f"starting all again (crash {crashes} of {job.restarts} allowed)\n")
        say.flush()


def _attempt(
    job: Job, command: Sequence[str], logs: Path, interrupted: Interrupts, say: TextIO
) -> _End:
    with contextlib.ExitStack() as stack:
        port = _free_port()
        started = [
            stack.enter_context(_started(job, command, logs, port, index))
            for index in range(job.processes)
        ]
        shown = stack.enter_context(_log(logs, 0).open("rb"))
        shown.seek(0, os.SEEK_END if job.logs else os.SEEK_SET)
        end, deadline, told = None, float("inf"), False
        while any(process.poll() is None for process in started):
            if interrupted and not told:
                told, deadline = True, time.monotonic() + _SAVING
                for process in started:
                    process.send_signal(signal.SIGTERM)
            end = _cause(end, started)
            if end and end.code != _exits.PREEMPTED:
                deadline = min(deadline, time.monotonic() + _GRACE)
            if time.monotonic() > deadline:
                break
            _show(shown.read(), say)
            time.sleep(_POLL)
        late = [i for i, process in enumerate(started) if process.poll() is None]
        _show(shown.read(), say)
        end = _cause(end, started)
        if end is None and late:
            return _End(late[0], _exits.HANGS)
        return end or _End(0, _exits.DONE)


def _cause(
    known: _End | None, started: Sequence[subprocess.Popen[bytes]]
) -> _End | None:
    """The process that ended badly first, but for those that ended for another one."""
    if known and known.code not in _ECHOES:
        return known
    ended = [_End(i, p.poll() or 0) for i, p in enumerate(started) if p.poll()]
    return min(ended, key=lambda end: end.code in _ECHOES, default=None)


@contextlib.contextmanager
def _started(
    job: Job, command: Sequence[str], logs: Path, port: int, index: int
) -> Generator[subprocess.Popen[bytes]]:
    """Starts a process in a group of its own, and leaves nothing of it."""
    join = ["--coordinator", f"127.0.0.1:{port}", "--processes", str(job.processes)]
    environment = {
        **os.environ,
        "JAX_PLATFORMS": "cpu",
        "JAX_NUM_CPU_DEVICES": str(job.devices),
        PARENT: str(os.getpid()),
    }
    with _log(logs, index).open("ab") as log:
        process = subprocess.Popen(  # noqa: S603  (the user's own command)
            [*job.program, *command, *join, "--process-id", str(index)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _log(logs: Path, index: int) -> Path:
    return logs / f"process-{index}.log"


def _show(text: bytes, say: TextIO) -> None:
    if text:
        say.write(text.decode(errors="replace"))
        say.flush()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]

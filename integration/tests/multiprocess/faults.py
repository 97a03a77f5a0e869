"""What can go wrong in one process of a run, and where.

`install` patches this process, so that a kind of fault happens at a place: step 7, `the
compilation`, and so on. It is imported by the program that the tests start.
"""

import contextlib
import errno
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import jax
import numpy as np

from mnist_gan import (
    _agreement,
    _checkpoints,
    _digits,
    _hosts,
    _log,
    _loop,
    _metrics,
    _watch,
)

TORN = 10  # the checkpoint in or after whose writing things go wrong
_FILE_LIMIT = 40_000  # bytes: the tiny networks' weights are more, its other files less
_COMMIT = re.compile(rf".*/checkpoints/{TORN}")


def kill():
    os.kill(os.getpid(), signal.SIGKILL)


def stop():
    os.kill(os.getpid(), signal.SIGSTOP)


def pause():
    """Stopped for three seconds, less than the silence that counts as lost."""
    subprocess.Popen(["sh", "-c", f"sleep 3; kill -CONT {os.getpid()}"])
    stop()


def sleep():
    time.sleep(600)


def crash():
    raise RuntimeError("the thirteenth digit is a letter")


def full():
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def denied():
    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def terminate():
    os.kill(os.getpid(), signal.SIGTERM)


def terminate_twice():
    terminate()
    threading.Timer(0.3, terminate).start()


def flip_bit():
    """From now on this process reports other numbers than it has."""
    parts = _agreement.parts
    _agreement.parts = lambda tree: {k: v[::-1] for k, v in parts(tree).items()}


def nan():
    """From now on this process reads NaN where the others read a loss."""
    get = _log.jax.device_get
    _log.jax.device_get = lambda tree: jax.tree.map(
        np.log, jax.tree.map(np.negative, get(tree))
    )


def slow():
    """From now on each step of this process takes half a second longer."""
    beat = _watch.Watch.beat

    def late(self, at):
        time.sleep(0.5)
        beat(self, at)

    _watch.Watch.beat = late


def limit_files():
    """From now on the system lets this process write no more than some bytes a file."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (_FILE_LIMIT, _FILE_LIMIT))


def cut_off():
    """From now on no connection of this process lives for long."""

    def cut():
        while True:
            for link in Path("/proc/self/fd").iterdir():
                with contextlib.suppress(OSError):
                    other = socket.socket(fileno=os.dup(int(link.name)))
                    if other.family in {socket.AF_INET, socket.AF_INET6}:
                        other.shutdown(socket.SHUT_RDWR)
                    other.close()
            time.sleep(0.02)

    threading.Thread(target=cut, daemon=True).start()


def other_program():
    """The networks of this process have another activation."""
    jax.numpy.tanh = jax.numpy.sin


def other_version():
    versions = _loop.versions
    _loop.versions = lambda: versions() | {"jax": "9.9"}


KINDS = [
    *(kill, stop, pause, sleep, slow, cut_off, crash, full, denied, limit_files),
    *(flip_bit, nan, terminate, terminate_twice, other_program, other_version),
]


def before(owner, name, fault, *, call=1, when=lambda *_: True):
    """Has the fault happen before a call, the first of those that are meant."""
    real, calls = getattr(owner, name), []

    def faulty(*args, **options):
        if when(*args):
            calls.append(args)
            if len(calls) == call:
                fault()
        return real(*args, **options)

    setattr(owner, name, faulty)


def after(owner, name, fault, *, call=1):
    """Has the fault happen after a call."""
    real, calls = getattr(owner, name), []

    def faulty(*args, **options):
        result = real(*args, **options)
        calls.append(args)
        if len(calls) == call:
            fault()
        return result

    setattr(owner, name, faulty)


def at_step(step, fault):
    beat = _watch.Watch.beat

    def faulty(self, at):
        beat(self, at)
        if at == step:
            fault()
        elif fault in {terminate, terminate_twice} and at > step:
            time.sleep(0.25)  # or the run is over before all have been told

    _watch.Watch.beat = faulty


def commits(source, target, **_):
    del source
    return _COMMIT.fullmatch(os.fspath(target)) is not None


def at_commit(fault):
    """When the first process is about to give a whole checkpoint its name."""
    for name in ("rename", "replace"):
        before(os, name, fault, when=commits)


PLACES = {
    "the start": lambda fault: fault(),
    "the digits": lambda fault: before(_digits, "load", fault),
    "the compilation": lambda fault: before(jax.stages.Lowered, "compile", fault),
    "the folder": lambda fault: before(_loop.RunFolder, "save", fault),
    "the metrics": lambda fault: before(_metrics.Metrics, "write", fault, call=2),
    "the pictures": lambda fault: before(_loop, "_draw", fault, call=4),
    "the save": lambda fault: before(
        _checkpoints.ocp.AsyncCheckpointer, "save", fault, call=2
    ),
    "after the save": lambda fault: after(
        _checkpoints.ocp.AsyncCheckpointer, "save", fault, call=2
    ),
    "the commit": at_commit,
    "the end": lambda fault: before(
        _hosts.Hosts, "barrier", fault, when=lambda _, what: what == "the end"
    ),
}


def install(process, kind, at, once=None):
    """Makes it happen.

    Args:
      process: in which; None for all.
      kind: name of one of `KINDS`.
      at: a step, or one of `PLACES`.
      once: a file, there to say that it has happened.
    """
    index = sys.argv[sys.argv.index("--process-id") + 1]
    if process not in {None, int(index)} or (once and Path(once).exists()):
        return
    known = {fault.__name__: fault for fault in KINDS}[kind]

    def fault():
        if once:
            Path(once).touch()
        known()

    if isinstance(at, int):
        at_step(at, fault if once else known)
    else:
        PLACES[at](fault)

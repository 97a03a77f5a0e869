import contextlib
import functools
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import jax
import pytest

from mnist_gan import _game
from mnist_gan._checkpoints import Checkpoints

from .tiny import TINY as RECIPE

TINY = Path(__file__).with_name("tiny.py")
PROGRAM = (sys.executable, str(TINY))
OPTIONS = ("train", "--recipe", "tiny", "--batch-size", "8", "--hang-after", "12")


class Ended(NamedTuple):
    """How processes ended: exit codes, what they said, and how long it took."""

    codes: list
    said: list
    seconds: float


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def train_in(
    folder,
    *arguments,
    processes=2,
    devices=1,
    fault=None,
    only=None,
    join=None,
    patience=90,
):
    """Runs `train` in processes, and ends those that are left after `patience`.

    Args:
      folder: for their logs.
      *arguments: of the command, and `only[i]` those of process i alone.
      processes: how many.
      devices: simulated in each.
      fault: arguments of `faults.install`.
      only: see above.
      join: `(port, processes, index) -> (arguments, environment)` by which a process
        finds the others.
      patience: in seconds.
    """
    port = free_port()
    started, logs = [], []
    begin = time.monotonic()
    with contextlib.ExitStack() as stack:
        for i in range(processes):
            joined, environment = (join or by_options)(port, processes, i)
            command = [*PROGRAM, *OPTIONS, *map(str, arguments)]
            command += [*map(str, (only or {}).get(i, ())), *joined]
            log = stack.enter_context((folder / f"log-{i}-{port}").open("w+"))
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={
                    **os.environ,
                    "JAX_PLATFORMS": "cpu",
                    "JAX_NUM_CPU_DEVICES": str(devices),
                    "TINY_FAULT": json.dumps(fault or {}),
                    **environment,
                },
                start_new_session=True,
            )
            stack.callback(process.wait)
            stack.callback(_kill, process)
            started.append(process)
            logs.append(log)
        stopped = fault["process"] if fault and fault["kind"] == "stop" else None
        waited = [p for i, p in enumerate(started) if i != stopped]
        deadline = begin + patience
        while any(p.poll() is None for p in waited):
            if time.monotonic() > deadline:
                break
            time.sleep(0.05)
        seconds = time.monotonic() - begin
        codes = [process.poll() for process in started]
        for process in started:
            _kill(process)
            process.wait()
        said = []
        for log in logs:
            log.seek(0)
            said.append(log.read())
    return Ended(codes, said, seconds)


@pytest.fixture
def train(tmp_path):
    """`train_in`, with a folder of this test."""
    return functools.partial(train_in, tmp_path)


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """The folder of a run of ten steps, with two checkpoints; look, do not touch."""
    folder = tmp_path_factory.mktemp("trained")
    ended = train_in(folder, "--steps", "10", "--out", folder / "run")
    assert ended.codes == [0, 0], ended.said
    return folder / "run"


def last(run):
    """The last whole checkpoint of a run; None where there is none."""
    checkpoints = Checkpoints(run / "checkpoints")
    try:
        if checkpoints.latest_step() is None:
            return None
        abstract = jax.eval_shape(lambda: _game.init(RECIPE, 0))
        return checkpoints.restore(abstract, None)
    finally:
        checkpoints.close()


def by_options(port, processes, index):
    joined = ["--coordinator", f"127.0.0.1:{port}", "--processes", str(processes)]
    return [*joined, "--process-id", str(index)], {}


def _kill(process):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)

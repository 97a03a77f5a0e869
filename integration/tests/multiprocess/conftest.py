import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest

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


@pytest.fixture
def train(tmp_path):
    """Runs `train` in processes, and ends those that are left after `patience`."""

    def run(
        *arguments,
        processes=2,
        devices=1,
        fault=None,
        only=None,
        join=None,
        patience=90,
    ):
        port = free_port()
        started, logs = [], []
        begin = time.monotonic()
        with contextlib.ExitStack() as stack:
            for i in range(processes):
                joined, environment = (join or by_options)(port, processes, i)
                command = [*PROGRAM, *OPTIONS, *map(str, arguments)]
                command += [*(only or {}).get(i, ()), *joined]
                log = stack.enter_context((tmp_path / f"log-{i}-{port}").open("w+"))
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
            stopped = fault and fault["kind"] == "stop"
            waited = [
                p
                for i, p in enumerate(started)
                if not (stopped and i == fault["process"])
            ]
            deadline = time.monotonic() + patience
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

    return run


def by_options(port, processes, index):
    joined = ["--coordinator", f"127.0.0.1:{port}", "--processes", str(processes)]
    return [*joined, "--process-id", str(index)], {}


def _kill(process):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)

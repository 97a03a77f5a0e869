import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from chex_harness._worker import _described, _short


def test_the_variables_of_a_bare_assert_are_shown():
    x = 3
    try:
        assert x == 4
    except AssertionError as error:
        text = _described(error, __file__)["traceback"]
    assert "  x = 3" in text


def test_long_and_broken_values_are_short():
    class Broken:
        def __repr__(self):
            raise ValueError("no")

    assert len(_short("x" * 500)) == 120
    assert _short(Broken()) == "<Broken: ValueError('no')>"


# A shell that starts the tests in the background has Ctrl-C ignored, here too.
PARENT = """
import signal, time
from chex_harness import run_processes
signal.signal(signal.SIGINT, signal.default_int_handler)
run_processes(time.sleep, processes=2, devices=1, args=(60,))
"""


def workers(parent):
    """The command lines that are alive and were started by this process."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes()
            stat = (folder / "stat").read_text().rsplit(")", 1)[1].split()
            environ = (folder / "environ").read_bytes()
        except OSError:
            continue
        if b"_worker.py" in line and stat[0] != "Z" and parent.encode() in environ:
            found.append(int(folder.name))
    return found


@pytest.mark.parametrize("how", ["kill", "interrupt"])
def test_whatever_ends_the_parent_nothing_is_left(how):
    name = f"HARNESS_TEST={os.getpid()}-{how}"
    env = {**os.environ, "HARNESS_TEST": name.split("=")[1]}
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT], env=env, stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 30
    while len(workers(name)) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(workers(name)) == 2
    time.sleep(0.5)  # long enough for the thread that follows the parent to start
    parent.send_signal({"kill": 9, "interrupt": 2}[how])
    assert parent.wait() != 0
    while workers(name) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert workers(name) == []

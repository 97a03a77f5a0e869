"""A run that dies is started again, and is the run that never died."""

import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from chex_harness import assert_trees_close
from mnist_gan._interrupts import Interrupts
from mnist_gan._launch import Job, supervise

from .conftest import OPTIONS, PROGRAM, TINY, last

STEPS = 30


@pytest.fixture(scope="module")
def launch(tmp_path_factory):
    def run(
        *arguments, fault=None, processes=2, devices=1, restarts=9, program=PROGRAM
    ):
        said = io.StringIO()
        job = Job(
            [*OPTIONS, *map(str, arguments)],
            processes,
            devices,
            restarts,
            str(tmp_path_factory.mktemp("logs")),
            program,
        )
        os.environ["TINY_FAULT"] = json.dumps(fault or {})
        try:
            return supervise(job, Interrupts(), said), said.getvalue()
        finally:
            del os.environ["TINY_FAULT"]

    return run


@pytest.fixture(scope="module")
def whole(launch, tmp_path_factory):
    out = tmp_path_factory.mktemp("whole") / "run"
    code, said = launch("--steps", STEPS, "--out", out)
    assert code == 0, said
    return out


def same_bits(one, other):
    a, b = last(one), last(other)
    assert int(a.state.step) == int(b.state.step) == STEPS
    assert a.data == b.data
    assert_trees_close(a.state, b.state, rtol=0)
    tables = [
        pq.read_table(
            folder / "metrics.parquet", columns=["step", "disc_loss", "gen_loss"]
        )
        for folder in (one, other)
    ]
    assert tables[0].equals(tables[1])
    np.testing.assert_array_equal(tables[0]["step"], np.arange(1, STEPS + 1))


def test_a_killed_worker_is_restarted_and_the_bits_are_the_same(
    launch, whole, tmp_path
):
    out, once = tmp_path / "run", tmp_path / "once"
    fault = {"process": 1, "kind": "kill", "at": 13, "once": str(once)}
    code, said = launch("--steps", STEPS, "--out", out, fault=fault)
    assert code == 0, said
    assert "process 1: killed by SIGKILL" in said
    assert said.count("starting all again") == 1
    again = said.partition("starting all again")[2]
    # From step 10, or from 5 where the kill came before 10 was on disk.
    assert "step 11 of 30" in again or "step 6 of 30" in again
    same_bits(out, whole)


def killed_at_random(launch, whole, folder, *, kills, seed):
    """A run, each of whose first tries is killed; how often it was."""
    folder.mkdir()
    code = (
        f"import sys; sys.path.insert(0, {str(TINY.parent)!r}); import tiny;"
        f"tiny.kill_within({str(folder)!r}, 8, {kills}, {seed}); sys.exit(tiny.main())"
    )
    out, program = folder.with_suffix(".run"), (sys.executable, "-c", code)
    done, said = launch(
        "--steps", STEPS, "--out", out, program=program, restarts=2 * kills
    )
    assert done == 0, said
    same_bits(out, whole)
    return said.count("killed by SIGKILL")


def test_three_kills_at_random_moments_end_in_the_same_bits(launch, whole, tmp_path):
    killed = killed_at_random(launch, whole, tmp_path / "tries", kills=3, seed=0)
    assert killed >= 1  # a moment that comes after the end kills nobody


@pytest.mark.nightly
def test_twenty_kills_at_random_moments_end_in_the_same_bits(launch, whole, tmp_path):
    killed = seed = 0
    while killed < 20:
        seed += 1
        tries = tmp_path / str(seed)
        killed += killed_at_random(launch, whole, tries, kills=5, seed=seed)
        assert seed < 15


def test_preempted_on_one_host_all_save_at_the_same_step(train, whole, tmp_path):
    """SIGTERM for one process; then on another number of devices and processes."""
    out = tmp_path / "run"
    fault = {"process": 1, "kind": "terminate", "at": 8}
    ended = train("--steps", STEPS, "--out", out, fault=fault)
    assert ended.codes == [42, 42], ended.said
    step = int(re.search(r"stopped at step (\d+), and saved", ended.said[0])[1])
    assert 8 <= step < STEPS
    assert int(last(out).state.step) == step

    ended = train("--resume", "--out", out, processes=1, devices=4, join=alone)
    assert ended.codes == [0], ended.said
    assert f"step {step + 1} of {STEPS}" in ended.said[0]
    there, here = last(out), last(whole)
    assert there.data == here.data  # the same digits in the same order
    assert_trees_close(there.state, here.state, rtol=1e-3, atol=1e-5)


def alone(port, processes, index):
    del port, processes, index
    return [], {}


SCRIPT = """
import json
import sys
from mnist_gan import _interrupts, _launch

command, program = map(json.loads, sys.argv[1:])
job = _launch.Job(command, 2, program=program)
with _interrupts.interrupts() as interrupted:
    sys.exit(_launch.supervise(job, interrupted, sys.stdout))
"""


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (signal.SIGINT, 130),
        pytest.param(signal.SIGTERM, 42, marks=pytest.mark.nightly),
        pytest.param(signal.SIGKILL, -signal.SIGKILL, marks=pytest.mark.nightly),
    ],
)
def test_a_launcher_that_is_told_to_end_has_all_save(tmp_path, number, code):
    """Even one that is killed; none is started again, and none is left."""
    out = tmp_path / "run"
    command = json.dumps([*OPTIONS, "--steps", "100000", "--out", str(out)])
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, command, json.dumps(PROGRAM)],
        stdout=subprocess.PIPE,
        text=True,
    )
    line = ""
    while "step 1 of" not in line:
        line = process.stdout.readline()
        assert line, "it ended before its first step"
    process.send_signal(number)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == code, said
    assert "starting all again" not in said
    wanted = f"--out {out}".encode()
    deadline = time.monotonic() + 30
    while left := running(wanted.replace(b" ", b"\0")):
        assert time.monotonic() < deadline, left
        time.sleep(0.1)
    assert int(last(out).state.step) >= 1


def running(words):
    """Processes that were started with these words."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if words in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
    return found

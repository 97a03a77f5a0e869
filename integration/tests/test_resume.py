"""A run killed at any moment and resumed is the run that was never stopped."""

import os
import signal
import subprocess
import sys
import time

import jax
import numpy as np
import pyarrow.parquet as pq
import pytest

from chex_harness import assert_trees_close
from mnist_gan import _game
from mnist_gan._checkpoints import Checkpoints
from mnist_gan._recipes import RECIPES

OPTIONS = [
    *("--recipe", "reference", "--steps", "200", "--batch-size", "8"),
    *("--seed", "5", "--devices", "1"),
]


def start(*arguments):
    """Starts the command line in a process of its own, with one device."""
    environment = {**os.environ, "JAX_NUM_CPU_DEVICES": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "mnist_gan", "train", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
    )


def wait_for(path, process, seconds=180):
    deadline = time.monotonic() + seconds
    while not path.exists():
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            pytest.fail(f"{path} did not appear:\n{process.communicate()[0]}")
        time.sleep(0.02)


def finish(process):
    said, _ = process.communicate(timeout=300)
    assert process.returncode == 0, said
    return said


def last_checkpoint(folder):
    checkpoints = Checkpoints(folder / "checkpoints")
    like = jax.eval_shape(lambda: _game.init(RECIPES["reference"], 5))
    try:
        return checkpoints.restore(like, None)
    finally:
        checkpoints.close()


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    out = tmp_path_factory.mktemp("whole") / "run"
    finish(start(*OPTIONS, "--out", out))
    return out


def test_a_run_killed_and_resumed_has_the_same_bits(uninterrupted, tmp_path):
    out = tmp_path / "run"
    process = start(*OPTIONS, "--out", out)
    wait_for(out / "checkpoints/100", process)
    time.sleep(1)  # some steps past the checkpoint
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert not (out / "checkpoints/200").exists(), "it was killed too late to tell"

    said = finish(start("--resume", "--out", out, "--devices", "1"))
    assert "step 101 of 200" in said
    killed, whole = last_checkpoint(out), last_checkpoint(uninterrupted)
    assert int(killed.state.step) == 200
    assert killed.data == whole.data
    assert_trees_close(killed.state, whole.state, rtol=0)  # to the bit

    losses = [
        pq.read_table(folder / "metrics.parquet").select(
            ["step", "disc_loss", "gen_loss"]
        )
        for folder in (out, uninterrupted)
    ]
    assert losses[0].equals(losses[1])
    np.testing.assert_array_equal(losses[0]["step"], np.arange(1, 201))


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 42)]
)
def test_a_signal_saves_and_says_how_to_go_on(tmp_path, number, code):
    out = tmp_path / "run"
    process = start(*OPTIONS, "--steps", "5000", "--out", out)
    line = ""
    while "step 1 of" not in line:
        line = process.stdout.readline()
        assert line, "it ended before its first step"
    process.send_signal(number)
    said, _ = process.communicate(timeout=120)
    assert process.returncode == code
    assert "Traceback" not in said
    assert f"mnist-gan train --resume --out {out} --devices 1" in said
    step = int(last_checkpoint(out).state.step)
    assert 1 <= step < 5000
    assert f"stopped at step {step}, and saved" in said
    assert pq.read_table(out / "metrics.parquet").num_rows == step
    for name in ("samples.png", "losses.png", "samples.parquet"):
        assert (out / name).exists()


@pytest.mark.parametrize("seconds", [0.5, 3.0, 6.0])
def test_ctrl_c_before_the_first_step_writes_nothing(tmp_path, seconds):
    process = start(*OPTIONS, "--out", tmp_path / "run")
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=120)
    if "step 1 of" in said:  # a fast machine is past it
        return
    assert process.returncode in (130, -signal.SIGINT), said
    if seconds > 1:  # before, Python itself has not come to our first line
        assert "Traceback" not in said
        assert said.rstrip().endswith("before the first step; nothing was written")
    assert not (tmp_path / "run").exists()


def test_two_processes_do_not_share_a_folder(uninterrupted, tmp_path):
    import fcntl
    import shutil

    out = shutil.copytree(uninterrupted, tmp_path / "run")
    with (out / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        process = start("--resume", "--out", out, "--steps", "300")
        said, _ = process.communicate(timeout=120)
    assert process.returncode == 2
    assert said.splitlines()[-1].startswith("mnist-gan: --out")
    assert "another process is training there" in said


def test_a_reader_that_leaves_does_not_end_the_run(tmp_path):
    out = tmp_path / "run"
    command = f"{sys.executable} -m mnist_gan train --steps 12 --batch-size 8"
    line = f"{command} --devices 1 --out {out} | head -1"
    done = subprocess.run(
        ["bash", "-c", line], check=True, capture_output=True, text=True, timeout=200
    )
    assert done.stderr == ""
    assert (out / "checkpoints/12").is_dir()
    assert pq.read_table(out / "metrics.parquet").num_rows == 12

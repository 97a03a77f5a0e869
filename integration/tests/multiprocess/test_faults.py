"""Whatever goes wrong in one process ends all of them soon, and says which it was.

`--hang-after` is 12 s here, and half of it the silence after which a process counts as
lost. No row may take longer than `within` after the start of
the processes, which itself takes up to 20 s on two busy cores.
"""

import signal
import subprocess
import sys
import time

import pyarrow.parquet as pq
import pytest

from mnist_gan import _runtime

from .conftest import free_port

STEPS = ("--steps", "20")
STARTS = 40


def fault(kind, process=1, step=7):
    return {"process": process, "step": step, "kind": kind}


@pytest.mark.parametrize(
    ("kind", "process", "codes", "words", "within"),
    [
        # Killed: the other hears nothing from it.
        pytest.param(
            "kill",
            1,
            [75, -signal.SIGKILL],
            "process 1 (",
            STARTS + 20,
            marks=pytest.mark.nightly,
        ),
        # The coordinator: jax itself ends the other.
        ("kill", 0, [-signal.SIGKILL, None], "", STARTS + 20),
        # Stopped: alive, and silent.
        ("stop", 1, [75, None], "no sign of life for 6 s", STARTS + 20),
        # Slow: alive, says so, and does not come to its next step.
        ("sleep", 1, [75, 75], "process 1 (", STARTS + 20),
        pytest.param(
            "sleep", 0, [75, 75], "process 0 (", STARTS + 20, marks=pytest.mark.nightly
        ),
        ("crash", 1, [70, 70], "process 1 (", STARTS + 10),
        pytest.param(
            "crash", 0, [70, 70], "process 0 (", STARTS + 10, marks=pytest.mark.nightly
        ),
        pytest.param(
            "fill_disk",
            1,
            [2, 2],
            "No space left",
            STARTS + 10,
            marks=pytest.mark.nightly,
        ),
        ("fill_disk", 0, [2, 2], "No space left", STARTS + 10),
        pytest.param(
            "flip_bit",
            1,
            [70, 70],
            "the state",
            STARTS + 10,
            marks=pytest.mark.nightly,
        ),
    ],
)
def test_a_fault_ends_all_and_is_named(  # noqa: PLR0917  (a row of the table)
    train, tmp_path, kind, process, codes, words, within
):
    ended = train(*STEPS, "--out", tmp_path / "run", fault=fault(kind, process=process))
    told = "\n".join(ended.said)
    for code, wanted in zip(ended.codes, codes, strict=True):
        assert wanted is None or code == wanted, (ended.codes, told)
    if kind == "kill" and process == 0:
        assert ended.codes[1] in (75, 70, -signal.SIGABRT), told
    survivor = ended.said[1 - process]
    assert words in survivor, survivor
    assert ended.seconds < within
    # Never a wrong result: nothing says that the run is done.
    assert "done:" not in told
    if words.startswith("process"):
        assert f"process {process} (" in survivor


def by_slurm(port, processes, index):
    """What srun sets; no option says who the others are."""
    node = subprocess.check_output(["hostname"], text=True).strip()
    return [], {
        "SLURM_JOB_ID": str(port - 61440),
        "SLURM_JOB_NODELIST": node,
        "SLURM_STEP_NODELIST": node,
        "SLURM_NTASKS": str(processes),
        "SLURM_PROCID": str(index),
        "SLURM_LOCALID": str(index),
        "JAX_COORDINATOR_ADDRESS": f"127.0.0.1:{port}",
    }


def test_other_data_on_one_host_is_named_before_the_first_step(
    train, shipped, tmp_path
):
    """Uneven data: one host has a row less; the hosts find each other through Slurm."""
    out, few = tmp_path / "run", tmp_path / "few.parquet"
    pq.write_table(shipped.slice(0, 9999), few)
    only = {1: ["--data", str(few)]}
    ended = train(*STEPS, "--out", out, only=only, join=by_slurm)
    assert ended.codes == [70, 70], ended.said
    for said in ended.said:
        assert "differs between the processes: process 1 (" in said
    assert not out.exists()


@pytest.mark.nightly
def test_another_seed_on_one_host_is_named_before_the_first_step(train, tmp_path):
    out = tmp_path / "run"
    ended = train(*STEPS, "--out", out, only={1: ["--seed", "7"]})
    assert ended.codes == [70, 70], ended.said
    for said in ended.said:
        assert "option of seed differs between the processes: process 1 (" in said
    assert not out.exists()


@pytest.mark.nightly
def test_a_process_that_never_comes_is_an_error_in_time(tmp_path):
    """A command that is run on one host only ends when the start has taken too long."""
    begin = time.monotonic()
    code = (
        "from mnist_gan._runtime import Join, initialize\n"
        "initialize(Join('127.0.0.1:%d', 2, 0, start_within=8), {})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code % free_port()],
        check=False,
        capture_output=True,
        timeout=60,
    )
    assert done.returncode != 0
    assert time.monotonic() - begin < 40
    assert _runtime.Join().start_within == 300

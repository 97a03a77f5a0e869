"""Processes that should not train together are told so before the first step."""

import fcntl
import re
import subprocess

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mnist_gan._runtime import Join

from .conftest import by_options, free_port

STEPS = ("--steps", "20")


@pytest.fixture
def data(shipped, tmp_path):
    """Folders of digits: two files, one of them, with a broken image, with none."""
    parts = shipped.slice(0, 60), shipped.slice(60, 60)
    broken = parts[1].to_pylist()
    broken[3]["image"]["bytes"] = broken[3]["image"]["bytes"][:50]
    broken = pa.Table.from_pylist(broken, schema=shipped.schema)
    folders = {"all": parts, "a file less": parts[:1], "none": ()}
    for name, tables in (folders | {"broken": (parts[0], broken)}).items():
        (tmp_path / name).mkdir()
        for i, table in enumerate(tables):
            pq.write_table(table, tmp_path / name / f"train-{i}.parquet")
    return tmp_path


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
@pytest.mark.parametrize(
    ("folder", "code", "words"),
    [
        ("a file less", 70, "differs between the processes: process 1 ("),
        ("broken", 2, "row 3"),
        ("none", 2, "holds no .parquet file"),
    ],
)
def test_data_that_one_host_lacks(train, data, folder, code, words):
    out = data / "run"
    only = {0: ["--data", data / "all"], 1: ["--data", data / folder]}
    ended = train(*STEPS, "--out", out, only=only)
    assert ended.codes == [code, code], ended.said
    for said in ended.said:
        assert words in said
    assert "process 1 (" in ended.said[0]
    assert not out.exists()


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("option", "value", "name"),
    [
        ("--seed", 7, "seed"),
        ("--steps", 30, "steps"),
        ("--batch-size", 4, "batch_size"),
    ],
)
def test_another_option_on_one_host_is_named(train, tmp_path, option, value, name):
    out = tmp_path / "run"
    ended = train(*STEPS, "--out", out, only={1: [option, value]})
    assert ended.codes == [70, 70], ended.said
    for said in ended.said:
        assert f"option of {name} differs between the processes: process 1 (" in said
    assert not out.exists()


@pytest.mark.nightly
def test_a_folder_in_which_another_run_trains(train, tmp_path):
    """The first process finds out; the other hears it from that one."""
    out = tmp_path / "run"
    out.mkdir()
    with (out / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        ended = train(*STEPS, "--out", out)
    assert ended.codes == [2, 2], ended.said
    assert "process 0 (" in ended.said[1]
    for said in ended.said:
        assert "another process is training there" in said
    assert not (out / "checkpoints").exists()


def nobody(port, processes, index):
    """The second process looks for the first where there is none."""
    return by_options(port if index == 0 else free_port(), processes, index)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("processes", "join"),
    [(1, lambda port, _, index: by_options(port, 2, index)), (2, nobody)],
    ids=["too few", "another address"],
)
def test_processes_that_do_not_find_each_other_say_so_in_time(
    train, tmp_path, processes, join
):
    """A command that is run on one host only ends when the start has taken too long."""
    out = tmp_path / "run"
    arguments = (*STEPS, "--out", out, "--hang-after", "1")
    ended = train(*arguments, processes=processes, join=join)
    assert ended.codes == [75] * processes, ended.said
    for said in ended.said:
        assert "waited 10 s for all 2 processes to come" in said
        assert re.search(r"the coordinator 127\.0\.0\.1:\d+ can be reached", said)
    assert not out.exists()
    assert Join().start_within == 300

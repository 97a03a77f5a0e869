import contextlib
import io
import shutil
import signal
import subprocess
import sys
from types import SimpleNamespace

import jax
import numpy as np
import pyarrow.parquet as pq
import pytest
from runs import TINY, Stops

from rlax_agents import _cli, _recipes


@pytest.fixture(autouse=True)
def _strict(monkeypatch):
    """Haiku and optax promote, so nothing is strict here; recipes are tiny."""
    monkeypatch.setattr(_recipes, "RECIPES", TINY)


@pytest.fixture
def call(capsys):
    """Calls the command line, and returns what it said."""

    def run(*arguments):
        capsys.readouterr()
        try:
            code = _cli.main([str(argument) for argument in arguments])
        except SystemExit as error:  # argparse
            code = error.code
        said = capsys.readouterr()
        return SimpleNamespace(code=code, out=said.out, err=said.err)

    return run


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The folder of a run of 6 updates, and what was said; look, do not touch."""
    folder = tmp_path_factory.mktemp("runs") / "done"
    out, err = io.StringIO(), io.StringIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        patch.setattr(_recipes, "RECIPES", TINY)
        code = _cli.main(["train", "ppo", "catch", "--seed", "1", "--out", str(folder)])
    return folder, SimpleNamespace(code=code, out=out.getvalue(), err=err.getvalue())


@pytest.fixture
def finished(trained):
    return trained[0]


@pytest.fixture
def folder(finished, tmp_path):
    return shutil.copytree(finished, tmp_path / "run")


def test_training_leaves_a_picture_metrics_and_the_state(trained):
    folder, said = trained
    assert said.code == 0
    first, speed, evaluated, files = said.out.splitlines()
    assert first == (
        "ppo on catch, seed 1: 6 updates of 48 steps, 8 environments on 1 cpu device"
    )
    assert "steps a second, after" in speed
    assert "in 100 episodes after 6 updates; target 0.5, " in evaluated
    assert files == f"{folder}: returns.png, metrics.parquet, state.npz"
    assert said.err.splitlines()[-1].startswith("update 6 of 6  return ")
    assert sorted(p.name for p in folder.iterdir()) == [
        "metrics.parquet",
        "returns.png",
        "run.json",
        "state.npz",
    ]
    assert (folder / "returns.png").read_bytes().startswith(b"\x89PNG")
    names = pq.read_table(folder / "metrics.parquet").column_names
    assert names[:2] == ["step", "episode_return"]
    assert {"loss", "entropy", "steps_per_second"} < {*names}


def test_evaluation_says_what_training_said(call, trained):
    folder, before = trained
    said = call("evaluate", folder)
    assert said.code == 0
    assert said.out == before.out.splitlines(keepends=True)[2]


def test_a_stopped_run_says_how_to_go_on_and_does_it_exactly(
    call, finished, tmp_path, monkeypatch, interrupts
):
    out = tmp_path / "my run"
    stops = Stops(3, lambda: signal.raise_signal(signal.SIGINT))
    with monkeypatch.context() as patch:
        patch.setattr(_cli, "progress", lambda *_, **__: stops)
        said = call("train", "ppo", "catch", "--seed", 1, "--out", out)
    assert said.code == 130
    line = said.err.splitlines()[-1]
    assert line.startswith("rlax_agents: stopped at update ")
    assert line.endswith(
        f"of 6, and saved; to go on: python -m rlax_agents train --resume '{out}'"
    )
    assert (out / "returns.png").exists()
    said = call("train", "--resume", out)
    assert said.code == 0
    assert said.out.startswith("ppo on catch, seed 1, resumed: 6 updates")
    assert (out / "state.npz").read_bytes() == (finished / "state.npz").read_bytes()
    tables = [
        pq.read_table(run / "metrics.parquet").drop(["steps_per_second"])
        for run in (out, finished)
    ]
    assert tables[0].equals(tables[1])


def test_a_finished_run_goes_on_with_more_updates(call, folder):
    said = call("train", "--resume", folder, "--updates", 8)
    assert said.code == 0
    table = pq.read_table(folder / "metrics.parquet")
    assert table["step"].to_pylist() == [48 * n for n in range(1, 9)]


@pytest.mark.devices(8)
def test_two_devices_learn_what_one_does(call, devices, finished, tmp_path):
    out = tmp_path / "two"
    new = ["train", "ppo", "catch", "--seed", 1, "--out", out]
    said = call(*new, "--devices", 2, "--updates", 3)
    assert said.code == 0
    assert "on 2 cpu devices" in said.out
    said = call("train", "--resume", out, "--updates", 6)
    assert "on 2 cpu devices" in said.out
    one, two = (pq.read_table(run / "metrics.parquet") for run in (finished, out))
    for name in ("episode_return", "loss"):
        np.testing.assert_allclose(
            two[name].to_numpy(), one[name].to_numpy(), rtol=1e-4, atol=1e-5
        )


def test_recipes_are_listed(call):
    said = call("list")
    assert said.out.splitlines() == [
        "agent   environment   environments   updates   steps   target",
        "ppo     catch                    8         6     288      0.5",
        "dqn     catch                    8        12     384        -",
    ]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            "train poo catch",
            "is 'poo', wanted one of dqn, ppo; did you mean ppo?",
        ),
        ("train ppo cath", "env is 'cath', wanted one of catch; did you mean catch?"),
        (
            "train",
            "train needs an agent and an environment; type python -m",
        ),
        ("train ppo", "train needs an agent and an environment; type python"),
        (
            "train ppo catch --updates 0",
            "--updates: 0: wanted 1 to 2147483647",
        ),
        (
            "train ppo catch --seed x",
            "--seed: invalid whole number value: 'x'",
        ),
        (
            "train ppo catch --devices 3",
            "--devices 3 do not divide 8 environments;",
        ),
        ("train ppo catch --out {file}", "file: cannot be written ("),
        ("train ppo catch --out {run}", "holds a run already; type --resume"),
        ("train --resume {run}", "has made 6 of 6 updates; type --updates 12 to go on"),
        ("train --resume {run} --seed 1", "as it is; leave out 1, or leave out --res"),
        ("train ppo --resume {run}", "as it is; leave out ppo, or leave out --resume"),
        ("train --resume nowhere", "nowhere: holds no run, wanted a folder with run"),
        ("evaluate nowhere", "nowhere: holds no run, wanted a folder with run.json"),
        ("evaluate {run} --episodes 0", "argument --episodes: 0: wanted 1 to 100000;"),
        ("fly", "argument COMMAND: invalid choice: 'fly'"),
    ],
)
def test_what_cannot_be_done_is_one_line(call, folder, tmp_path, arguments, says):
    (tmp_path / "file").touch()
    before = {p: p.read_bytes() for p in folder.iterdir()}
    words = [w.format(run=folder, file=tmp_path / "file") for w in arguments.split()]
    said = call(*words)
    assert said.code == 2
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert said.err.startswith("rlax_agents: ")
    assert says in said.err
    assert {p: p.read_bytes() for p in folder.iterdir()} == before


@pytest.mark.parametrize("name", ["run.json", "metrics.parquet", "state.npz"])
def test_a_damaged_file_is_named_in_one_line(call, folder, name):
    (folder / name).write_bytes((folder / name).read_bytes()[:-40])
    said = call("train", "--resume", folder, "--updates", 7)
    assert said.code == 2
    assert said.err.count("\n") == 1
    assert f"{name}: " in said.err
    assert "damaged" in said.err


def test_a_missing_extra_is_named(call, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    said = call("train", "ppo", "catch")
    assert said.code == 2
    assert said.err == (
        "rlax_agents: train needs pyarrow, which is not installed; type pip install "
        "pyarrow, or install rlax-agents with its extra cli\n"
    )


def test_too_many_environments_are_one_line(call, monkeypatch, tmp_path):
    def learn(*_, **__):
        raise jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory\nmore")

    monkeypatch.setattr(_cli, "learn", learn)
    said = call("train", "ppo", "catch", "--out", tmp_path / "run")
    assert said.code == 2
    assert said.err == "rlax_agents: out of memory; type a smaller --envs\n"


def test_without_arguments_there_is_help(call):
    said = call()
    assert said.code == 2
    assert "python -m rlax_agents train ppo cartpole" in said.err


def test_the_module_is_a_program_that_loads_no_extra_to_complain():
    command = [sys.executable, "-X", "importtime", "-m", "rlax_agents"]
    command += ["train", "ppo", "catsh"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    loaded = {line.split("|")[-1].strip() for line in done.stderr.splitlines()}
    assert done.returncode == 2
    assert done.stderr.endswith("did you mean catch?\n")
    assert "rlax_agents._cli" in loaded
    assert not loaded & {"matplotlib", "pyarrow"}

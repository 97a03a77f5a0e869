import ast
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
RUN = ROOT / "tools/run.py"


def run(*arguments, **kwargs):
    return subprocess.run(
        [sys.executable, RUN, *arguments],
        check=False,
        capture_output=True,
        text=True,
        **kwargs,
    )


@pytest.mark.parametrize("version", [(3, 11), (3, 12), (3, 13)])
def test_these_pythons_serve(load, version):
    assert load("run").check_python(version) == ""


@pytest.mark.parametrize("version", [(2, 7), (3, 8), (3, 10), (3, 14), (4, 0)])
def test_other_pythons_get_one_line_with_those_that_serve(load, version):
    line = load("run").check_python(version)
    assert "Python {}.{};".format(*version) in line
    assert "Python 3.11, 3.12 or 3.13 serves" in line
    assert "\n" not in line


def test_old_pythons_can_read_it():
    ast.parse(RUN.read_text(), feature_version=(3, 6))


def test_help_needs_no_environment(tmp_path):
    shown = run("--help", cwd=tmp_path)
    assert shown.returncode == 0
    assert "python3 tools/run.py train -- --steps 30" not in shown.stderr
    assert "tools/run.py tests" in shown.stdout


def test_no_argument_shows_help_and_fails():
    assert run().returncode == 2


def test_an_unreachable_index_is_one_line(load, tmp_path, monkeypatch, capsys):
    program = load("run")
    monkeypatch.setattr(program, "HOME", tmp_path / "home")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    monkeypatch.setattr(program, "NEEDS", ["no-such-package-here"])
    assert program.main(["tests"]) == 2
    assert "is pypi.org within reach?" in capsys.readouterr().err


def test_a_half_made_environment_is_not_whole(load, tmp_path):
    program = load("run")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python").touch()
    assert not program.is_whole(tmp_path)
    (tmp_path / "whole").write_text(program.mark())
    assert program.is_whole(tmp_path)


def test_an_environment_of_a_clone_that_was_moved_is_not_whole(
    load, tmp_path, monkeypatch
):
    program = load("run")
    (tmp_path / "whole").write_text(program.mark())
    monkeypatch.setattr(program, "ROOT", tmp_path / "moved")
    assert not program.is_whole(tmp_path)


@pytest.fixture
def bin_with_nox(tmp_path):
    """A folder whose python prints its arguments."""
    (tmp_path / "bin").mkdir()
    python = tmp_path / "bin/python"
    python.write_text('#!/bin/sh\nfor a in "$@"; do echo "$a"; done\nexit 7\n')
    python.chmod(0o755)
    return tmp_path


@pytest.mark.parametrize(
    ("typed", "handed_on"),
    [
        (["tests"], ["-s", "tests"]),
        (["lint", "types"], ["-s", "lint", "types"]),
        (["train", "--", "--steps", "3"], ["-s", "train", "--", "--steps", "3"]),
        (["-t", "arrow-jax"], ["-t", "arrow-jax"]),
        (["-l"], ["-l"]),
    ],
)
def test_arguments_reach_nox_and_its_exit_code_comes_back(
    load, bin_with_nox, capfd, typed, handed_on
):
    assert load("run").run(typed, bin_with_nox) == 7
    said = capfd.readouterr().out.split("\n")[:-1]
    assert said == ["-m", "nox", "-f", str(ROOT / "noxfile.py"), *handed_on]


def test_pip_comes_from_the_index_where_python_has_none(load, tmp_path):
    wheel = load("run").download_pip(tmp_path)
    shown = subprocess.run(
        [sys.executable, f"{wheel}/pip", "--version"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert shown.stdout.startswith("pip ")


@pytest.mark.parametrize(
    ("typed", "option"),
    [
        (["train", "--steps", "30"], "--steps"),
        (["tests", "-x"], "-x"),
        (["train", "--resume", "--", "--steps"], "--resume"),
    ],
)
def test_an_option_before_the_dashes_gets_a_hint(load, capsys, typed, option):
    assert load("run").main(typed) == 2
    said = capsys.readouterr().err
    assert f"{option}: options of a task go behind --" in said
    assert f"{typed[0]} -- {option}" in said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_reach_the_task_and_its_exit_code_comes_back(tmp_path, number):
    (tmp_path / "bin").mkdir()
    python = tmp_path / "bin/python"
    # Stands for nox with a task below it: both get the signal, the task saves.
    task = "import signal, sys, time\n"
    task += "def save(*_): print('saved', flush=True); sys.exit(0)\n"
    task += "signal.signal(signal.SIGINT, save); print('up', flush=True)\n"
    task += "time.sleep(60)\n"
    (tmp_path / "task.py").write_text(task)
    nox = f"#!/bin/sh\ntrap '' INT\n{sys.executable} {tmp_path}/task.py &\n"
    python.write_text(
        nox.replace("trap '' INT\n", "trap : INT\n") + "wait; wait; exit 130\n"
    )
    python.chmod(0o755)
    program = f"import sys; sys.path.insert(0, {str(RUN.parent)!r}); import run\n"
    program += (
        f"from pathlib import Path\nsys.exit(run.run(['x'], Path({str(tmp_path)!r})))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "up\n"
    process.send_signal(number)
    said, _ = process.communicate(timeout=30)
    assert said == "saved\n"
    assert process.returncode == 130

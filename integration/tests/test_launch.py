"""The supervisor, with programs of one line in place of training."""

import io
import sys

import pytest

from mnist_gan import _launch
from mnist_gan._interrupts import Interrupts
from mnist_gan._launch import Job

# argv: what launch was given, then --coordinator A --processes N --process-id I.
PRELUDE = """
import pathlib, sys, time
index = int(sys.argv[-1])
folder = pathlib.Path(sys.argv[1])
tries = len(list(folder.glob(f"{index}-*")))
(folder / f"{index}-{tries}").touch()
"""


@pytest.fixture
def supervise(tmp_path):
    """Runs two processes of a script; returns the code, what was said, the tries."""
    (tmp_path / "tries").mkdir()

    def run(script, *words, restarts=3):
        program = (sys.executable, "-c", PRELUDE + script)
        job = Job(
            [str(tmp_path / "tries"), *words],
            2,
            restarts=restarts,
            logs=str(tmp_path / "logs"),
            program=program,
        )
        said = io.StringIO()
        code = _launch.supervise(job, Interrupts(), said)
        return code, said.getvalue(), len(list((tmp_path / "tries").glob("0-*")))

    return run


def test_processes_that_are_done_are_done(supervise):
    code, said, tries = supervise("print('hello from', index)")
    assert (code, tries) == (0, 1)
    assert "hello from 0" in said  # the first one's output is shown
    assert "hello from 1" not in said


@pytest.mark.parametrize("final", [2, 3])
def test_what_would_end_the_same_way_is_not_started_again(supervise, final):
    code, said, tries = supervise(f"sys.exit({final} * index)")
    assert (code, tries) == (final, 1)
    assert "process 1: " in said
    assert "process-1.log" in said


def test_a_crash_is_started_again_as_often_as_allowed(supervise):
    code, said, tries = supervise("sys.exit(70 * index)", restarts=2)
    assert (code, tries) == (70, 3)
    assert said.count("starting all again") == 2


def test_a_preemption_is_started_again_for_free(supervise):
    code, _, tries = supervise("sys.exit(42 if tries < 2 else 0)", restarts=0)
    assert (code, tries) == (0, 3)


def test_a_process_that_waits_for_a_dead_one_is_ended(supervise, monkeypatch):
    monkeypatch.setattr(_launch, "_GRACE", 0.2)
    script = "time.sleep(60) if index == 0 else __import__('os').abort()"
    code, said, _ = supervise(script, restarts=0)
    assert code == 70
    assert "process 1: ended by jax" in said


@pytest.mark.parametrize("later", [0, 1])
def test_the_first_cause_is_reported_and_not_its_echo(supervise, later):
    """Whichever is seen first; 75 is what the other made of it."""
    script = f"time.sleep(index * {later}); sys.exit(75 if index == 0 else 3)"
    code, said, _ = supervise(script, restarts=0)
    assert code == 3
    assert "process 1: the losses" in said


def test_a_second_try_goes_on_with_the_run():
    """And a first try does not: what --resume says is the user's."""
    seen = []
    job = Job(["train", "--out", "x"], 1, restarts=1, program=("true",))

    def attempt(_, command, *__):
        seen.append(list(command))
        return _launch._End(0, 0 if len(seen) > 1 else 70)

    real, _launch._attempt = _launch._attempt, attempt
    try:
        assert _launch.supervise(job, Interrupts(), io.StringIO()) == 0
    finally:
        _launch._attempt = real
    assert "--resume=auto" not in seen[0]
    assert seen[1] == [*job.command, "--resume=auto"]


def test_no_command_is_a_clear_line(call):
    said = call("launch", "--processes", 2)
    assert said.code == 2
    assert said.err.startswith("mnist-gan: launch: no command; put it behind --")


@pytest.mark.parametrize(
    ("logs", "complaint"),
    [
        ("file", "--logs {}: is no folder, and none can be made (File exists)"),
        ("file/below", "--logs {}: "),
    ],
)
def test_logs_where_none_can_be_made(call, tmp_path, logs, complaint):
    (tmp_path / "file").touch()
    logs = tmp_path / logs
    said = call("launch", "--processes", 1, "--logs", logs, "--", "doctor")
    assert said.code == 2
    assert said.err.startswith(f"mnist-gan: {complaint.format(logs)}")
    assert "name another" in said.err


def test_a_launch_in_a_launch_is_refused(call):
    said = call("launch", "--processes", 2, "--", "launch", "--processes", 2)
    assert said.code == 2
    assert said.err.startswith("mnist-gan: launch: runs no other launch")

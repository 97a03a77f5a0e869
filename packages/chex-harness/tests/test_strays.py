import os
import subprocess
import sys
from pathlib import Path

from chex_harness import Kill, at_step, run_processes
from chex_harness._strays import end_strays

SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]


def start(mark):
    env = {**os.environ, "CHEX_HARNESS_TEST": mark}
    return subprocess.Popen(SLEEP, env=env, start_new_session=True)


def test_those_with_the_mark_are_ended_and_no_others():
    mine, other = start("/job-1/a"), start("/job-12/a")
    try:
        end_strays("CHEX_HARNESS_TEST=/job-1/")
        assert mine.wait(timeout=5) == -9
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def runs(pid):
    """Whether it does; one that nobody has waited for yet does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    except FileNotFoundError:
        return False
    return stat.rsplit(")", 1)[1].split()[0] != "Z"


def starts_one(file):
    child = subprocess.Popen(SLEEP, start_new_session=True)
    file.write_text(str(child.pid))
    at_step(0)


def test_a_child_with_its_own_session_ends_with_its_job(tmp_path):
    file = tmp_path / "pid"
    kill = Kill(process=0, step=0)
    run_processes(starts_one, processes=1, args=(file,), faults=[kill], check=False)
    pid = int(file.read_text())
    assert not runs(pid)

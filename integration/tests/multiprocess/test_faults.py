"""Whatever goes wrong in one process ends all of them soon, and says which it was.

`--hang-after` is 12 s here, and half of it the silence after which a process counts as
lost. No row may take longer than `within` after the start of the processes, which
itself takes from 6 s to 100 s on two cores, by what else they do.
"""

import re
import signal
from typing import NamedTuple

import pytest

from chex_harness import assert_trees_close

from .conftest import last
from .faults import TORN

STEPS = ("--steps", "20")
STARTS = 150
KILLED = -signal.SIGKILL
# When the coordinating process is gone, jax and the watch both see it, and the first of
# them ends the process: the watch with 75, jax with SIGABRT, and jax 0.9 with 1.
ORPHANED = (75, -signal.SIGABRT, 1)
UNCOORDINATED = "another task died|which coordinates, does not answer"
LOST = "no sign of life for 6 s"


class Row(NamedTuple):
    """A fault, and what comes of it.

    Attributes:
      kind: of fault, one of `faults.KINDS`.
      process: in which it happens; None for all.
      at: a step, or one of `faults.PLACES`.
      codes: by process, an exit code or several; None for a process that is stopped.
      words: a pattern that each process says in which nothing happened, or all.
      left: which checkpoint is the last whole one then, 0 for none.
      within: seconds, beyond the start.
      nightly: whether it is left out of a short run.
    """

    kind: str
    process: int | None
    at: int | str
    codes: tuple
    words: str
    left: tuple
    within: float = 20
    nightly: bool = True

    def __str__(self):
        whom = "all" if self.process is None else f"process {self.process}"
        at = f"step {self.at}" if isinstance(self.at, int) else self.at
        return f"{self.kind} {whom} at {at}"


ROWS = [
    # Killed: the other hears nothing from it. The coordinator: see above.
    Row("kill", 1, "the digits", (75, KILLED), LOST, (0,)),
    Row("kill", 1, "the compilation", (75, KILLED), LOST, (0,)),
    Row("kill", 0, "the compilation", (KILLED, ORPHANED), UNCOORDINATED, (0,)),
    Row("kill", 1, 7, (75, KILLED), LOST, (0, 5)),
    Row("kill", 0, 7, (KILLED, ORPHANED), UNCOORDINATED, (0, 5), nightly=False),
    Row("kill", 1, "after the save", (75, KILLED), LOST, (5, TORN)),
    Row("kill", 0, "the commit", (KILLED, ORPHANED), UNCOORDINATED, (5,)),
    Row("kill", 1, "the end", (75, KILLED), LOST, (20,)),
    # Stopped: alive, and silent.
    Row("stop", 1, "the compilation", (75, None), LOST, (0,)),
    Row("stop", 1, 7, (75, None), LOST, (0, 5), nightly=False),
    Row("stop", 0, 7, (None, 75), "has not answered for 6 s", (0, 5)),
    # Slow: alive, says so, and does not come to its next step.
    Row("sleep", 1, 7, (75, 75), r"process 1 \(", (0, 5), nightly=False),
    Row("sleep", 0, 7, (75, 75), r"process 0 \(", (0, 5)),
    Row("sleep", 1, "the save", ((70, 75), 75), "", (5,), within=40),
    Row("sleep", 1, "the compilation", (75, 75), "no step for", (0,), within=140),
    # Cut off: no connection lives.
    Row("cut_off", 1, 7, (75, ORPHANED), LOST, (0, 5)),
    Row("cut_off", 0, 7, (ORPHANED, ORPHANED), UNCOORDINATED, (0, 5)),
    Row("crash", 1, "the digits", (70, 70), r"process 1 \(", (0,)),
    Row("crash", 1, "the compilation", (70, 70), r"process 1 \(", (0,)),
    Row("crash", 1, 7, (70, 70), r"process 1 \(", (0, 5), nightly=False),
    Row("crash", 0, 7, (70, 70), r"process 0 \(", (0, 5)),
    Row("nan", 1, 7, (3, 3), r"process 1 \(", (0, 5)),
    Row("nan", 0, 7, (3, 3), r"process 0 \(", (0, 5)),
    Row("flip_bit", 1, 7, (70, 70), "the state of", (5,)),
    Row("other_program", 1, "the start", (70, 70), "program of 1 differs", (0,)),
    Row("other_version", 1, "the start", (70, 70), "version of jax differs", (0,)),
    Row("full", 1, "the save", (2, 2), "No space left", (5,)),
    Row("full", 0, "the save", (2, 2), "No space left", (5,), nightly=False),
    Row("full", 0, "the metrics", (2, 2), "No space left", (5,)),
    Row("full", 0, "the pictures", (2, 2), "No space left", (5,)),
    Row("denied", 0, "the folder", (2, 2), "Permission denied", (0,)),
    # Behind the start of a checkpoint, where orbax has the others wait.
    Row("limit_files", 1, "the start", (2, 2), "File too large", (0,)),
    Row("limit_files", 0, "the start", (2, 2), "File too large", (0,)),
    Row("denied", 0, "the commit", (2, 2), "Permission denied", (5,)),
]


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(row, id=str(row), marks=[pytest.mark.nightly] * row.nightly)
        for row in ROWS
    ],
)
def test_a_fault_ends_all_and_is_named(train, tmp_path, row):
    fault = {"process": row.process, "kind": row.kind, "at": row.at}
    out = tmp_path / "run"
    patience = STARTS + row.within
    ended = train(*STEPS, "--out", out, fault=fault, patience=patience)
    told = "\n".join(ended.said)
    for code, wanted in zip(ended.codes, row.codes, strict=True):
        assert code in (wanted if isinstance(wanted, tuple) else (wanted,)), told
    for process, said in enumerate(ended.said):
        if process != row.process:
            assert re.search(row.words, said), said
            if ended.codes[process] == 2:
                assert f"process {row.process} (" in said, said
    # Never a wrong result: none says that it is done, and what is left can be read.
    assert "done:" not in told
    checkpoint = last(out) if out.exists() else None
    assert (int(checkpoint.state.step) if checkpoint else 0) in row.left


@pytest.mark.nightly
@pytest.mark.parametrize(("kind", "at"), [("slow", 3), ("pause", 7)])
def test_a_process_that_is_late_is_waited_for(train, trained, tmp_path, kind, at):
    """The numbers are those of a run in which nobody was."""
    out, fault = tmp_path / "run", {"process": 1, "kind": kind, "at": at}
    ended = train("--steps", "10", "--out", out, fault=fault)
    assert ended.codes == [0, 0], ended.said
    here, there = last(out), last(trained)
    assert here.data == there.data
    assert_trees_close(here.state, there.state, rtol=0)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("process", "kind", "at"),
    [
        (None, "terminate", 7),
        (1, "terminate", "the compilation"),
        (0, "terminate", "the commit"),
        (1, "terminate_twice", 7),
    ],
)
def test_a_preemption_is_saved_by_all(train, tmp_path, process, kind, at):
    """Whenever it comes, and how often."""
    out, fault = tmp_path / "run", {"process": process, "kind": kind, "at": at}
    ended = train("--steps", "100000", "--out", out, fault=fault)
    assert ended.codes == [42, 42], ended.said
    step = int(re.search(r"stopped at step ([\d,]+), and saved", ended.said[0])[1])
    assert step >= (at if isinstance(at, int) else 1)
    assert int(last(out).state.step) == step

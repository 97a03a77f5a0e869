from chex_harness import Outcome, ProcessesError
from chex_harness._outcome import main_stack, rank

DUMP = """Thread 0x1 (most recent call first):
  File "/x/_worker.py", line 9 in _follow_parent
  File "/usr/lib/threading.py", line 1 in run

Current thread 0x2 (most recent call first):
  File "/t/train.py", line 7 in step
  File "/t/train.py", line 3 in fn
  File "/x/_worker.py", line 70 in _call
  File "/x/_worker.py", line 30 in main
"""


def test_the_stack_is_that_of_the_function():
    assert main_stack(DUMP, "/x/_worker.py").splitlines() == [
        'File "/t/train.py", line 7 in step',
        'File "/t/train.py", line 3 in fn',
    ]
    assert main_stack("", "/x/_worker.py") == ""


def test_an_outcome_says_what_became_of_it():
    found = Outcome(process=1, status="died", exit_code=-9, seconds=2.04, steps=(0, 3))
    assert str(found) == "process 1 died of SIGKILL, after 2.0 s, at step 3"
    found = Outcome(process=0, status="died", exit_code=7)
    assert "exited with code 7 and gave no answer" in str(found)


def test_long_output_shows_its_end():
    text = "\n".join(map(str, range(50)))
    told = str(Outcome(process=0, status="stuck", output=text))
    assert "(30 lines left out)" in told
    assert told.endswith("49")
    assert "\n    29\n" not in told


def test_causes_come_first():
    reset = Outcome(process=0, status="raised", message="Gloo: Connection reset")
    abort = Outcome(process=1, status="died", exit_code=-6, seconds=1)
    killed = Outcome(process=2, status="died", exit_code=-9)
    raised = Outcome(process=3, status="raised", message="no such file")
    found = sorted([abort, reset, killed, raised], key=rank)
    assert [o.process for o in found] == [3, 2, 0, 1]
    skipped = Outcome(process=0, status="raised", error="Skipped", seconds=0.1)
    stuck = Outcome(process=1, status="stuck", seconds=9)
    found = sorted([stuck, skipped, killed, raised], key=rank)
    assert [o.process for o in found] == [3, 2, 0, 1]


def test_the_error_tells_all():
    both = [Outcome(process=i, status="stuck") for i in range(2)]
    error = ProcessesError("it failed", both)
    assert str(error).count("was stuck") == 2
    assert error.outcomes == tuple(both)

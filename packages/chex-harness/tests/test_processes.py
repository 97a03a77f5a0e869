import operator
import os
import signal
import socket
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import multihost_utils
from jax.sharding import NamedSharding, PartitionSpec

from chex_harness import (
    CutOff,
    Delay,
    Kill,
    ProcessesError,
    Stop,
    _processes,
    _target,
    at_step,
    run_processes,
)


def many_things(scale):
    """All that one start can show; the result goes back as NumPy arrays."""
    n, mine = jax.device_count(), jax.local_device_count()
    everywhere = multihost_utils.process_allgather(np.array([jax.process_index()]))
    mesh = jax.make_mesh((n,), ("data",))
    rows = NamedSharding(mesh, PartitionSpec("data"))
    x = jax.make_array_from_callback((n,), rows, lambda i: np.arange(n)[i])
    with pytest.raises(TypeError, match="process_allgather") as caught:
        _target.as_numpy({"x": x})
    return {
        "refused": str(caught.value),
        "n": n,
        "mine": mine,
        "everywhere": everywhere,
        "sum": jax.jit(jnp.sum)(x) * scale,
        "bf16": jnp.ones(1, jnp.bfloat16),
        "env": os.environ["MARK"],
    }


def test_two_processes_see_each_other():
    found = run_processes(many_things, devices=2, args=(10,), env={"MARK": "m"})
    for result in found:
        assert (result["n"], result["mine"], result["env"]) == (4, 2, "m")
        assert result["everywhere"].ravel().tolist() == [0, 1]
        assert result["sum"] == 10 * (0 + 1 + 2 + 3)
        assert result["bf16"].dtype.name == "bfloat16"
        assert "the result['x'] is int32[4]" in result["refused"]


def train(n):
    """Steps that all processes take together."""
    for step in range(n):
        at_step(step)
        multihost_utils.process_allgather(np.array([step]))
    return n


def test_a_killed_process_is_told_apart_from_those_it_takes_along():
    kill = Kill(process=1, step=2)
    found = run_processes(
        train, devices=1, args=(4,), faults=[kill], check=False, timeout=40
    )
    assert (found[1].status, found[1].exit_code) == ("died", -signal.SIGKILL)
    assert found[1].steps == (0, 1, 2)
    assert found[0].status in {"raised", "died"}
    assert found[0].exit_code != 0


def test_a_stopped_process_is_found_and_the_stuck_one_shows_its_stack():
    with pytest.raises(ProcessesError) as caught:
        run_processes(
            train, devices=1, args=(4,), faults=[Stop(process=0, step=1)], timeout=4
        )
    zero, one = sorted(caught.value.outcomes, key=lambda o: o.process)
    assert "no answer to a signal: it is stopped" in zero.stack
    assert "in train" in one.stack
    assert "in train" in str(caught.value)


def test_a_cut_off_process_ends_the_job_at_once_and_a_fault_must_happen():
    faults = [Delay(process=0, step=0, seconds=0.1), CutOff(process=1, step=1)]
    with pytest.raises(ProcessesError) as caught:
        run_processes(train, devices=1, args=(40,), faults=faults)
    first = caught.value.outcomes[0]
    assert (first.process, first.error, first.exit_code) == (1, "CutOffError", 1)
    assert "process 1 is cut off at step 1" in first.traceback
    assert "_worker.py" not in first.traceback


def test_a_fault_that_never_happens_fails_the_test():
    with pytest.raises(ProcessesError, match=r"never happened.*steps \[0\]"):
        run_processes(
            train, processes=1, args=(1,), faults=[Kill(process=0, step=5)], check=False
        )


def leave(code):
    os.write(1, b"last words")
    os._exit(code)


def test_an_exit_without_an_answer_shows_code_and_output():
    with pytest.raises(ProcessesError, match="exited with code 7") as caught:
        run_processes(leave, processes=1, args=(7,))
    assert "last words" in str(caught.value)


def test_a_port_that_is_taken_is_tried_again(monkeypatch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ports = [taken.getsockname()[1]]
        find = _processes._free_port

        def once():
            return ports.pop() if ports else find()

        monkeypatch.setattr(_processes, "_free_port", once)
        assert run_processes(train, devices=1, args=(1,)) == [1, 1]
    assert not ports


def test_a_start_that_takes_too_long_is_stuck():
    with pytest.raises(ProcessesError, match="was stuck") as caught:
        run_processes(train, processes=1, start_timeout=0.1)
    assert "not yet in fn" in caught.value.outcomes[0].stack


def test_bad_numbers_are_refused_before_anything_starts():
    with pytest.raises(ValueError, match="processes=0"):
        run_processes(operator.add, processes=0)
    with pytest.raises(ValueError, match="there are processes 0 to 1"):
        run_processes(time.sleep, faults=[Kill(process=2, step=0)])
    with pytest.raises(TypeError, match=r"args=3.*Type args=\(3,\)"):
        run_processes(time.sleep, args=3)


class OnlyThere:
    """Unpickles where it was made, and nowhere else."""

    def __init__(self):
        self.home = os.getpid()

    def __setstate__(self, state):
        if os.getpid() != state["home"]:
            raise RuntimeError("far from home")


def ends(how):
    """Ends in one of the ways that are no plain return."""
    match how:
        case "lambda":
            return {"loss": 1.0, "fn": lambda: 1}
        case "unpickle":
            return [OnlyThere()]
    return sys.exit(how)


def ended(how):
    (outcome,) = run_processes(ends, processes=1, devices=1, args=(how,), check=False)
    return outcome


def test_a_result_that_does_not_pickle_is_told_to_be_at_fault():
    found = ended("lambda")
    assert (found.status, found.error) == ("raised", "TypeError")
    assert "the result['fn'] of ends, a function, cannot be" in found.message
    assert "During handling" not in found.traceback


def test_a_result_that_does_not_unpickle_is_an_outcome():
    found = ended("unpickle")
    assert (found.status, found.error) == ("raised", "RuntimeError")
    assert "the result of ends cannot be read here: far from home" in found.message
    assert "__setstate__" in found.traceback
    assert found.value is None


@pytest.mark.parametrize(
    ("code", "exit_code"), [(3, 3), (0, 0), (None, 0), (-1, 255), ("why", 1)]
)
def test_the_exit_code_is_that_of_sys_exit(code, exit_code):
    found = ended(code)
    assert (found.status, found.error) == ("raised", "SystemExit")
    assert found.exit_code == exit_code
    assert found.message == ("" if code is None else str(code))

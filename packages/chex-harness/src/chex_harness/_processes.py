"""Real processes, joined by `jax.distributed` on one machine.

What goes wrong between hosts (a process that dies, one that is stuck, data that
differ, results that only one process has) does not show on eight devices of one
process. `run_processes` runs one function in several processes that see each other's
devices, brings back what each returned, and leaves none behind.
"""

import contextlib
import dataclasses
import json
import math
import operator
import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, overload

from chex_harness import _faults, _outcome, _target
from chex_harness._arguments import check_arguments
from chex_harness._faults import Fault
from chex_harness._outcome import Outcome, ProcessesError
from chex_harness._strays import end_strays

_WORKER = str(Path(__file__).with_name("_worker.py").resolve())
_GRACE = 2.0  # what others get to end by themselves after one has failed or skipped
_PORT_TAKEN = ("address already in use", "no address added")  # jax 0.12 and 0.9


@overload
def run_processes(
    fn: Callable[..., Any],
    *,
    processes: int = ...,
    devices: int = ...,
    timeout: float = ...,
    start_timeout: float = ...,
    args: tuple[Any, ...] = ...,
    kwargs: Mapping[str, Any] | None = ...,
    faults: Sequence[Fault] = ...,
    env: Mapping[str, str] | None = ...,
    heartbeat: int = ...,
    check: Literal[True] = ...,
) -> list[Any]: ...


@overload
def run_processes(
    fn: Callable[..., Any],
    *,
    processes: int = ...,
    devices: int = ...,
    timeout: float = ...,
    start_timeout: float = ...,
    args: tuple[Any, ...] = ...,
    kwargs: Mapping[str, Any] | None = ...,
    faults: Sequence[Fault] = ...,
    env: Mapping[str, str] | None = ...,
    heartbeat: int = ...,
    check: Literal[False],
) -> list[Outcome]: ...


def run_processes(
    fn: Callable[..., Any],
    *,
    processes: int = 2,
    devices: int = 2,
    timeout: float = 60.0,
    start_timeout: float = 120.0,
    args: tuple[Any, ...] = (),
    kwargs: Mapping[str, Any] | None = None,
    faults: Sequence[Fault] = (),
    env: Mapping[str, str] | None = None,
    heartbeat: int = 10,
    check: bool = True,
) -> list[Any]:
    """Runs a function in several processes that share their devices.

    Each process has its own CPU devices and, where there are several, has called
    `jax.distributed.initialize`: collectives work (gloo, over loopback), on a free
    port. A process that raises leaves at once. Nothing is left running, whatever ends
    the call, nor, on Linux, programs with sessions of their own that the processes
    started (but where this process is killed, or they got another environment).
    Starting costs about as much as `import jax` in each, so let one function check
    many things.

    Args:
      fn: what each process calls; a function at the top level of a module. The
        module is imported there, so keep what it does on import cheap.
      processes: how many.
      devices: CPU devices of each process.
      timeout: seconds for `fn`, from when it has begun in every process.
      start_timeout: seconds until then: imports, and the processes finding each other.
      args: positional arguments; they must pickle.
      kwargs: keyword arguments; they must pickle.
      faults: what goes wrong at which `at_step` (`Kill`, `Stop`, `Delay`, `CutOff`).
      env: environment variables to add.
      heartbeat: seconds without a heartbeat after which jax ends a job.
      check: whether a failure raises, at once. If False, each process goes on until
        it ends or the timeout, and the outcomes are returned, whatever they are.

    Returns:
      What each process returned, in order, with NumPy arrays in place of jax's; or,
      with `check=False`, an `Outcome` of each.

    Raises:
      ProcessesError: if a process raised, died or was stuck. The message has each
        one's traceback, exit code, last output and, where it was stuck, its stack.
        Also if a fault never happened, which would make the test pass for nothing.
      TypeError: if `fn` or an argument does not pickle, or has another type than it
        should.
      ValueError: if a count is below one or a time not above zero, or a fault names a
        process there is none of.

    Example:
      >>> import operator
      >>> run_processes(operator.add, processes=1, devices=1, args=(1, 2))
      [3]
    """
    check_arguments(
        fn=fn,
        processes=processes,
        devices=devices,
        timeout=timeout,
        start_timeout=start_timeout,
        args=args,
        kwargs=kwargs,
        faults=faults,
        env=env,
        heartbeat=heartbeat,
    )
    call = _target.target(fn, tuple(args), dict(kwargs or {}))
    variables = {
        **os.environ,
        "JAX_PLATFORMS": "cpu",
        "JAX_NUM_CPU_DEVICES": str(devices),
        **(env or {}),
    }
    job = {
        "path": sys.path,
        "module": call.module,
        "module_file": call.module_file,
        "processes": operator.index(processes),
        "heartbeat": operator.index(heartbeat),
        "initialization": int(min(max(1, start_timeout), 1e6)),  # jax takes no inf
    }
    for attempt in range(3):
        with tempfile.TemporaryDirectory(prefix="chex-harness-") as folder:
            Path(folder, "call.pickle").write_bytes(call.data)
            job["address"] = f"127.0.0.1:{_free_port()}"
            Path(folder, "job.json").write_text(json.dumps(job), encoding="utf-8")
            running = _Job(folder, processes, variables, faults)
            outcomes = running.finish(timeout, start_timeout, fail_fast=check)
        # Another program may have taken the port since it was found free.
        told = " ".join(map(str, outcomes)).lower()
        if attempt == 2 or not any(text in told for text in _PORT_TAKEN):
            break
    _judge(call, outcomes, faults, check=check)
    return [o.value for o in outcomes] if check else outcomes


def _judge(
    call: _target.Target,
    outcomes: list[Outcome],
    faults: Sequence[Fault],
    *,
    check: bool,
) -> None:
    failed = [o for o in outcomes if o.status != "returned"]
    if check and failed:
        raise ProcessesError(
            f"{len(failed)} of {len(outcomes)} processes of {call.module} failed",
            sorted(outcomes, key=_outcome.rank),
        )
    for fault in faults:
        if fault.step not in outcomes[fault.process].steps:
            raise ProcessesError(
                f"{fault} never happened: its process told at_step of the steps "
                f"{list(outcomes[fault.process].steps)}",
                outcomes,
            )


def _read(answer: Path) -> dict[str, Any]:
    """What a process tells of itself: an outcome's fields."""
    with answer.open("rb") as file:
        fields = pickle.load(file)  # noqa: S301  (our own worker wrote it)
        if fields["status"] == "raised":
            return fields
        try:
            return {"status": "returned", "value": pickle.load(file)}  # noqa: S301
        except Exception as error:  # noqa: BLE001  (whatever unpickling does)
            return {
                "status": "raised",
                "error": type(error).__name__,
                "message": f"the result of {fields['name']} cannot be read here: "
                f"{error}",
                "traceback": f"the result of {fields['name']} cannot be read in the "
                f"process that called run_processes\n"
                + "".join(traceback.format_exception(error)),
            }


def _raised(answer: Path) -> bool:
    with answer.open("rb") as file:
        return pickle.load(file)["status"] == "raised"  # noqa: S301  (our own worker)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class _Job:
    """The processes of one call, in one process group that ends as one."""

    def __init__(
        self, folder: str, n: int, env: Mapping[str, str], faults: Sequence[Fault]
    ) -> None:
        self._folder = Path(folder)
        self._start = time.monotonic()
        self._ended: dict[int, float] = {}
        self._failed: list[int] = []  # or skipped, or xfailed
        self._stacks: set[int] = set()
        self._group: int | None = None
        self._all: list[subprocess.Popen[bytes]] = []
        try:
            for index in range(n):
                steps = str(self._folder / f"steps-{index}")
                with (self._folder / f"output-{index}").open("wb") as output:
                    process = subprocess.Popen(  # noqa: S603  (our own worker)
                        [sys.executable, _WORKER, folder, str(index)],
                        stdin=subprocess.PIPE,
                        stdout=output,
                        stderr=subprocess.STDOUT,
                        env={**env, **_faults.environment(index, faults, steps)},
                        process_group=self._group or 0,
                    )
                self._all.append(process)
                self._group = self._group or process.pid
        except BaseException:
            self._end()
            raise

    def finish(
        self, timeout: float, start_timeout: float, *, fail_fast: bool
    ) -> list[Outcome]:
        """Waits, and tells what became of each process."""
        try:
            deadline, grace = self._start + start_timeout, math.inf
            began = False
            while self._waiting() and time.monotonic() < min(deadline, grace):
                time.sleep(0.02)
                if not began and self._all_began():
                    began, deadline = True, time.monotonic() + timeout
                if fail_fast and self._failed:
                    grace = min(grace, time.monotonic() + _GRACE)
            timed_out = time.monotonic() >= deadline
            left = self._waiting()
            self._dump(left)
            if not left:
                self._let_go()
            codes = [p.poll() for p in self._all]
            found = [
                self._outcome(i, codes[i], stuck=timed_out and i in left)
                for i in range(len(self._all))
            ]
            return [self._told_why(outcome, found) for outcome in found]
        finally:
            self._end()

    def _waiting(self) -> list[int]:
        """Those that have neither answered nor ended."""
        waiting = []
        for index, process in enumerate(self._all):
            if index in self._ended:
                continue
            ended, answered = process.poll() is not None, self._answer(index).exists()
            if ended or answered:
                self._ended[index] = time.monotonic() - self._start
                if not answered or _raised(self._answer(index)):
                    self._failed.append(index)
            else:
                waiting.append(index)
        return waiting

    def _all_began(self) -> bool:
        n = range(len(self._all))
        return all((self._folder / f"began-{index}").exists() for index in n)

    def _answer(self, index: int) -> Path:
        return self._folder / f"answer-{index}"

    def _dump(self, left: list[int]) -> None:
        """Has each of them write where it is."""
        self._stacks.update(left)
        for index in left:
            if (self._folder / f"began-{index}").exists():  # before, it would kill
                self._all[index].send_signal(signal.SIGUSR1)
        if left:
            time.sleep(0.3)

    def _let_go(self) -> None:
        """Lets those that have returned exit; the coordinator, process 0, last."""
        for process in reversed(self._all):
            if process.stdin is not None and process.poll() is None:
                with contextlib.suppress(BrokenPipeError):  # one that raised has gone
                    os.write(process.stdin.fileno(), b".")
                process.wait()

    def _outcome(self, index: int, code: int | None, *, stuck: bool) -> Outcome:
        output = (self._folder / f"output-{index}").read_text("utf-8", "replace")
        steps = self._folder / f"steps-{index}"
        dump = self._folder / f"stack-{index}"
        steps.touch()
        dump.touch()
        text = dump.read_text("utf-8", "replace")
        found: dict[str, Any] = {
            "process": index,
            "exit_code": code,
            "seconds": self._ended.get(index, time.monotonic() - self._start),
            "steps": tuple(map(int, steps.read_text().split())),
            "output": output,
            "stack": _outcome.main_stack(text, _WORKER),
        }
        if self._answer(index).exists():
            return Outcome(**found, **_read(self._answer(index)))
        if code is not None:
            return Outcome(status="died", **found)
        if index in self._stacks and not found["stack"]:
            found["stack"] = "no answer to a signal: it is stopped, or not yet in fn"
        return Outcome(status="stuck" if stuck else "killed", **found)

    def _told_why(self, outcome: Outcome, every: list[Outcome]) -> Outcome:
        if outcome.status != "killed":
            return outcome
        first = every[self._failed[0]]
        after = f"{_GRACE:g} s after process {first.process} {_outcome.fate(first)}"
        return dataclasses.replace(outcome, message=after)

    def _end(self) -> None:
        if self._group is not None:
            with contextlib.suppress(ProcessLookupError):  # all have gone
                os.killpg(self._group, signal.SIGKILL)
            end_strays(_faults.mark(f"{self._folder}/"))
        for process in self._all:
            process.wait()
            if process.stdin is not None:
                process.stdin.close()

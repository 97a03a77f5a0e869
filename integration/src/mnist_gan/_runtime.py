"""Joining the other processes of a run, where there are any, and leaving them.

The same command is started on every host. Whether there are others, the environment
says (Slurm, a TPU pod, a JobSet), or the options do.
"""

import contextlib
import math
import os
import signal
import sys
import threading
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import NamedTuple

import jax
from jax.experimental import multihost_utils

from mnist_gan import _exits
from mnist_gan._errors import UserError, is_lost_collective
from mnist_gan._hosts import Hosts
from mnist_gan._interrupts import Interrupts
from mnist_gan._watch import Limits, Watch

_START = 300  # seconds for the last process to come, at most
_LATE = 60  # jax's own end of that wait is an abort that says nothing of processes
_HEARTBEAT = 100  # jax's own; the watch names a lost process before


class Join(NamedTuple):
    """How to find the others; None where the environment is to say.

    Attributes:
      coordinator: `host:port` of process 0.
      processes: how many.
      process_id: which this is.
      hang_after: seconds without a step after which the run counts as lost.
    """

    coordinator: str | None = None
    processes: int | None = None
    process_id: int | None = None
    hang_after: float = 300.0

    @property
    def start_within(self) -> float:
        """Seconds for the last process to come."""
        return min(_START, 10 * self.hang_after)


class Runtime(NamedTuple):
    """This process among the others.

    Attributes:
      hosts: the processes.
      watch: to be told of steps.
      stops: `stops(n)` after dispatch n, from 1, on every process: whether the run is
        to end here; true on all of them at the same n.
      patience: seconds that a barrier waits.
    """

    hosts: Hosts
    watch: Watch
    stops: Callable[[int], bool]
    patience: float


@contextlib.contextmanager
def runtime(join: Join, interrupted: Interrupts) -> Generator[Runtime]:
    """Joins the others for the block.

    An exception in the block ends this process at once when there are others, with the
    exit code that the command line would have given, and they are told why.

    Args:
      join: how to find them.
      interrupted: true once the user wants the run to stop.

    Yields:
      The runtime; of one process where there are no others.

    Raises:
      UserError: if the options do not fit each other.
    """
    ours = initialize(join, os.environ)
    hosts = Hosts()
    limits = Limits.after(join.hang_after)
    if hosts.count == 1:
        stops = lambda _: bool(interrupted)  # noqa: E731
        yield Runtime(hosts, Watch(hosts, limits), stops, limits.first)
        return
    # Two threads that start collectives may start them in another order than those of
    # another process do, which nothing would notice; so only this one may.
    guard = jax.thread_guard(True)  # noqa: FBT003  (as jax has it)
    with guard, _signals(interrupted), Watch(hosts, limits) as watch:
        stops = multihost_utils.reached_preemption_sync_point
        try:
            yield Runtime(hosts, watch, stops, limits.first)
            hosts.barrier("the end", seconds=limits.first)
        except BaseException as error:
            if not ours:
                raise
            if is_lost_collective(error):
                watch.explain()
            watch.leave(_exits.ending_of(error))
    if ours:
        jax.distributed.shutdown()


@contextlib.contextmanager
def _signals(interrupted: Interrupts) -> Generator[None]:
    """Ctrl-C as SIGTERM, which jax takes to all processes; so it does what came before.

    jax listens for SIGTERM itself since `initialize`. A Python handler that is set
    later would take it away from jax.
    """

    def terminate(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    before = signal.signal(signal.SIGINT, terminate)
    if interrupted:
        terminate()
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def initialize(join: Join, environment: Mapping[str, str]) -> bool:
    """Calls `jax.distributed.initialize` where options or environment ask for it.

    Args:
      join: the options.
      environment: of the process.

    Returns:
      Whether it was called; not, for a run of one process and where somebody has.

    Raises:
      UserError: if the options do not fit each other.
    """
    given = (join.coordinator, join.processes, join.process_id)
    if jax.distributed.is_initialized():
        return False
    limits = {
        "initialization_timeout": math.ceil(join.start_within + _LATE),
        "heartbeat_timeout_seconds": _HEARTBEAT,
        "shutdown_timeout_seconds": 30,
    }
    if any(option is not None for option in given):
        coordinator = _check(*given)
        local = coordinator.startswith(("127.0.0.1:", "localhost:"))
        bind = coordinator if local else None  # else reachable from elsewhere
        with _patience(join):
            jax.distributed.initialize(*given, coordinator_bind_address=bind, **limits)
        return True
    if not asks(environment):
        return False
    try:
        with _patience(join):
            jax.distributed.initialize(**limits)
    except ValueError as error:  # a machine with a TPU, and no other
        if "coordinator_address" not in str(error):
            raise
        return False
    return True


@contextlib.contextmanager
def _patience(join: Join) -> Generator[None]:
    """Ends this process in words when the others do not come while the block runs."""

    def give_up() -> None:
        of = "" if join.processes is None else f" all {join.processes}"
        at = join.coordinator or "of the environment"
        sys.stderr.write(
            f"mnist-gan: waited {join.start_within:g} s for{of} processes to come; "
            "start the same command on every host, with another --process-id each, "
            f"and see that the coordinator {at} can be reached from here\n"
        )
        sys.stderr.flush()
        os._exit(_exits.HANGS)

    timer = threading.Timer(join.start_within, give_up)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def asks(environment: Mapping[str, str], devices: Path = Path("/dev")) -> bool:
    """Whether this may be one of several processes: Slurm's, Open MPI's, a TPU pod's.

    Args:
      environment: of the process.
      devices: where a TPU's chips show.

    Returns:
      Whether jax should look who the others are.
    """
    for count in ("SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE"):
        if environment.get(count, "1") != "1":
            return "SLURM_PROCID" in environment or count.startswith("OMPI")
    hosts = environment.get("TPU_WORKER_HOSTNAMES", "localhost")
    if "MEGASCALE_COORDINATOR_ADDRESS" in environment or "," in hosts:
        return True
    return any(devices.glob("accel[0-9]*")) or any(devices.glob("vfio/[0-9]*"))


def _check(coordinator: str | None, count: int | None, index: int | None) -> str:
    if coordinator is None or count is None or index is None:
        raise UserError(
            "--coordinator, --processes and --process-id go together; give all three, "
            "or none where Slurm or the pod says who the others are"
        )
    host, _, port = coordinator.rpartition(":")
    if not host or not port.isdecimal():
        raise UserError(f"--coordinator {coordinator}: wanted HOST:PORT of process 0")
    if index >= count:
        raise UserError(
            f"--process-id {index}: of {count} processes the last is {count - 1}"
        )
    return coordinator

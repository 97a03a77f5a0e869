"""A thread that ends the process when the run hangs or another process is lost.

Collectives wait for ever for a process that is alive and stuck, and jax's heartbeats
do not tell. This thread runs while the main thread is blocked inside XLA; it knows from
notes how far the others are, so it can name the one that all wait for.
"""

import contextlib
import faulthandler
import os
import sys
import threading
import time
from typing import NamedTuple, Self

from mnist_gan import _exits
from mnist_gan._hosts import Hosts

_UNHEARD = "0 0"
_FAREWELL = 4.0  # the first process serves the notes; the others must read them


class Limits(NamedTuple):
    """When the run counts as lost.

    Attributes:
      first: seconds until the first step is done, compilation included.
      step: seconds for each later one.
      silence: seconds without a sign of life of another process.
    """

    first: float = 3000.0
    step: float = 300.0
    silence: float = 30.0

    @classmethod
    def after(cls, seconds: float) -> Self:
        """The limits for steps that take less than `seconds`."""
        return cls(10 * seconds, seconds, min(30.0, seconds / 2))


class Watch:
    """Watches this process and, by their notes, the others; enter it as a context.

    A run of one process is not watched: nobody waits for it, and its user may.

    Args:
      hosts: the processes.
      limits: when to give up.
    """

    def __init__(self, hosts: Hosts, limits: Limits) -> None:
        self._hosts, self._limits = hosts, limits
        self._step, self._since, self._left = 0, 0, limits.first
        self._heard: dict[int, tuple[str, int]] = {}
        self._tick = self._answered = 0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        # Apart from the other, for a call to a first process that is stopped waits.
        self._talking = threading.Thread(target=self._keep_talking, daemon=True)

    def __enter__(self) -> Self:
        if self._hosts.count > 1:
            self._thread.start()
            self._talking.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()

    def beat(self, step: int) -> None:
        """Says that a step was dispatched."""
        self._step, self._since, self._left = step, 0, self._limits.step

    def leave(self, ending: _exits.Ending) -> None:
        """Ends this process now, after telling the others why.

        The interpreter's own exit would wait at jax's shutdown barrier for processes
        that wait for this one.
        """
        _say(ending.text)
        with contextlib.suppress(Exception):  # the service may be gone: leave anyway
            self._hosts.post("ended", f"{ending.code} {ending.text.splitlines()[0]}")
        self._exit(ending.code)

    def explain(self) -> None:
        """Waits for the reason of a failed collective, and ends with it if one comes.

        What XLA says then ("connection closed by peer") does not name the process.
        """
        until = self._tick + self._limits.silence + 3
        while self._thread.is_alive() and self._tick < until:
            self._thread.join(0.1)

    def _run(self) -> None:
        # Ticks, not the clock: a process that was stopped has not waited.
        while not self._end.wait(1.0):
            self._check_time()

    def _keep_talking(self) -> None:
        while not self._end.wait(1.0):
            self._talk(self._tick)
            self._answered = self._tick

    def _check_time(self) -> None:
        self._tick += 1
        self._since += 1
        if self._tick - self._answered > self._limits.silence:
            self._quit(
                f"{self._hosts.names[0]}, which coordinates, has not answered for "
                f"{self._limits.silence:g} s"
            )
        if self._since > self._left:
            self._give_up()

    def _talk(self, tick: int) -> None:
        try:
            self._hosts.post("alive", f"{tick} {self._step}")
            ended, alive = self._hosts.read("ended"), self._hosts.read("alive")
        except Exception as error:  # noqa: BLE001  (RPC errors have no type of theirs)
            if not self._end.is_set():
                first = str(error).splitlines()[0]
                name = self._hosts.names[0]
                self._quit(f"{name}, which coordinates, does not answer: {first}")
            return
        ended.pop(self._hosts.index, None)
        for index, note in ended.items():
            code, _, text = note.partition(" ")
            self._quit(f"{self._hosts.names[index]} ended: {text}", int(code))
        for index in range(self._hosts.count):
            if index == self._hosts.index:
                continue
            note = alive.get(index, _UNHEARD)  # it may die before its first
            said, heard = self._heard.get(index, (_UNHEARD, 0))
            heard = tick if note != said else heard
            self._heard[index] = note, heard
            if tick - heard > self._limits.silence:
                self._quit(
                    f"{self._hosts.names[index]} has given no sign of life for "
                    f"{self._limits.silence:g} s; it was at step {note.split()[1]}"
                )

    def _give_up(self) -> None:
        steps = {self._hosts.index: self._step}
        steps |= {i: int(note.split()[1]) for i, (note, _) in self._heard.items()}
        behind, most = min(steps, key=steps.__getitem__), max(steps.values())
        who = f"{self._hosts.names[behind]} is at step {steps[behind]}, the last is at"
        if steps[behind] == most:
            who = "all processes are at step"
        faulthandler.dump_traceback(file=2, all_threads=True)
        self._quit(
            f"no step for {self._left:g} s: {who} {most}; the stacks of this "
            "process are above"
        )

    def _quit(self, text: str, code: int = _exits.HANGS) -> None:
        _say(text)
        self._exit(code)

    def _exit(self, code: int) -> None:
        if self._hosts.first:
            time.sleep(_FAREWELL)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _say(text: str) -> None:
    sys.stderr.write(f"mnist-gan: {text}\n")
    sys.stderr.flush()

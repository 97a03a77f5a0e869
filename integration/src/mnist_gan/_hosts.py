"""The processes of a run, and what they tell each other beside the training.

Notes go through jax's coordination service, not through the devices: they cost about
a millisecond, need no collective, and end with the name of the process that is missing
where a collective would wait for ever.

The service's client has no public door with a deadline, so this file, alone, takes it
from where jax keeps it.
"""

import itertools
import socket
from typing import Any

import jax

# The one private name of jax here: jax.experimental.multihost_utils has barriers too,
# but they wait for ever and do not say for whom.
from jax._src import distributed  # noqa: TID251

from mnist_gan._errors import HostsError

_ROOM = "mnist_gan"
# Keys are written once in the life of the service, which is that of the process; all
# processes make the same calls in the same order.
_CALLS = itertools.count()


class Hosts:
    """The processes of this run, of which this is one.

    Made after `jax.distributed.initialize`, or without it for a run of one process,
    where all of it is trivial.

    Attributes:
      index: of this process.
      count: of all.
      names: `process 1 (its host's name)` of each.
    """

    def __init__(self) -> None:
        joined = jax.distributed.is_initialized()
        self._client: Any = distributed.global_state.client if joined else None
        self.index = distributed.global_state.process_id if joined else 0
        self.count = distributed.global_state.num_processes if joined else 1
        self.names = [f"process {i}" for i in range(self.count)]
        own = f"process {self.index} ({socket.gethostname()})"
        self.names = self.gather("the start", own, seconds=300)

    @property
    def first(self) -> bool:
        """Whether this is the process that writes what is written once."""
        return self.index == 0

    def gather(self, what: str, value: str, *, seconds: float) -> list[str]:
        """Collects a text from each process, and waits until all are there.

        Args:
          what: this is about, for the message.
          value: this process's.
          seconds: how long to wait.

        Returns:
          The texts by process.

        Raises:
          HostsError: names the processes that did not come in time.
        """
        if self.count == 1:
            return [value]
        room = f"{_ROOM}/{next(_CALLS)}"
        self._client.key_value_set(f"{room}/{self.index}", value)
        try:
            self._client.wait_at_barrier(f"{room}/all", int(seconds * 1000))
        except jax.errors.JaxRuntimeError as error:
            come = self._read(room)
            missing = [n for i, n in enumerate(self.names) if i not in come]
            who = ", ".join(missing) or str(error).splitlines()[0]
            raise HostsError(
                f"{what}: waited {seconds:g} s for {who}; look at its log and start "
                "all processes again"
            ) from error
        found = self._read(room)
        return [found[i] for i in range(self.count)]

    def barrier(self, what: str, *, seconds: float) -> None:
        """Waits until all processes are here; see `gather`."""
        self.gather(what, "", seconds=seconds)

    def share(self, what: str, value: str, *, seconds: float) -> str:
        """Gives all processes the text of the first; see `gather`."""
        return self.gather(what, value if self.first else "", seconds=seconds)[0]

    def post(self, topic: str, value: str) -> None:
        """Leaves a note that others may read at any time; it replaces the one before.

        Args:
          topic: of the note.
          value: what it says.
        """
        key = f"{_ROOM}/{topic}/{self.index}"
        self._client.key_value_set(key, value, allow_overwrite=True)

    def read(self, topic: str) -> dict[int, str]:
        """The notes on a topic, by process; those that have left none are not in it."""
        return self._read(f"{_ROOM}/{topic}")

    def _read(self, room: str) -> dict[int, str]:
        notes = self._client.key_value_dir_get(f"{room}/")
        return {int(key.rpartition("/")[2]): value for key, value in notes}

"""The record of a run: one row a step, in a Parquet file and as TensorBoard events."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mnist_gan._errors import UserError
from mnist_gan._events import Events
from mnist_gan._files import write_whole

SCHEMA = pa.schema(
    [
        ("step", pa.int32()),
        ("disc_loss", pa.float32()),
        ("gen_loss", pa.float32()),
        ("images_per_second", pa.float32()),
        ("data_wait_seconds", pa.float32()),
    ]
)


class Row(NamedTuple):
    """One step.

    Attributes:
      step: its number, from 1.
      disc_loss: the discriminator's loss before the step.
      gen_loss: the generator's.
      images_per_second: real images a second since the step before was done.
      data_wait_seconds: how long the step waited for its batch.
    """

    step: int
    disc_loss: float
    gen_loss: float
    images_per_second: float
    data_wait_seconds: float


class Metrics:
    """Collects rows, and writes them where the run keeps them.

    Args:
      path: the Parquet file.
      events: the folder of the TensorBoard events.
      after: the step that the run goes on from, or None for a new run. Later rows on
        disk come from a run that was stopped before its next checkpoint, and are made
        again.

    Raises:
      UserError: if the file of a run that goes on cannot be read.
    """

    def __init__(self, path: Path, events: Path, *, after: int | None) -> None:
        self._path = path
        self._rows: list[Row] = []
        if after and path.exists():
            self._rows = [row for row in _read(path) if row.step <= after]
        purge = None if after is None else after + 1
        self._events = Events(events, purge=purge)

    def add(self, row: Row) -> None:
        """Adds a step."""
        self._rows.append(row)
        for name in Row._fields[1:]:
            self._events.add(name, getattr(row, name), step=row.step)

    def add_picture(self, name: str, picture: np.ndarray, *, step: int) -> None:
        """Adds a picture to the events.

        Args:
          name: what TensorBoard calls it.
          picture: uint8[height, width], grey.
          step: that it was made after.
        """
        self._events.add_picture(name, picture, step=step)

    def column(self, name: str) -> np.ndarray:
        """One column so far."""
        return np.asarray([getattr(row, name) for row in self._rows])

    def write(self) -> None:
        """Puts all rows so far on disk."""
        table = pa.table(
            {name: self.column(name) for name in Row._fields}, schema=SCHEMA
        )
        write_whole(self._path, lambda file: pq.write_table(table, file))
        self._events.flush()

    def close(self) -> None:
        """Ends the event file."""
        self._events.close()


def _read(path: Path) -> Iterator[Row]:
    try:
        table = pq.read_table(path).cast(SCHEMA)
    except (pa.ArrowInvalid, ValueError) as error:
        raise UserError(
            f"{path}: cannot be read ({' '.join(str(error).split())}); move it away to "
            "go on without the rows so far"
        ) from error
    return map(Row, *(column.to_pylist() for column in table.columns))

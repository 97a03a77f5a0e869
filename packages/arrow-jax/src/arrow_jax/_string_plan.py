"""Strings and bytes, which no device can hold."""

from dataclasses import dataclass
from typing import Any

from arrow_jax._chunks import Index, Kept
from arrow_jax._errors import UnsupportedTypeError


@dataclass(frozen=True)
class StringPlan:
    """Strings, bytes, and lists of them: Python objects, None where null.

    Attributes:
      name: the column's.
      column: their Arrow chunks.
      spec: None, as they are no arrays.
      is_ragged: False, since a batch is a plain list.
    """

    name: str
    column: Kept
    spec: None = None
    is_ragged: bool = False

    def check(self, rows: Index) -> None:
        """Has nothing to check."""
        del rows

    def batch(self, rows: Index) -> list[Any]:
        """Makes a list of Python objects."""
        return self.column.gather(rows).to_pylist()

    def padded(self, rows: Index, capacity: int, *, truncate: bool = False) -> Any:
        """Is refused: there is no array."""
        del rows, capacity, truncate
        raise UnsupportedTypeError(
            f"column {self.name!r} is strings or bytes, which ragged= can't pad. Name "
            "it in host="
        )

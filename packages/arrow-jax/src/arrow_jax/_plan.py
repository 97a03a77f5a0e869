"""The contract of a column: what it becomes, decided before the first row is read.

A plan is made for each column when the format is set, from the Arrow type, the feature
and the options; with the facts of the column it knows the spec of a row. It then turns
any rows into that, batch after batch. `_planner` chooses the plan; the other files
named `*_plan` are the kinds there are.
"""

from typing import Any, NamedTuple, Protocol

import jax

from arrow_jax._chunks import Index


class Options(NamedTuple):
    """What the user chose.

    Attributes:
      x64: whether 64-bit columns stay 64 bits wide.
      nulls: "error", "nan", "mask" or a fill value.
      dtype: that numbers are asked for as, or None.
      named: whether it was asked for by the column's name.
    """

    x64: bool
    nulls: Any = "error"
    dtype: Any = None
    named: bool = False


class Plan(Protocol):
    """What a column becomes.

    Attributes:
      name: the column's.
    """

    @property
    def name(self) -> str:
        """The column's; fields of a struct are "struct.field"."""
        ...

    @property
    def spec(self) -> Any:
        """The row: a tree of `jax.ShapeDtypeStruct`, or None for Python objects."""
        ...

    @property
    def is_ragged(self) -> bool:
        """Whether rows differ in shape, so that a batch is a list."""
        ...

    def check(self, rows: Index) -> None:
        """Raises what is wrong with the rows of a view; called once, before them."""
        ...

    def batch(self, rows: Index) -> Any:
        """Makes NumPy of some rows: [n, ...], or a list of n arrays if ragged."""
        ...

    def padded(self, rows: Index, capacity: int, *, truncate: bool = False) -> Any:
        """Makes a `Ragged` of some rows; one that is too long raises, or is cut."""
        ...


def row_spec(shape: tuple[int, ...], dtype: Any) -> jax.ShapeDtypeStruct:
    """Makes the spec of a row that is one array.

    Args:
      shape: of the row.
      dtype: of the row.

    Returns:
      The spec.
    """
    return jax.ShapeDtypeStruct(shape, dtype)

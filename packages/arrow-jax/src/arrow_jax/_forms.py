"""What the loader makes of ragged columns: the values of `ragged=`."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from arrow_jax._buckets import Buckets, choose_edges
from arrow_jax._chunks import Index
from arrow_jax._errors import ArrowJaxError, ShapeError
from arrow_jax._number_plan import NumberPlan
from arrow_jax._pack import Pack
from arrow_jax._plan import Plan
from arrow_jax._rows import is_whole


@dataclass(frozen=True)
class Pad:
    """Pads a ragged column to one length; a bare integer means the same.

    Args:
      length: of every row.
      truncate: whether longer rows are cut, instead of raising.

    Raises:
      ArrowJaxError: if the length is negative.

    Example:
      >>> from arrow_jax import Dataset, Loader, Pad
      >>> ds = Dataset.from_dict({"t": [[1], [2, 3, 4]]})
      >>> next(iter(Loader(ds, 2, ragged={"t": Pad(2, truncate=True)})))["t"].values
      Array([[1, 0],
             [2, 3]], dtype=int32)
    """

    length: int
    truncate: bool = False

    def __post_init__(self) -> None:
        _check_size("Pad", self.length)
        if not isinstance(self.truncate, bool):
            raise ArrowJaxError(f"Pad(truncate={self.truncate!r}): wanted a boolean")
        object.__setattr__(self, "length", int(self.length))


@dataclass(frozen=True)
class Flat:
    """Joins the rows of a batch end to end, in an array of fixed capacity.

    The batch has a `Ragged` of values [capacity, ...] and lengths [batch], which is what
    segment sums and graph networks take. It can't be cut along the batch axis, so it
    goes to one device or is replicated.

    Args:
      capacity: elements that a batch can hold; one with more raises.

    Raises:
      ArrowJaxError: if the capacity is negative.

    Example:
      >>> from arrow_jax import Dataset, Flat, Loader
      >>> ds = Dataset.from_dict({"t": [[1], [2, 3]]})
      >>> next(iter(Loader(ds, 2, ragged={"t": Flat(5)})))["t"]
      Ragged(values=Array([1, 2, 3, 0, 0], dtype=int32), lengths=Array([1, 2], dtype=int32))
    """  # noqa: E501

    capacity: int

    def __post_init__(self) -> None:
        _check_size("Flat", self.capacity)
        object.__setattr__(self, "capacity", int(self.capacity))


Form = Pad | Flat | Buckets | Pack


def _check_size(name: str, size: Any) -> None:
    if not is_whole(size, 0):
        raise ArrowJaxError(f"{name}({size!r}): wanted a length from 0 to 2**31 - 1")


def read_forms(ragged: Mapping[str, Any]) -> dict[str, Form]:
    """Checks the option `ragged`.

    Args:
      ragged: column -> length or form.

    Returns:
      column -> form.

    Raises:
      ArrowJaxError: if a value is none, or two don't go together.
    """
    if not isinstance(ragged, Mapping):
        raise ArrowJaxError(
            f"ragged={ragged!r}: wanted column -> length, such as {{'tokens': 512}}"
        )
    forms: dict[str, Form] = {}
    for name, value in ragged.items():
        if is_whole(value, 0):
            forms[name] = Pad(int(value))
        elif isinstance(value, Pad | Flat | Buckets | Pack):
            forms[name] = value
        else:
            raise ArrowJaxError(
                f"ragged={{{name!r}: {value!r}}}: wanted a length, Pad, Buckets, "
                "Pack or Flat"
            )
    blocks = {form for form in forms.values() if isinstance(form, Buckets | Pack)}
    if len(blocks) > 1:
        raise ArrowJaxError(
            f"ragged= has {len(blocks)} different Buckets or Pack: a batch has one. "
            "Give the columns the same object, or pad the others to a length"
        )
    return forms


def block_form(forms: Mapping[str, Form]) -> tuple[Buckets | Pack | None, list[str]]:
    """Finds the form that decides which rows are in a batch.

    Args:
      forms: column -> form.

    Returns:
      The form, or None, and its columns.
    """
    found = {n: f for n, f in forms.items() if isinstance(f, Buckets | Pack)}
    return next(iter(found.values()), None), list(found)


def lengths_of(
    plans: Mapping[str, Plan], names: list[str], form: Buckets | Pack, rows: Index
) -> np.ndarray:
    """Finds how long each row is, over all columns of a form.

    Args:
      plans: of the columns.
      names: the columns of the form.
      form: of these columns.
      rows: of the source.

    Returns:
      int64[n]: with `Buckets` the greatest of the columns' lengths.

    Raises:
      ShapeError: if a column holds no lists of numbers, or columns that are packed
        together differ.
    """
    found: np.ndarray | None = None
    for name in names:
        plan = plans[name]
        if not isinstance(plan, NumberPlan):
            raise ShapeError(
                f"column {name!r}: {type(form).__name__} is for lists of numbers. Give "
                "a length"
            )
        lengths = plan.lengths(rows)
        if found is None:
            found = lengths
        elif isinstance(form, Buckets):
            found = np.maximum(found, lengths)
        elif len(wrong := np.flatnonzero(found != lengths)):
            row = int(wrong[0])
            raise ShapeError(
                f"columns {names[0]!r} and {name!r} are packed together, but "
                f"{plan.source.words(int(rows[row]))} has {found[row]} and "
                f"{lengths[row]} elements. Pack columns of equal lengths"
            )
    return np.zeros(0, np.int64) if found is None else found


def fitted(
    form: Buckets | Pack, name: str, lengths: np.ndarray, words: Any
) -> Buckets | Pack:
    """Settles a form for the rows at hand.

    Args:
      form: as the user gave it.
      name: of its first column.
      lengths: int64[n], at least one.
      words: position in the dataset -> how errors name that row.

    Returns:
      The form, with its edges.

    Raises:
      ShapeError: if a row is too long.
    """
    if isinstance(form, Buckets) and form.edges is None:
        edges = choose_edges(lengths, max_buckets=form.max_buckets, waste=form.waste)
        return replace(form, edges=edges)
    if isinstance(form, Pack) and not lengths.any():
        raise ShapeError(
            f"column {name!r}: no row has an element, so there is nothing to pack"
        )
    most = form.length if isinstance(form, Pack) else (form.edges or (0,))[-1]
    may = form.truncate or (isinstance(form, Pack) and form.split)
    if not may and lengths.max() > most:
        row = int(np.argmax(lengths > most))
        kind = type(form).__name__
        also = ", or split=True" if isinstance(form, Pack) else ""
        raise ShapeError(
            f"column {name!r}, {words(row)}: has {lengths[row]} elements, {kind} holds "
            f"{most}. Give a greater length, or {kind}(..., truncate=True){also}"
        )
    return form

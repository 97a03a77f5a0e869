"""Structs: dicts of columns."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from arrow_jax._chunks import Index
from arrow_jax._plan import Plan


@dataclass(frozen=True)
class StructPlan:
    """A column of structs.

    Attributes:
      name: the column's.
      plans: of the fields.
    """

    name: str
    plans: Mapping[str, Plan]

    @property
    def spec(self) -> Any:
        """The rows' specs by field; fields of Python objects are left out."""
        specs = {field: plan.spec for field, plan in self.plans.items()}
        return {f: s for f, s in specs.items() if s is not None} or None

    @property
    def is_ragged(self) -> bool:
        """Whether any field is."""
        return any(plan.is_ragged for plan in self.plans.values())

    def check(self, rows: Index) -> None:
        """Checks every field."""
        for plan in self.plans.values():
            plan.check(rows)

    def batch(self, rows: Index) -> Any:
        """Makes a dict of columns."""
        return {field: plan.batch(rows) for field, plan in self.plans.items()}

    def padded(self, rows: Index, capacity: int, *, truncate: bool = False) -> Any:
        """Pads the ragged fields."""
        return {
            field: plan.padded(rows, capacity, truncate=truncate)
            if plan.is_ragged
            else plan.batch(rows)
            for field, plan in self.plans.items()
        }

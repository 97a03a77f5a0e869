"""What a column becomes, decided before the first row is read.

A plan is made for each column when the format is set, from the Arrow type, the feature
and the options; with the facts of the column it knows the spec of a row. It then turns
any rows into that, batch after batch. Types with no array to become are refused here.
A new type of column is a new plan and a line in `plan_column`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import jax
import numpy as np
import pyarrow as pa

from arrow_jax._column import Column, Index
from arrow_jax._decode import is_objects, is_temporal, number_dtype
from arrow_jax._errors import ArrowJaxError
from arrow_jax._features import ClassLabel, Image, List
from arrow_jax._source import Source, unsupported
from arrow_jax._split import has_struct, split_type


class Options(NamedTuple):
    """What the user chose.

    Attributes:
      x64: whether 64-bit columns stay 64 bits wide.
      nulls: "error", "nan", "mask" or a fill value.
    """

    x64: bool
    nulls: Any = "error"


class Plan(Protocol):
    """What a column becomes.

    Attributes:
      name: the column's.
    """

    name: str

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

    def padded(self, rows: Index, capacity: int) -> Any:
        """Makes a `Ragged` of some rows; raises if one is longer than `capacity`."""
        ...


def plan_columns(
    source: Source, names: list[str], *, x64: bool, nulls: Any
) -> dict[str, Plan]:
    """Plans the columns of a format.

    Args:
      source: of the rows.
      names: the columns wanted.
      x64: whether 64-bit columns stay.
      nulls: a policy for all, or a mapping from column to policy.

    Returns:
      name -> plan.

    Raises:
      ArrowJaxError: if `nulls` is no policy, or names no column.
      UnsupportedTypeError: if a column has no array to become.
    """
    by_column = nulls if isinstance(nulls, Mapping) else dict.fromkeys(names, nulls)
    unknown = [name for name in by_column if name not in source.features]
    if unknown:
        raise ArrowJaxError(
            f"nulls names the column {unknown[0]!r}; there are {list(source.features)}"
        )
    for policy in by_column.values():
        known = isinstance(policy, bool | int | float | np.number | np.bool_)
        if not known and policy not in ("error", "nan", "mask"):
            raise ArrowJaxError(
                f'nulls={policy!r}: wanted "error", "nan", "mask", a number to fill in, '
                'or a mapping from column to one of these, such as {"age": "mask"}'
            )
    return {
        name: plan_column(
            source,
            (name,),
            source.table.schema.field(name).type,
            source.features[name],
            Options(x64, by_column.get(name, "error")),
        )
        for name in names
    }


def plan_column(
    source: Source,
    path: tuple[str, ...],
    type_: pa.DataType,
    feature: Any,
    options: Options,
) -> Plan:
    """Plans one column, or one field of a struct column.

    Args:
      source: of the rows.
      path: column, then fields.
      type_: the Arrow type at that path.
      feature: the feature there.
      options: what the user chose.

    Returns:
      The plan.

    Raises:
      UnsupportedTypeError: if the type has no array to become.
    """
    from arrow_jax._image_plan import ImagePlan  # noqa: PLC0415  (it imports this file)
    from arrow_jax._number_plan import NumberPlan  # noqa: PLC0415  (likewise)

    name = ".".join(path)
    if isinstance(feature, Image):
        return ImagePlan(name, source, path, feature, options)
    if has_struct(type_):
        return Struct(
            name,
            {
                field: plan_column(
                    source, (*path, field), inner, _inside(feature, field), options
                )
                for field, inner in split_type(type_).items()
            },
        )
    if is_objects(type_):
        return Strings(name, source.kept(path))
    dtype = number_dtype(type_)
    if dtype is None:
        raise unsupported(name, type_)
    return NumberPlan(
        name=name,
        source=source,
        path=path,
        stored=dtype,
        dtype=narrow_dtype(dtype, feature, x64=options.x64),
        declared=getattr(feature, "shape", ()),
        options=options,
        unit=str(type_) if is_temporal(type_) else "",
    )


def _inside(feature: Any, field: str) -> Any:
    while isinstance(feature, List):
        feature = feature.feature
    return feature.get(field) if isinstance(feature, Mapping) else None


def narrow_dtype(dtype: np.dtype, feature: Any, *, x64: bool) -> np.dtype:
    """Finds the dtype that numbers have on the device.

    Args:
      dtype: as declared in Arrow.
      feature: the column's; labels, also in lists, are int32.
      x64: whether 64 bits stay.

    Returns:
      The same dtype, or its 32-bit fellow.
    """
    while isinstance(feature, List):
        feature = feature.feature
    if isinstance(feature, ClassLabel):
        return np.dtype(np.int32)
    if x64 or dtype.itemsize < 8:
        return dtype
    return np.dtype(f"{dtype.kind}4")


@dataclass(frozen=True)
class Struct:
    """A dict of columns."""

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

    def padded(self, rows: Index, capacity: int) -> Any:
        """Pads the ragged fields."""
        return {
            field: plan.padded(rows, capacity) if plan.is_ragged else plan.batch(rows)
            for field, plan in self.plans.items()
        }


@dataclass(frozen=True)
class Strings:
    """Strings and bytes, and lists of them: Python objects, None where null."""

    name: str
    column: Column
    spec: None = None
    is_ragged: bool = False

    def check(self, rows: Index) -> None:
        """Has nothing to check."""
        del rows

    def batch(self, rows: Index) -> list[Any]:
        """Makes a list of Python objects."""
        return self.column.gather(rows).array.to_pylist()

    def padded(self, rows: Index, capacity: int) -> Any:
        """Is never asked for: the loader refuses Python objects."""
        raise NotImplementedError(self.name, rows, capacity)


def row_spec(shape: tuple[int, ...], dtype: Any) -> jax.ShapeDtypeStruct:
    """Makes the spec of a row that is one array.

    Args:
      shape: of the row.
      dtype: of the row.

    Returns:
      The spec.
    """
    return jax.ShapeDtypeStruct(shape, dtype)

"""Choosing what each column becomes.

Types with no array to become are refused here, when the format is set. A new type of
column is a new plan and a line in `plan_column`.
"""

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from arrow_jax._audio_plan import AudioPlan
from arrow_jax._chunks import Index
from arrow_jax._decode import is_objects, is_temporal, number_dtype
from arrow_jax._errors import ArrowJaxError, UnsupportedTypeError
from arrow_jax._facts import Facts, column_of, facts_of, key_of
from arrow_jax._features import Audio, ClassLabel, Image, List
from arrow_jax._image_plan import ImagePlan
from arrow_jax._metadata import is_list
from arrow_jax._number_plan import NumberPlan
from arrow_jax._plain import plain_type
from arrow_jax._plan import Options, Plan
from arrow_jax._source import Source, unsupported
from arrow_jax._split import has_struct, split_type
from arrow_jax._string_plan import StringPlan
from arrow_jax._struct_plan import StructPlan
from arrow_jax._tensors_plan import TensorsPlan, permutation_of


def plan_columns(
    source: Source, names: list[str], *, x64: bool, nulls: Any, dtype: Any = None
) -> dict[str, Plan]:
    """Plans the columns of a format.

    Args:
      source: of the rows.
      names: the columns wanted.
      x64: whether 64-bit columns stay.
      nulls: a policy for all, or a mapping from column to policy.
      dtype: of the numbers, or column -> dtype, or None.

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
        named = isinstance(policy, str) and policy in ("error", "nan", "mask")
        if not known and not named:
            raise ArrowJaxError(
                f'nulls={policy!r}: wanted "error", "nan", "mask", a number to fill '
                'in, or a mapping from column to one of these: {"age": "mask"}'
            )
    return {
        name: _plan_field(
            source,
            source.table.schema.field(name),
            _options(name, x64=x64, nulls=by_column.get(name, "error"), dtype=dtype),
        )
        for name in names
    }


def _plan_field(source: Source, field: pa.Field, options: Options) -> Plan:
    name, feature = field.name, source.features[field.name]
    order = permutation_of(field)
    if order is None:
        type_ = plain_type(field.type)
        return plan_column(source, (name,), type_, feature, options)
    stored = plain_type(field.type)
    plans = {
        part.name: plan_column(
            source,
            (name, part.name),
            part.type,
            None,
            options if part.name == "data" else Options(x64=True, nulls=0),
        )
        for part in stored
    }
    data, shapes = plans["data"], plans["shape"]
    if not (isinstance(data, NumberPlan) and isinstance(shapes, NumberPlan)):
        raise unsupported((name,), field.type)
    return TensorsPlan(name, replace(data, name=name), shapes, order)


def _options(name: str, *, x64: bool, nulls: Any, dtype: Any) -> Options:
    if isinstance(dtype, Mapping):
        return Options(x64, nulls, dtype.get(name), named=name in dtype)
    return Options(x64, nulls, dtype)


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
      type_: the plain Arrow type at that path.
      feature: the feature there.
      options: what the user chose.

    Returns:
      The plan.

    Raises:
      UnsupportedTypeError: if the type has no array to become.
    """
    name = ".".join(path)
    if isinstance(feature, Image):
        return ImagePlan(name, source, path, feature, options)
    if isinstance(feature, Audio):
        return AudioPlan(name, source, path, feature, options)
    if has_struct(type_):
        return StructPlan(
            name,
            {
                field: plan_column(
                    source, (*path, field), inner, _inside(feature, field), options
                )
                for field, inner in split_type(type_).items()
            },
        )
    if is_objects(type_):
        return StringPlan(name, source.kept(path))
    dtype = number_dtype(type_)
    if dtype is None:
        raise unsupported(path, type_)
    asked = asked_dtype(name, type_, feature, options)
    return NumberPlan(
        name=name,
        source=source,
        path=path,
        stored=dtype,
        dtype=asked or narrow_dtype(dtype, feature, x64=options.x64),
        declared=getattr(feature, "shape", ()),
        options=options,
        unit=_unit(type_),
        n_labels=_n_labels(feature),
    )


def _unit(type_: pa.DataType) -> str:
    """The type of the times that a column is of, at any depth; empty if of none."""
    while is_list(type_) or isinstance(type_, pa.FixedShapeTensorType):
        type_ = type_.value_type
    return str(type_) if is_temporal(type_) else ""


def _n_labels(feature: Any) -> int | None:
    while isinstance(feature, List):
        feature = feature.feature
    return feature.num_classes if isinstance(feature, ClassLabel) else None


def column_facts(source: Source, name: str) -> dict[str, Facts]:
    """Finds what is known about a column, for a file or another source to keep.

    Args:
      source: of the rows.
      name: the column's.

    Returns:
      The column, or each of its fields, see `key_of` -> facts; nothing of what is no
      number.
    """
    try:
        plans = plan_columns(source, [name], x64=True, nulls="mask")
        return _facts_within(plans[name])
    except ArrowJaxError:  # a file can keep what no array can be made of
        return {}


def known_of(
    source: Source, names: Iterable[str], *, all_rows: bool
) -> dict[str, Facts]:
    """Finds what columns take along when their rows are copied into another source.

    Args:
      source: of the columns.
      names: theirs.
      all_rows: whether every row goes, so that what holds for them can be found there.

    Returns:
      As `column_facts`, of those columns.
    """
    said = {n: facts for n, facts in source.said.items() if column_of(n) in names}
    for name in () if all_rows else names:
        said |= column_facts(source, name)
    return said


def elders_of(source: Source, names: Iterable[str]) -> dict[str, tuple[Source, str]]:
    """Finds the columns of images and sounds, whose rows are about to be copied.

    Args:
      source: of the columns.
      names: theirs.

    Returns:
      What `Source.elders` is, for those that are a part of this source.
    """
    features = source.features
    return {n: (source, n) for n in names if isinstance(features[n], Audio | Image)}


def scan_files(source: Source) -> None:
    """Looks into all images and sounds, so that the source knows if they are alike.

    Args:
      source: of the rows.
    """
    for name, feature in source.features.items():
        if isinstance(feature, Audio | Image):
            with contextlib.suppress(ArrowJaxError):  # said where it is decoded
                _ = plan_columns(source, [name], x64=True, nulls="mask")[name].is_ragged


def _facts_within(plan: Plan) -> dict[str, Facts]:
    if isinstance(plan, StructPlan):
        inner = [_facts_within(field) for field in plan.plans.values()]
        return {name: facts for found in inner for name, facts in found.items()}
    if isinstance(plan, NumberPlan):
        return {key_of(plan.path): facts_of(plan.column.chunks[0])}
    if isinstance(plan, TensorsPlan):
        return {key_of((plan.name, "data")): plan.facts}
    return {}


def check_times(plan: Plan, rows: Index) -> None:
    """Raises for times that do not fit 32 bits, which is said when the format is set.

    Args:
      plan: of any column.
      rows: of its source.

    Raises:
      NarrowingError: if a time does not fit; names the first row.
    """
    if isinstance(plan, StructPlan):
        for inner in plan.plans.values():
            check_times(inner, rows)
    elif isinstance(plan, NumberPlan) and plan.unit:
        plan.check_range(rows)


def _inside(feature: Any, field: str) -> Any:
    while isinstance(feature, List):
        feature = feature.feature
    return feature.get(field) if isinstance(feature, Mapping) else None


def asked_dtype(
    name: str, type_: pa.DataType, feature: Any, options: Options
) -> np.dtype | None:
    """Finds the dtype that the user asked for.

    Args:
      name: the column's.
      type_: the plain Arrow type.
      feature: the column's.
      options: what the user chose.

    Returns:
      The dtype, or None where the column keeps its own.

    Raises:
      UnsupportedTypeError: if a column of times or codes is named.
      ArrowJaxError: if it has 64 bits while `jax_enable_x64` is off.
    """
    while is_list(type_) or isinstance(type_, pa.FixedShapeTensorType):
        type_ = type_.value_type
    while isinstance(feature, List):
        feature = feature.feature
    if options.dtype is None:
        return None
    if is_temporal(type_) or pa.types.is_dictionary(type_):
        if not options.named:
            return None
        raise UnsupportedTypeError(
            f"column {name!r} has type {type_}, which dtype= does not change: it is for"
            " integers, floats and booleans. Cast it with ds.cast_column"
        )
    if options.dtype.itemsize > 4 and not options.x64:
        raise ArrowJaxError(
            f"column {name!r}: {options.dtype} needs jax_enable_x64, which is off."
            ' Turn it on before: jax.config.update("jax_enable_x64", True)'
        )
    keeps = isinstance(feature, ClassLabel) or pa.types.is_boolean(type_)
    return None if keeps and not options.named else options.dtype


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

"""What an Arrow column should become, as nested lists: written over `to_pylist`.

It shares nothing with the package: it goes value by value, and knows what each type
means, not how it is laid out.
"""

import datetime as dt

import numpy as np
import pyarrow as pa

from arrow_jax import Masked

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECONDS = {"s": 10**6, "ms": 10**3, "us": 1}


def column_of(type_: pa.DataType, values: list) -> list | dict:
    """A column of values from `to_pylist`; structs are dicts of columns."""
    fields = _fields(type_)
    if fields is None:
        return [_value(type_, v) for v in values]
    return {
        name: column_of(inner, [_inside(type_, v, name) for v in values])
        for name, inner in fields.items()
    }


def _fields(type_):
    if pa.types.is_struct(type_):
        return {field.name: field.type for field in type_}
    if pa.types.is_map(type_):
        pairs = {"key": type_.key_type, "value": type_.item_type}
        return {name: pa.list_(inner) for name, inner in pairs.items()}
    if _is_list(type_):
        inner = _fields(type_.value_type)
        return inner and {name: pa.list_(t) for name, t in inner.items()}
    return None


def _is_list(type_):
    return str(type_).split("<")[0] in (
        "list",
        "large_list",
        "fixed_size_list",
        "list_view",
        "large_list_view",
    )


def _inside(type_, value, name):
    if value is None:
        return None
    if pa.types.is_struct(type_):
        return value[name]
    if pa.types.is_map(type_):
        return [pair[int(name == "value")] for pair in value]
    return [_inside(type_.value_type, v, name) for v in value]


def _value(type_, value):
    if value is None:
        return None
    if pa.types.is_run_end_encoded(type_):
        type_ = type_.value_type
    if _is_list(type_):
        return [_value(type_.value_type, v) for v in value]
    if isinstance(type_, pa.FixedShapeTensorType):
        shape, axes = type_.shape, type_.permutation or range(len(type_.shape))
        return np.array(value).reshape(shape).transpose(axes).tolist()
    if isinstance(type_, pa.UuidType):
        return list(value.bytes)
    return bool(value) if isinstance(type_, pa.Bool8Type) else _time(type_, value)


def _time(type_, value):
    if pa.types.is_date32(type_):
        return (value - _EPOCH.date()).days
    if pa.types.is_date64(type_):
        return (value - _EPOCH.date()).days * 86_400_000
    if pa.types.is_time(type_):
        whole = dt.datetime.combine(_EPOCH.date(), value, dt.UTC) - _EPOCH
        return _count(whole, type_.unit)
    if pa.types.is_timestamp(type_):
        return _count(value.replace(tzinfo=value.tzinfo or dt.UTC) - _EPOCH, type_.unit)
    return _count(value, type_.unit) if pa.types.is_duration(type_) else value


def _count(delta, unit):
    return delta // dt.timedelta(microseconds=_MICROSECONDS[unit])


def undone(got):
    """Undoes what a format gives: nested Python lists, None where a mask says so."""
    if isinstance(got, dict):
        return {name: undone(column) for name, column in got.items()}
    if isinstance(got, Masked):
        return _hidden(undone(got.values), np.asarray(got.valid))
    if isinstance(got, list):
        return [undone(x) for x in got]
    return got if isinstance(got, str | bytes | None) else np.asarray(got).tolist()


def alike(got, wanted, *, level=0):
    """Whether they are equal; below a row, a null list may be a list of nulls.

    That is how a tensor says it: its mask has one flag an element.
    """
    if isinstance(wanted, dict):
        return all(alike(got[name], wanted[name]) for name in wanted)
    if isinstance(wanted, list):
        return len(got) == len(wanted) and all(
            alike(a, b, level=level + 1) for a, b in zip(got, wanted, strict=True)
        )
    if wanted is None and level > 1 and isinstance(got, list):
        return all(alike(x, None, level=level + 1) for x in got)
    return got == wanted


def _hidden(values, valid):
    if not valid.ndim:
        return values if valid else None
    return [_hidden(v, ok) for v, ok in zip(values, valid, strict=True)]

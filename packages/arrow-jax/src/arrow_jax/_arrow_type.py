"""The Arrow type that stores a feature."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from arrow_jax._errors import ArrowJaxError
from arrow_jax._features import (
    Array2D,
    Array3D,
    Array4D,
    Array5D,
    Audio,
    ClassLabel,
    Days,
    Image,
    List,
    Value,
)

_STORED = {
    ClassLabel: pa.int64(),
    Days: pa.list_(pa.int32(), 2),
    Audio: pa.struct({"bytes": pa.binary(), "path": pa.string()}),
    Image: pa.struct({"bytes": pa.binary(), "path": pa.string()}),
}


def arrow_type(feature: Any) -> pa.DataType:
    """Finds the Arrow type that stores a feature.

    Args:
      feature: any feature.

    Returns:
      The type.

    Raises:
      ArrowJaxError: if Arrow has no type of that name.
    """
    if type(feature) in _STORED:
        return _STORED[type(feature)]
    match feature:
        case Value(dtype):
            return _named(dtype)
        case List(inner, length):
            return pa.list_(arrow_type(inner), length)
        case Array2D() | Array3D() | Array4D() | Array5D():
            type_ = _named(feature.dtype)
            for _ in feature.shape:
                type_ = pa.list_(type_)
            return type_
        case Mapping():
            return pa.struct({k: arrow_type(v) for k, v in feature.items()})
    raise ArrowJaxError(
        f"{feature!r} is no feature: use Value, List, ClassLabel, Array2D to Array5D, "
        "Days, Image, Audio, or a dict of them"
    )


def _named(dtype: str) -> pa.DataType:
    try:
        return pa.type_for_alias(dtype)
    except ValueError as error:
        raise ArrowJaxError(
            f"Value({dtype!r}): Arrow has no type of that name; use one such as "
            '"int32", "float16", "bool", "string" or "timestamp[ms]"'
        ) from error

"""What the codes of dictionary columns stand for, at any depth."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from arrow_jax._features import Dictionary, List
from arrow_jax._plain import plain


def with_values(feature: Any, array: pa.Array) -> Any:
    """Puts the values of the dictionaries of a column into its feature.

    Args:
      feature: of the column.
      array: one of its chunks, which share their dictionaries.

    Returns:
      The feature; the same where it has no dictionary in it.

    Example:
      >>> codes = pa.array(["a", "b", "a"]).dictionary_encode()
      >>> lists = pa.ListArray.from_arrays([0, 2, 3], codes)
      >>> with_values(List(Dictionary(())), lists)
      List(feature=Dictionary(values=('a', 'b'), dtype='int32'), length=-1)
    """
    if "Dictionary(" not in repr(feature):
        return feature
    array = plain(array)
    match feature:
        case Dictionary():
            return replace(feature, values=tuple(array.dictionary.to_pylist()))
        case List(inner):
            return replace(feature, feature=with_values(inner, array.values))
        case Mapping() if pa.types.is_struct(array.type):
            return {k: with_values(v, array.field(k)) for k, v in feature.items()}
    return feature


def without_values(feature: Any) -> Any:
    """Drops the values of the dictionaries in a feature; see `with_values`.

    Args:
      feature: of a column.

    Returns:
      What columns with other values in their dictionaries have alike.

    Example:
      >>> without_values({"word": Dictionary(("a", "b"), "int8")})
      {'word': Dictionary(values=(), dtype='int8')}
    """
    match feature:
        case Dictionary():
            return replace(feature, values=())
        case List(inner):
            return replace(feature, feature=without_values(inner))
        case Mapping():
            return {name: without_values(inner) for name, inner in feature.items()}
    return feature

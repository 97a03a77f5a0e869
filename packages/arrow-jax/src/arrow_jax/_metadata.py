"""Features as the JSON that Hugging Face `datasets` keeps in a schema's metadata.

Only what Arrow's own types cannot say is believed: class names, images and declared
shapes. A feature of another kind, or one that does not fit the column's Arrow type,
gives way to the Arrow type, since the data are what is there. What cannot be read does
so too, with a warning: another program's text must not make a file unreadable, but
images that turn into bytes must not do so quietly.
"""

import json
import warnings
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
    Dictionary,
    Features,
    Image,
    List,
    Value,
)

_KEY = b"huggingface"
_NAMES = {  # where Arrow's name is not the usual one
    "halffloat": "float16",
    "float": "float32",
    "double": "float64",
    "date32[day]": "date32",
    "date64[ms]": "date64",
}
_ARRAYS = {cls.__name__: cls for cls in (Array2D, Array3D, Array4D, Array5D)}


def read_features(schema: pa.Schema) -> Features:
    """Reads the features of a schema.

    Args:
      schema: an Arrow schema, with or without metadata.

    Returns:
      One feature a column: what the metadata says where that fits, else what the
      Arrow type says. Warns of metadata that can't be read.
    """
    said = _read_json(schema.metadata or {})
    found = {}
    for field in schema:
        try:
            found[field.name] = feature_of(field.type, said.get(field.name))
        except (KeyError, TypeError, AttributeError, ArrowJaxError) as error:
            _warn(f" of column {field.name!r}", error)
            found[field.name] = feature_of(field.type)
    return Features(found)


def write_features(features: Mapping[str, Any]) -> dict[bytes, bytes]:
    """Makes the schema metadata of some features.

    Args:
      features: name -> feature.

    Returns:
      Metadata for `pyarrow.Schema.with_metadata`.
    """
    # Arrow's own extension types have no name there; the schema itself carries them.
    said = {
        name: _to_json(feature)
        for name, feature in features.items()
        if not (isinstance(feature, Value) and feature.dtype.startswith("extension<"))
    }
    return {_KEY: json.dumps({"info": {"features": said}}).encode()}


def feature_of(type_: pa.DataType, said: Any = None) -> Any:
    """Finds the feature of an Arrow type, given what the metadata say.

    Args:
      type_: the column's type.
      said: the column's entry in the JSON, or a feature, or None.

    Returns:
      A feature, or a dict of them for a struct.
    """
    if isinstance(type_, pa.BaseExtensionType) and not is_canonical(
        type_.extension_name
    ):
        type_ = type_.storage_type
    kind = said.get("_type") if isinstance(said, dict) else type(said).__name__
    if kind == "Image" and is_image_type(type_):
        return _image(said)
    if kind == "Audio" and is_image_type(type_):
        mono = _get(said, "mono")
        return Audio(_get(said, "sampling_rate"), mono=mono is None or bool(mono))
    if kind == "ClassLabel" and pa.types.is_integer(type_):
        return said if isinstance(said, ClassLabel) else ClassLabel(said["names"])
    if kind in _ARRAYS and not isinstance(type_, pa.BaseExtensionType):
        shape, dtype = _get(said, "shape"), _get(said, "dtype")
        if list_depth(type_) == len(shape):
            return _ARRAYS[kind](shape, _own_dtype(type_, dtype))
    return _structural(type_, said)


def _own_dtype(type_: pa.DataType, said: str) -> str:
    """The dtype that was said where the elements are of it, else theirs."""
    while is_list(type_):
        type_ = type_.value_type
    try:
        same = pa.type_for_alias(said) == type_
    except (ValueError, TypeError):
        same = False
    return said if same else _NAMES.get(str(type_), str(type_))


def _structural(type_: pa.DataType, said: Any) -> Any:
    if pa.types.is_struct(type_):
        inner = said if isinstance(said, dict) else {}
        return {f.name: feature_of(f.type, inner.get(f.name)) for f in type_}
    if pa.types.is_dictionary(type_):
        return Dictionary((), str(type_.index_type))
    if is_list(type_):
        inner = said[0] if isinstance(said, list) and said else _get(said, "feature")
        fixed = pa.types.is_fixed_size_list(type_)
        return List(
            feature_of(type_.value_type, inner), type_.list_size if fixed else -1
        )
    return Value(_NAMES.get(str(type_), str(type_)))


def is_canonical(extension_name: str) -> bool:
    """Whether an extension type is one of Arrow's own.

    Those of others are looked at as what they are stored as, which is what they are
    anyway where the library that knows them was not imported.

    Args:
      extension_name: of the type.

    Returns:
      True if it is Arrow's.
    """
    return extension_name.startswith("arrow.")


def is_list(type_: pa.DataType) -> bool:
    """Whether a type is one of the lists that become tensors or ragged columns.

    Args:
      type_: an Arrow type.

    Returns:
      True for list, large_list and fixed_size_list.
    """
    return (
        pa.types.is_list(type_)
        or pa.types.is_large_list(type_)
        or pa.types.is_fixed_size_list(type_)
    )


def is_image_type(type_: pa.DataType) -> bool:
    """Whether a type can hold compressed images.

    Args:
      type_: an Arrow type.

    Returns:
      True for binary, large_binary, and a struct of such bytes and a string path.
    """
    if pa.types.is_struct(type_):
        names = {f.name for f in type_}
        return names == {"bytes", "path"} and is_image_type(type_.field("bytes").type)
    return pa.types.is_binary(type_) or pa.types.is_large_binary(type_)


def list_depth(type_: pa.DataType) -> int:
    """Counts how deep lists are nested.

    Args:
      type_: an Arrow type.

    Returns:
      0 for a scalar, 1 for a list of scalars, and so on.
    """
    return 1 + list_depth(type_.value_type) if is_list(type_) else 0


def _get(said: Any, key: str) -> Any:
    return said.get(key) if isinstance(said, dict) else getattr(said, key, None)


def _image(said: Any) -> Image:
    shape, size = _get(said, "shape"), _get(said, "size")
    return Image(
        mode=_get(said, "mode"),
        shape=tuple(shape) if shape else None,
        size=tuple(size) if size else None,
        fit=_get(said, "fit") or "pad",
        upright=bool(_get(said, "upright")),
    )


def _read_json(metadata: Mapping[bytes, bytes]) -> dict[str, Any]:
    if _KEY not in metadata:
        return {}
    try:
        said = json.loads(metadata[_KEY])["info"]["features"]
        if not isinstance(said, dict):
            raise TypeError(f"the features are a {type(said).__name__}")  # noqa: TRY301
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        _warn("", error)
        return {}
    return said


def _warn(where: str, error: Exception) -> None:
    warnings.warn(
        f"the schema's 'huggingface' metadata{where} could not be read and are left "
        f"out ({type(error).__name__}: {error}): such columns are what their Arrow "
        "types say. Say what they are with Dataset.from_arrow(table, features={...})",
        stacklevel=2,
    )


def _to_json(feature: Any) -> Any:
    if isinstance(feature, Mapping):
        return {name: _to_json(inner) for name, inner in feature.items()}
    kind = type(feature).__name__
    match feature:
        case Value(dtype):
            said: dict[str, Any] = {"dtype": dtype}
        case ClassLabel():
            said = {"names": list(feature.names)}
        case List(inner, length):
            said = {"feature": _to_json(inner), "length": length}
        case Dictionary(values):
            # `datasets` knows no dictionaries and reads them as their values.
            text = all(isinstance(value, str) for value in values)
            said, kind = {"dtype": "string" if text else "int64"}, "Value"
        case Audio(rate, mono):
            said = {"sampling_rate": rate} | ({} if mono else {"mono": False})
        case Image(mode, shape, size):
            said = {"mode": mode} if mode else {}
            said |= {"shape": list(shape)} if shape else {}
            said |= {"size": list(size), "fit": feature.fit} if size else {}
            said |= {"upright": True} if feature.upright else {}
        case _:
            said = {"shape": list(feature.shape), "dtype": feature.dtype}
    return said | {"_type": kind}

"""Parameters in a file that other libraries read, and that runs no code when read.

Pickles of parameters run whatever they contain; safetensors files hold names, shapes,
dtypes and bytes. A Haiku parameter `params["mlp/~/linear_0"]["w"]` is stored under the
name `mlp/~/linear_0/w`.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

# As the format names them.
_DTYPES = {
    "BOOL": np.bool_,
    "U8": np.uint8,
    "I8": np.int8,
    "U16": np.uint16,
    "I16": np.int16,
    "U32": np.uint32,
    "I32": np.int32,
    "U64": np.uint64,
    "I64": np.int64,
    "F8_E4M3": jnp.float8_e4m3fn,
    "F8_E5M2": jnp.float8_e5m2,
    "F16": np.float16,
    "BF16": jnp.bfloat16,
    "F32": np.float32,
    "F64": np.float64,
}


def save_safetensors(
    path: str | os.PathLike[str],
    params: Mapping[str, Mapping[str, Any]],
    *,
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Writes parameters, or a state of the same form, to a safetensors file.

    The file is written beside `path` and then put in its place, so a reader sees the
    old file or the new one.

    Args:
      path: the file.
      params: module path -> parameter name -> array, as `init` returns it. Arrays
        that are spread over devices of this process are gathered; Python's numbers
        get the dtype that jax gives them.
      metadata: texts by name, kept in the file's head; say what was trained, on what.

    Raises:
      ImportError: if safetensors is not installed.
      TypeError: if `params` is not of that form, or a text of the metadata is none.
      ValueError: if a parameter's name has a slash in it, which would be read back as
        a part of the module's path, a module is empty, or a dtype cannot be stored
        (typed keys, complex numbers, 4 bits), or a Python int is too large for it.

    Example:
      >>> import pathlib, tempfile, jax.numpy as jnp
      >>> with tempfile.TemporaryDirectory() as folder:
      ...     file = pathlib.Path(folder) / "linear.safetensors"
      ...     save_safetensors(file, {"linear": {"w": jnp.ones((2, 3))}})
      ...     load_safetensors(file)["linear"]["w"].shape
      (2, 3)

    References:
      https://huggingface.co/docs/safetensors
    """
    library = _library("save_safetensors")
    tensors = {}
    for module, held in params.items():
        if not isinstance(held, Mapping):
            raise TypeError(
                f"save_safetensors found params[{module!r}] of type "
                f"{type(held).__name__}, wanted a mapping of names to arrays: pass "
                "what init returned."
            )
        if not held:
            raise ValueError(
                f"save_safetensors found no parameter in {module!r}, wanted one at "
                "least: the file has names of arrays only, and would lose the module."
            )
        for name, array in held.items():
            if not isinstance(name, str) or "/" in name or not name:
                raise ValueError(
                    f"save_safetensors found the parameter {name!r} of {module!r}, "
                    "wanted a name without a slash: rename it in its module."
                )
            tensors[f"{module}/{name}"] = _as_numpy(module, name, array)
    texts = dict(metadata or {})
    for key, text in texts.items():
        if not (isinstance(key, str) and isinstance(text, str)):
            raise TypeError(
                f"save_safetensors found metadata {key!r}: {text!r}, wanted text: pass "
                f"{{{str(key)!r}: {str(text)!r}}}."
            )
    data = library.numpy.save(tensors, texts or None)  # of {} it writes no JSON
    path = Path(path)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_bytes(data)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def load_safetensors(
    path: str | os.PathLike[str], *, like: Any = None
) -> dict[str, dict[str, jax.Array]]:
    """Reads what `save_safetensors` wrote, or any file whose names have a slash.

    Args:
      path: the file.
      like: parameters, or their shapes and dtypes from `jax.eval_shape(init, ...)`,
        or Python's numbers, that the file has to fit; None to take what is there.

    Returns:
      module path -> parameter name -> array, uncommitted on jax's default device.

    Raises:
      ImportError: if safetensors is not installed.
      ValueError: if the file is no safetensors file, a name in it has no slash, or it
        does not fit `like`; the message lists what is missing, unknown, or of another
        shape or dtype.
      TypeError: if `like` is not of that form.
      OSError: if the file cannot be read.

    Example:
      >>> import pathlib, tempfile
      >>> import jax.numpy as jnp
      >>> file = pathlib.Path(tempfile.mkdtemp()) / "linear.safetensors"
      >>> save_safetensors(file, {"linear": {"w": jnp.ones((2, 3))}})
      >>> load_safetensors(file)["linear"]["w"].shape
      (2, 3)
    """
    library = _library("load_safetensors")
    if like is not None:
        _check_form(like)
    data = Path(path).read_bytes()
    try:
        tensors = library.deserialize(data)
    except library.SafetensorError as error:
        raise ValueError(
            f"{path} is not a safetensors file ({error}): pass one that "
            "save_safetensors wrote."
        ) from error
    params: dict[str, dict[str, jax.Array]] = {}
    for key, stored in sorted(tensors):
        module, slash, name = key.rpartition("/")
        if not slash:
            raise ValueError(
                f"{path} holds {key!r}, wanted names such as 'linear/w': rename the "
                "tensors of a file from elsewhere to module/name first."
            )
        if stored["dtype"] not in _DTYPES:
            raise ValueError(
                f"{path} holds {key!r} of dtype {stored['dtype']}, wanted one of "
                f"{', '.join(_DTYPES)}: convert it before it is stored."
            )
        dtype = np.dtype(_DTYPES[stored["dtype"]])
        array = np.frombuffer(stored["data"], dtype).reshape(stored["shape"])
        params.setdefault(module, {})[name] = _as_jax(str(path), key, array)
    if like is not None:
        _check_fits(str(path), params, like)
    return params


def _check_fits(path: str, params: Any, like: Any) -> None:
    found = {k: (v.shape, v.dtype) for k, v in _flat(params).items()}
    wanted = {k: (np.shape(v), _dtype_of(v)) for k, v in _flat(like).items()}
    lines = [f"{k}: is missing" for k in wanted.keys() - found.keys()]
    lines += [f"{k}: is not in the model" for k in found.keys() - wanted.keys()]
    lines += [
        f"{k}: is {found[k][1]}{list(found[k][0])}, the model has "
        f"{wanted[k][1]}{list(wanted[k][0])}"
        for k in found.keys() & wanted.keys()
        if found[k] != wanted[k]
    ]
    if lines:
        raise ValueError(
            f"{path} does not fit the model; pass the model that it was saved from:\n  "
            + "\n  ".join(sorted(lines))
        )


def _flat(params: Any) -> dict[str, Any]:
    return {
        f"{m}/{n}": array for m, held in params.items() for n, array in held.items()
    }


def _check_form(like: Any) -> None:
    held = list(like.values()) if isinstance(like, Mapping) else [like]
    for part in held:
        arrays = part.values() if isinstance(part, Mapping) else [None]
        if not all(hasattr(a, "shape") or _is_of_numbers(a) for a in arrays):
            raise TypeError(
                f"load_safetensors found like of type {type(like).__name__} with "
                f"{type(part).__name__} in it, wanted module path -> name -> array: "
                "pass what jax.eval_shape(init, ...) returns."
            )


def _is_of_numbers(value: Any) -> bool:
    """Whether it is one of Python's numbers, or a list of them."""
    return np.asarray(value).dtype.kind in "bif"


def _dtype_of(value: Any) -> np.dtype:
    if hasattr(value, "dtype"):
        return value.dtype
    return jax.dtypes.canonicalize_dtype(np.asarray(value).dtype)


def _as_jax(path: str, key: str, array: np.ndarray) -> jax.Array:
    if jax.dtypes.canonicalize_dtype(array.dtype) != array.dtype:
        raise ValueError(
            f"{path} holds {key!r} of dtype {array.dtype}, which jax narrows to 32 "
            "bits: switch jax_enable_x64 on, or store it as 32 bits."
        )
    return jnp.asarray(array)


def _as_numpy(module: str, name: str, array: Any) -> np.ndarray:
    if isinstance(array, jax.Array) and jax.dtypes.issubdtype(
        array.dtype, jax.dtypes.extended
    ):
        raise ValueError(
            f"save_safetensors found {module}/{name} of dtype {array.dtype}, wanted "
            "numbers: store jax.random.key_data of it."
        )
    values = np.array(array, order="C")
    if not hasattr(array, "dtype") and values.dtype.kind in "if":
        narrow = values.astype(jax.dtypes.canonicalize_dtype(values.dtype))
        if values.dtype.kind == "i" and not np.array_equal(narrow, values):
            raise ValueError(
                f"save_safetensors found {module}/{name} with {array!r} in it, which "
                f"jax has no {narrow.dtype} for: switch jax_enable_x64 on, or store it "
                "as a float."
            )
        values = narrow
    if values.dtype not in map(np.dtype, _DTYPES.values()):
        raise ValueError(
            f"save_safetensors found {module}/{name} of dtype {values.dtype}, wanted "
            f"one of {', '.join(str(np.dtype(d)) for d in _DTYPES.values())}: convert "
            "it first."
        )
    return values


def _library(caller: str) -> Any:
    try:
        import safetensors.numpy  # noqa: PLC0415  (an extra)
    except ImportError as error:
        raise ImportError(
            f"{caller} needs safetensors: pip install 'haiku-nets[safetensors]'."
        ) from error
    return safetensors

"""A state in one file, and back, bit by bit.

The file is a NumPy archive, `.npz`, with one array a leaf, named by its path in the
tree. Typed PRNG keys are there as their data, and dtypes that NumPy lacks, such as
bfloat16, as unsigned integers of the same bits; the entry `dtypes` says so, in JSON.
There is no pickle in it, so a file from elsewhere runs no code.
"""

import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from rlax_agents._checks import ArgumentError
from rlax_agents._new_file import new_file

_KEY = "key:"
_DTYPES = "dtypes"  # no leaf has this name: theirs start with a dot or a bracket


class CheckpointError(ValueError):
    """A file holds no state, is damaged, or holds another state than was asked for.

    The message names the file, and the leaf that differs.
    """


def save_state(path: str | os.PathLike[str], state: Any) -> None:
    """Writes a pytree of arrays to one file.

    The file appears whole or not at all: a crash leaves what was there before. The same
    state gives the same bytes.

    Args:
      path: of the file, such as `state.npz`; an older one is replaced.
      state: pytree of JAX or NumPy arrays of any dtype, typed PRNG keys among them,
        such as the `TrainState` of `train`. Arrays on several devices are gathered;
        those of several processes are not.

    Raises:
      ArgumentError: if a leaf is no array.
      OSError: if the file cannot be written.

    Example:
      >>> import jax, tempfile
      >>> state = {"key": jax.random.key(0), "x": jax.numpy.ones(2, "bfloat16")}
      >>> with tempfile.TemporaryDirectory() as folder:
      ...     save_state(f"{folder}/state.npz", state)
      ...     back = load_state(f"{folder}/state.npz", state)
      >>> back["x"].dtype.name, bool(back["key"] == state["key"])
      ('bfloat16', True)
    """
    leaves = _named(state)
    for name, leaf in leaves.items():
        if not isinstance(leaf, (jax.Array, np.ndarray, np.generic)) or (
            leaf.dtype == object
        ):
            raise ArgumentError(
                f"save_state: the leaf {name} is of type {type(leaf).__name__}, wanted "
                f"an array; type numpy.asarray of it if it is a number"
            )
    names = {name: _dtype_of(leaf) for name, leaf in leaves.items()}
    arrays = {_DTYPES: np.array(json.dumps(names))}
    arrays |= {name: _to_numpy(leaf) for name, leaf in leaves.items()}
    with new_file(path) as file:
        _write(file, arrays)


def load_state(path: str | os.PathLike[str], like: Any) -> Any:
    """Reads what `save_state` wrote.

    Args:
      path: of the file.
      like: pytree of the same structure, of arrays or of `jax.ShapeDtypeStruct`, such
        as `jax.eval_shape` of the function that made the state.

    Returns:
      The state, of the type of `like`: NumPy arrays where it has those, else JAX
      arrays, placed as the leaf of `like` is where that has a sharding of its own.

    Raises:
      CheckpointError: if the file is damaged, or a leaf is missing, is unknown, or has
        another shape or dtype than in `like`.
      OSError: if the file cannot be read.

    Example:
      >>> import jax, tempfile
      >>> like = {"x": jax.ShapeDtypeStruct((2,), "float32")}
      >>> with tempfile.TemporaryDirectory() as folder:
      ...     save_state(f"{folder}/state.npz", {"x": jax.numpy.ones(2)})
      ...     load_state(f"{folder}/state.npz", like)
      {'x': Array([1., 1.], dtype=float32)}
    """
    wanted = _named(like)
    dtypes, arrays = _read(Path(path))
    for name in (*wanted, *dtypes):
        if name not in dtypes or name not in wanted:
            has, lacks = "the file", "what was asked for"
            if name not in dtypes:
                has, lacks = lacks, has
            raise CheckpointError(
                f"{path}: {lacks} has no leaf {name}, and {has} has; they are states "
                f"of different agents or environments"
            )
    try:
        found = [
            _from_numpy(f"{path}: the leaf {name}", arrays[name], dtypes[name], leaf)
            for name, leaf in wanted.items()
        ]
    except CheckpointError:
        raise
    except (TypeError, ValueError) as error:
        raise CheckpointError(f"{path}: damaged ({error})") from error
    return jax.tree.unflatten(jax.tree.structure(like), found)


def _named(tree: Any) -> dict[str, Any]:
    """Leaves by their path, such as `.agent.params['linear']['w']`; `.` is the root."""
    paths = jax.tree.leaves_with_path(tree)
    named = {jax.tree_util.keystr(path) or ".": leaf for path, leaf in paths}
    if len(named) != len(paths):
        raise ArgumentError("two leaves of the state have the same path in the tree")
    return named


def _is_key(leaf: Any) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _dtype_of(leaf: Any) -> str:
    return f"{_KEY}{jax.random.key_impl(leaf)}" if _is_key(leaf) else str(leaf.dtype)


def _to_numpy(leaf: Any) -> np.ndarray:
    array = np.asarray(jax.random.key_data(leaf) if _is_key(leaf) else leaf)
    if array.dtype.isbuiltin != 2:  # one that NumPy knows by itself
        return array
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")


def _stored(leaf: Any) -> np.dtype:
    """What a leaf is in the file; integers where NumPy has no such type."""
    if _is_key(leaf):
        return np.dtype(np.uint32)
    dtype = np.dtype(leaf.dtype)
    return np.dtype(f"u{dtype.itemsize}") if dtype.isbuiltin == 2 else dtype


def _from_numpy(what: str, data: np.ndarray, dtype: str, leaf: Any) -> Any:
    array: Any = data
    if not isinstance(dtype, str):
        raise CheckpointError(f"{what} is of dtype {dtype!r:.60}; the file is damaged")
    if dtype.startswith(_KEY):
        array = jax.random.wrap_key_data(
            jnp.asarray(data), impl=dtype.removeprefix(_KEY)
        )
        dtype = str(array.dtype)
    if dtype != str(leaf.dtype):
        raise CheckpointError(f"{what} has dtype {dtype}, wanted {leaf.dtype}")
    if array.shape != leaf.shape:
        raise CheckpointError(f"{what} has shape {array.shape}, wanted {leaf.shape}")
    if data.dtype != _stored(leaf):
        raise CheckpointError(
            f"{what} is stored as {data.dtype}, wanted {_stored(leaf)}; "
            f"the file is damaged"
        )
    array = array if _is_key(leaf) else array.view(leaf.dtype)
    if isinstance(leaf, (np.ndarray, np.generic)):
        return array
    placed = isinstance(leaf, jax.ShapeDtypeStruct) or leaf.committed
    return jax.device_put(array, leaf.sharding if placed else None)


def _write(file: Any, arrays: Mapping[str, np.ndarray]) -> None:
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            # An entry without a date: the same state gives the same bytes.
            with archive.open(
                zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True
            ) as f:
                np.lib.format.write_array(f, array, allow_pickle=False)


# All that a zip file can raise in which some bits are not what they were.
_DAMAGE = (
    zipfile.BadZipFile,
    EOFError,
    KeyError,
    NotImplementedError,
    OSError,
    RuntimeError,
    ValueError,
)


def _read(path: Path) -> tuple[dict[str, str], dict[str, np.ndarray]]:
    arrays = {}
    path.open("rb").close()  # what raises here is no damage
    try:
        with zipfile.ZipFile(path) as archive:
            for entry in archive.namelist():
                with archive.open(entry) as file:
                    array = np.lib.format.read_array(file, allow_pickle=False)
                    file.read()  # to the end, where the checksum is compared
                arrays[entry.removesuffix(".npy")] = array
        dtypes = json.loads(str(arrays.pop(_DTYPES)))
        sound = isinstance(dtypes, dict)
    except _DAMAGE as error:
        raise CheckpointError(
            f"{path}: no state that save_state wrote, or a damaged one ({error})"
        ) from error
    if not sound:
        raise CheckpointError(f"{path}: damaged, its types are {dtypes!r:.60}")
    if missing := set(dtypes) ^ set(arrays):
        raise CheckpointError(f"{path}: damaged, of {min(missing)} there is but half")
    return dtypes, arrays

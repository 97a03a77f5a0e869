"""Taking a function to another process, and what it returns back."""

import contextlib
import functools
import importlib
import importlib.util
import pickle
import sys
import types
from pathlib import Path
from typing import Any, NamedTuple


class Target(NamedTuple):
    """A call that another process can make.

    Attributes:
      data: the pickled (function, arguments, keyword arguments).
      module: the name of the function's module.
      module_file: the file of that module, None where it has none.
    """

    data: bytes
    module: str
    module_file: str | None


def target(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Target:
    """Pickles a call.

    Args:
      fn: a function that a module has at its top level, or a `functools.partial` or
        a bound method of such.
      args: positional arguments.
      kwargs: keyword arguments.

    Returns:
      The call.

    Raises:
      TypeError: if the function or an argument does not pickle; names it.
    """
    inner = fn
    while isinstance(inner, functools.partial):
        inner = inner.func
    name = getattr(inner, "__qualname__", repr(inner))
    for where, value in [("the function", fn), *enumerate(args), *kwargs.items()]:
        try:
            pickle.dumps(value)
        except Exception as error:
            if value is fn:
                raise TypeError(
                    f"{name} cannot be taken to another process: {error}. Define it at "
                    "the top level of a module, not inside another function, and pass "
                    "what it needs as arguments."
                ) from error
            raise TypeError(
                f"argument {where!r} of {name}, a {type(value).__name__}, cannot be "
                f"taken to another process: {error}. Make it inside {name}, or pass "
                "plain arrays, paths and numbers."
            ) from error
    module = inner.__module__
    found = sys.modules.get(module)
    file = getattr(found, "__file__", None)
    if module == "__main__" and file is None:
        raise TypeError(
            f"{name} is defined at a prompt or on the command line, where another "
            "process cannot import it. Put it in a file."
        )
    file = file and str(Path(file).resolve())
    return Target(pickle.dumps((fn, args, kwargs)), module, file)


def load_module(name: str, file: str | None) -> None:
    """Makes a module importable under its name, wherever pytest has found it.

    Args:
      name: the module's name; `__main__` is loaded without its main block.
      file: its file.
    """
    if file is None:
        importlib.import_module(name)
        return
    if name != "__main__":
        with contextlib.suppress(ImportError):
            there = getattr(importlib.import_module(name), "__file__", None)
            if there and Path(there).resolve() == Path(file):
                return
    # As multiprocessing does: not "__main__", so that its main block does not run.
    spec = importlib.util.spec_from_file_location(
        "__mp_main__" if name == "__main__" else name, file
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot load {name} from {file}")
    module = importlib.util.module_from_spec(spec)
    # pytest names a test's module after its folders, which need be no packages; pickle
    # asks for the first of them as well.
    parents = name.split(".")[:-1]
    for i in range(len(parents)):
        parent = ".".join(parents[: i + 1])
        try:
            importlib.import_module(parent)
        except ImportError:
            sys.modules[parent] = types.ModuleType(parent)
    sys.modules[name] = sys.modules[spec.name] = module
    spec.loader.exec_module(module)


def as_numpy(tree: Any) -> Any:
    """A result with NumPy arrays in place of jax's.

    Args:
      tree: what the function has returned.

    Returns:
      The same tree.

    Raises:
      TypeError: if an array lies on devices of other processes; names its path.
    """
    import jax  # noqa: PLC0415  (the parent sends a call without jax)
    import numpy as np  # noqa: PLC0415

    def one(path: Any, leaf: Any) -> Any:
        if not isinstance(leaf, jax.Array):
            return leaf
        if not (leaf.is_fully_addressable or leaf.is_fully_replicated):
            raise TypeError(
                f"the result{jax.tree_util.keystr(path)} is {leaf.dtype}"
                f"{list(leaf.shape)} with {leaf.sharding}: no process has all of it. "
                "Return jax.experimental.multihost_utils.process_allgather(x, "
                "tiled=True), or a sum of it."
            )
        if jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            leaf = jax.random.key_data(leaf)
        if not leaf.is_fully_addressable:
            leaf = leaf.addressable_data(0)
        return np.asarray(leaf)

    return jax.tree.map_with_path(one, tree)


def pickled_result(name: str, value: Any) -> bytes:
    """Pickles what a function has returned.

    Args:
      name: the function's name.
      value: its result.

    Returns:
      The bytes.

    Raises:
      TypeError: if the result does not pickle; names the path of what does not.
    """
    import jax  # noqa: PLC0415  (the parent sends a call without jax)

    try:
        return pickle.dumps(value)
    except Exception as whole:  # noqa: BLE001  (whatever pickling does)
        path, found, reason = (), value, whole
    for place, leaf in jax.tree.leaves_with_path(value):
        try:
            pickle.dumps(leaf)
        except Exception as error:  # noqa: BLE001
            path, found, reason = place, leaf, error
            break
    raise TypeError(
        f"the result{jax.tree_util.keystr(path)} of {name}, a {type(found).__name__}, "
        f"cannot be taken back from its process: {reason}. Return arrays, numbers, "
        "strings or containers of them."
    )

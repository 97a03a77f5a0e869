"""What a tree of arrays must look like: ranks, named dimensions, dtypes.

A batch whose axes were swapped, or a mask that has become float32, trains to nonsense
without an error. `assert_spec` says what is wanted in one line a leaf and names every
leaf that is something else.
"""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

_FORM = re.compile(
    r"(?:(?P<weak>weak )?(?P<dtype>[a-z]\w*(?:<\w+>)?)\[(?P<typed>[^\]]*)\]"
    r"|(?P<plain>[^\[\]]*))"
)
_SHORT = {"f": "float", "i": "int", "u": "uint", "bf": "bfloat", "c": "complex"}


class _Wanted(NamedTuple):
    dims: tuple[str | int, ...] | None
    dtype: str | None
    weak: bool | None
    sharding: Any = None


def assert_spec(tree: Any, spec: Any) -> dict[str, int]:
    """Asserts that each leaf has the shape and dtype that a spec says.

    Names of dimensions mean one size in the whole tree. Runs on arrays, on tracers
    inside `jit`, and on `jax.ShapeDtypeStruct`.

    Args:
      tree: a pytree of arrays.
      spec: a tree of the same structure, with at each leaf one of
        `"B T 3"`: names and sizes; `_` is any size, one `...` any number of axes;
        `"float32[B T]"` or `"f32[B T]"`: the dtype too, and no weak type;
        `"key<fry>[B]"`: typed keys, by the name of their dtype;
        `"weak float32[]"`: a weak type;
        `("B", "T", 3)` or `()`: a shape as a tuple; None is any size;
        `"..."`: anything;
        a `jax.ShapeDtypeStruct` or an array: its shape, dtype and weak type, and the
        sharding where a `ShapeDtypeStruct` has one.

    Returns:
      The size of each name.

    Raises:
      AssertionError: if the structure or a leaf differs. The message has one line a
        leaf: its path, what was found and what was wanted.
      ValueError: if a spec cannot be read: a name is an identifier, and not that of a
        dtype.

    Example:
      >>> import jax.numpy as jnp
      >>> batch = {"image": jnp.zeros((8, 28, 28)), "label": jnp.zeros(8, int)}
      >>> assert_spec(batch, {"image": "float32[B 28 28]", "label": ("B",)})
      {'B': 8}
    """
    found, treedef = jax.tree.flatten_with_path(tree)
    try:
        specs = treedef.flatten_up_to(spec)
    except ValueError as error:
        raise AssertionError(
            f"the tree and its spec differ in structure: {error}\n  the tree has "
            f"{', '.join(jax.tree_util.keystr(path) for path, _ in found)}"
        ) from error
    sizes: dict[str, tuple[int, str]] = {}
    lines = []
    for (path, leaf), one in zip(found, specs, strict=True):
        name = jax.tree_util.keystr(path) or "the leaf"
        complaint = _compare(leaf, _read(one), sizes, name)
        if complaint:
            text = one if isinstance(one, str) else _shown(one)
            lines.append(f"{name} is {_shown(leaf)}, wanted {text}: {complaint}")
    if lines:
        raise AssertionError(
            f"{len(lines)} of {len(found)} leaves are not as specified:\n  "
            + "\n  ".join(lines)
        )
    return {name: size for name, (size, _) in sizes.items()}


def _read(spec: Any) -> _Wanted:
    if isinstance(spec, str):
        form = _FORM.fullmatch(spec.strip())
        if form is None:
            raise ValueError(
                f"{spec!r} is not a spec; write 'B T 3', 'float32[B T 3]' or "
                "'weak float32[]'"
            )
        text = form["typed"] if form["plain"] is None else form["plain"]
        dims = _dims(text.replace(",", " ").split(), spec)
        dtype = form["dtype"] and _long(form["dtype"])
        return _Wanted(dims, dtype, bool(form["weak"]) if dtype else None)
    if isinstance(spec, tuple | list):
        return _Wanted(_dims(spec, spec), None, None)
    if hasattr(spec, "shape") and hasattr(spec, "dtype"):
        abstract = isinstance(spec, jax.ShapeDtypeStruct)
        sharding = spec.sharding if abstract else None
        weak = getattr(spec, "weak_type", False)
        return _Wanted(tuple(spec.shape), str(spec.dtype), weak, sharding)
    raise ValueError(
        f"{spec!r} is not a spec; wanted a string, a tuple, a ShapeDtypeStruct or an "
        "array"
    )


def _dims(dims: Sequence[Any], spec: Any) -> tuple[str | int, ...]:
    read = tuple(_dim(dim, spec) for dim in dims)
    if read.count("...") > 1:
        raise ValueError(f"{spec!r} is not a spec: it has more than one '...'")
    return read


def _dim(dim: Any, spec: Any) -> str | int:
    if dim is None:
        return "_"
    if dim is ... or dim == "...":
        return "..."
    if isinstance(dim, str) and dim.isidentifier():
        if _is_dtype(dim):
            raise ValueError(
                f"{spec!r} is not a spec: {dim!r} is a dtype, no name of a dimension; "
                f"write '{dim}[...]' for any shape of this dtype"
            )
        return dim
    if isinstance(dim, str) and dim.isdecimal():
        return int(dim)
    if isinstance(dim, int | np.integer) and not isinstance(dim, bool) and dim >= 0:
        return int(dim)
    raise ValueError(
        f"{spec!r} is not a spec: {dim!r} is no size and no name; write a name as 'B', "
        "a size as 3, '_' for any size, '...' for any axes"
    )


def _is_dtype(name: str) -> bool:
    name = _long(name)
    if name in {"int", "float", "complex"}:
        return True
    if not re.match("[a-z]{3}", name):  # NumPy's codes, as B and S1, are good names
        return False
    try:
        dtype = np.dtype(name)
    except TypeError:
        return False
    numeric = dtype.kind == "b" or jnp.issubdtype(dtype, jnp.number)
    return numeric and dtype.name == name


def _long(dtype: str) -> str:
    short = re.fullmatch(r"([a-z]{1,2})(\d+)", dtype)
    if short and short[1] in _SHORT:
        return _SHORT[short[1]] + short[2]
    return dtype


def _compare(
    leaf: Any, wanted: _Wanted, sizes: dict[str, tuple[int, str]], name: str
) -> str | None:
    shape, dtype, weak = _type(leaf)
    complaints = []
    if wanted.dims is not None:
        complaints += _dimensions(shape, wanted.dims, sizes, name)
    if wanted.dtype is not None and wanted.dtype != dtype:
        complaints.append(f"the dtype is {dtype}")
    if wanted.weak is not None and wanted.weak != weak:
        complaints.append(
            "its type is weak (a Python number's), which compiles again and promotes "
            "otherwise"
            if weak
            else "its type is not weak"
        )
    if wanted.sharding is not None:
        sharding = getattr(leaf, "sharding", None)
        if sharding is None or not wanted.sharding.is_equivalent_to(
            sharding, len(shape)
        ):
            complaints.append(f"its sharding is {sharding}")
    return "; ".join(complaints) or None


def _dimensions(
    shape: tuple[int, ...],
    dims: tuple[str | int, ...],
    sizes: dict[str, tuple[int, str]],
    name: str,
) -> list[str]:
    axes = list(range(len(shape)))
    if "..." in dims:
        gap = dims.index("...")
        behind = len(dims) - gap - 1
        if len(shape) < len(dims) - 1:
            return [f"it has {len(shape)} axes, at least {len(dims) - 1} wanted"]
        dims = dims[:gap] + dims[gap + 1 :]
        axes = axes[:gap] + axes[len(axes) - behind :]
    if len(axes) != len(dims):
        return [f"it has {len(shape)} axes, {len(dims)} wanted"]
    complaints = []
    for axis, dim in zip(axes, dims, strict=True):
        size = shape[axis]
        if str(dim).isdigit():
            if size != int(dim):
                complaints.append(f"axis {axis} is {size}")
        elif dim != "_":
            first, where = sizes.setdefault(str(dim), (size, f"{name} axis {axis}"))
            if first != size:
                complaints.append(
                    f"axis {axis} is {dim}={size}, and {where} {dim}={first}"
                )
    return complaints


def _type(leaf: Any) -> tuple[tuple[int, ...], str, bool]:
    if isinstance(leaf, jax.ShapeDtypeStruct):
        return tuple(leaf.shape), str(leaf.dtype), leaf.weak_type
    if isinstance(leaf, np.ndarray | np.generic):
        return leaf.shape, str(leaf.dtype), False
    found = jax.typeof(leaf)
    return tuple(found.shape), str(found.dtype), getattr(found, "weak_type", False)


def _shown(leaf: Any) -> str:
    if isinstance(leaf, tuple | list):
        return f"({', '.join(map(str, leaf))})"
    shape, dtype, weak = _type(leaf)
    return f"{'weak ' if weak else ''}{dtype}[{' '.join(map(str, shape))}]"

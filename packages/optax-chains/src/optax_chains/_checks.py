"""What users type, checked where it is known.

Hyperparameters may be traced, by `jax.jit`, `jax.vmap` or `optax.inject_hyperparams`:
of a traced number only the dtype is known, and it passes.
"""

import math
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from optax_chains._paths import path_of


class Range(NamedTuple):
    """Which numbers are wanted.

    Attributes:
      words: what one should type.
      holds: whether a number is one of them; it must be false of NaN.
    """

    words: str
    holds: Callable[[float], bool]


ANY = Range("a number that is finite", math.isfinite)
POSITIVE = Range("a number above 0", lambda x: x > 0)
BOUNDED = Range("a number above 0 that is finite", lambda x: 0 < x < math.inf)
NOT_NEGATIVE = Range(
    "0 or more, and a number that is finite", lambda x: 0 <= x < math.inf
)
DECAY = Range("0 or more, and below 1", lambda x: 0 <= x < 1)
# Below 0 too: negative momentum is a method for games (arXiv:1807.04740).
MOMENTUM = Range("a number between -1 and 1", lambda x: -1 < x < 1)
SHARE = Range("a number above 0, at most 1", lambda x: 0 < x <= 1)
CHANCE = Range("a number between 0 and 1", lambda x: 0 < x < 1)


def check_numbers(
    where: str,
    wanted: Range,
    /,
    *,
    traced: bool = True,
    injected: bool = False,
    **numbers: Any,
) -> None:
    """Refuses what is no number, and known numbers that are out of a range.

    Args:
      where: the function that asks.
      wanted: the range.
      traced: whether the function can do with a number that it does not know yet.
      injected: whether it makes a chain, as `optax.inject_hyperparams` does.
      **numbers: by the names of the arguments.

    Raises:
      TypeError: of bools, texts, None, arrays of several numbers, and what is traced
        and must not be.
      ValueError: of numbers out of the range.
    """
    for name, value in numbers.items():
        if not _is_number(value):
            raise TypeError(
                f"{where}: {name} is {_shown(value)}, wanted a number; type "
                f"{wanted.words}"
            )
        known = _is_known(where, name, value, traced=traced, injected=injected)
        if known and not wanted.holds(float(value)):
            raise ValueError(f"{where}: {name} is {value}; type {wanted.words}")


def check_counts(
    where: str,
    /,
    *,
    low: int = 1,
    traced: bool = False,
    injected: bool = False,
    **counts: Any,
) -> None:
    """Refuses what is no whole number, and those below a bound.

    Args:
      where: the function that asks.
      low: the least.
      traced: whether the function can do with a number that it does not know yet.
      injected: whether it makes a chain, as `optax.inject_hyperparams` does.
      **counts: by the names of the arguments.

    Raises:
      TypeError: of bools, floats, texts, None, and what is traced and must not be.
      ValueError: of whole numbers below `low`.
    """
    for name, value in counts.items():
        whole = _is_number(value) and jnp.issubdtype(_dtype(value), jnp.integer)
        if not whole:
            raise TypeError(
                f"{where}: {name} is {_shown(value)}, wanted a whole number; type "
                f"{low} or more"
            )
        known = _is_known(where, name, value, traced=traced, injected=injected)
        if known and operator.index(value) < low:
            raise ValueError(f"{where}: {name} is {value}; type {low} or more")


def check_chains(where: str, /, **chains: Any) -> None:
    """Refuses what is no optax chain, by the names of the arguments."""
    for name, chain in chains.items():
        if not (hasattr(chain, "init") and hasattr(chain, "update")):
            raise TypeError(
                f"{where}: {name} is {_shown(chain)}, wanted a chain; type one such as "
                "optax.sgd(0.1), or freeze() for what stays as it is"
            )


def check_key(where: str, key: Any) -> None:
    """Refuses what is not one key, typed or of the old form."""
    dtype = getattr(key, "dtype", None)
    typed = dtype is not None and jnp.issubdtype(dtype, jax.dtypes.prng_key)
    axes = 0 if typed else 1
    if not (typed or dtype == jnp.uint32) or jnp.ndim(key) != axes:
        raise TypeError(
            f"{where}: key is {_shown(key)}, wanted one key; type jax.random.key(seed)"
        )


def check_like(where: str, name: str, tree: Any, like_name: str, like: Any) -> None:
    """Refuses a tree whose paths or shapes are not those of another one."""
    found, wanted = shapes_of(tree), shapes_of(like)
    for path in sorted(found.keys() | wanted.keys()):
        if found.get(path) == wanted.get(path):
            continue
        if path not in found:
            cure = f"add it to {name}, as zeros where there is nothing"
        elif path not in wanted:
            cure = f"take it out of {name}"
        else:
            cure = f"hand over {name} of the shapes of {like_name}"
        raise ValueError(
            f"{where}: {name} has {_held(path, found)}, {like_name} has "
            f"{_held(path, wanted)}; {cure}"
        )


def shapes_of(tree: Any) -> dict[str, tuple[int, ...]]:
    """The shape of each leaf, by its path."""
    return {path_of(p): jnp.shape(x) for p, x in jax.tree.leaves_with_path(tree)}


def scalar_of(where: str, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function of one sample that is refused where it does not give a scalar."""

    def checked(x: Any) -> Any:
        value = function(x)
        leaves = jax.tree.leaves_with_path(value)
        if [(path, jnp.shape(leaf)) for path, leaf in leaves] != [((), ())]:
            shapes = ", ".join(str(jnp.shape(leaf)) for _, leaf in leaves)
            cure = "return one"
            if leaves:  # of several the first, as Python spells it: (x)[0]["loss"]
                place = jax.tree_util.keystr(leaves[0][0])
                cure = (
                    f"type lambda x: jnp.sum(function(x){place}), or make one call for "
                    "each output"
                )
            raise ValueError(
                f"{where}: function gives {shapes or 'nothing'} for one sample, wanted "
                f"a scalar, (); {cure}"
            )
        return value

    return checked


def _is_known(
    where: str, name: str, value: Any, *, traced: bool, injected: bool
) -> bool:
    if isinstance(value, jax.core.Tracer) and not traced:
        cure = f"static_args={name!r} in optax.inject_hyperparams"
        raise TypeError(
            f"{where}: {name} is traced, wanted a number that is known before anything "
            "is compiled; type a Python number, or "
            + (cure if injected else f"static_argnames={name!r} in jax.jit")
        )
    return not isinstance(value, jax.core.Tracer)


def _is_number(value: Any) -> bool:
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    if not plain and not hasattr(value, "dtype"):
        return False
    kinds = (jnp.integer, jnp.floating)
    return jnp.ndim(value) == 0 and any(jnp.issubdtype(_dtype(value), k) for k in kinds)


def _dtype(value: Any) -> Any:
    return getattr(value, "dtype", type(value))


def _shown(value: Any) -> str:
    if hasattr(value, "dtype") and not isinstance(value, jnp.generic):
        return f"{value.dtype}{list(value.shape)}"
    if isinstance(value, str | bytes | bool | int | float | None):
        return repr(value)
    return f"a {type(value).__name__}"


def _held(path: str, shapes: dict[str, tuple[int, ...]]) -> str:
    return f"{path!r} of shape {shapes[path]}" if path in shapes else f"no {path!r}"

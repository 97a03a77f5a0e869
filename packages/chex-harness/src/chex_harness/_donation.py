"""Whether a step really reuses the memory of what it was given."""

import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp


def assert_donated(fn: Callable[..., Any], *args: Any) -> None:
    """Asserts that a jitted function takes over every buffer that it was donated.

    A donated buffer that fits no output is kept, so that a state lies in memory twice;
    jax warns of it once, when it compiles. The function is run, on copies: `args` can
    be used afterwards. Static arguments are handed on as they are.

    Args:
      fn: a function jitted with `donate_argnums` or `donate_argnames`.
      *args: its arguments.

    Raises:
      AssertionError: if nothing is donated, or a donated leaf still lives after the
        call. The message has the path of each and the outputs that it fits none of.
      TypeError: if `fn` is not jitted.

    Example:
      >>> import jax, jax.numpy as jnp
      >>> step = jax.jit(lambda state: state + 1, donate_argnums=0)
      >>> assert_donated(step, jnp.zeros(3))
    """
    lower: Any = getattr(fn, "lower", None)
    if lower is None:
        raise TypeError(f"{fn} is not jitted; wanted jax.jit(fn, donate_argnums=...)")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Some donated buffers were not usable")
        infos, _ = lower(*args).args_info
        few = len(infos) < len(args)
        static = [few and _is_static(fn, args, i) for i in range(len(args))]
        copies = tuple(
            arg if fixed else jax.tree.map(_copy, arg)
            for arg, fixed in zip(args, static, strict=True)
        )
        out = jax.block_until_ready(fn(*copies))
    donated = jax.tree.leaves(infos, is_leaf=lambda x: hasattr(x, "donated"))
    dynamic = {i: arg for i, arg in enumerate(copies) if not static[i]}
    leaves = jax.tree.leaves_with_path(dynamic)
    if not any(info.donated for info in donated):
        raise AssertionError(
            "nothing is donated: jax.jit has neither donate_argnums nor donate_argnames"
        )
    kept = [
        f"args{jax.tree_util.keystr(path)}: {leaf.dtype}{list(leaf.shape)}"
        for (path, leaf), info in zip(leaves, donated, strict=True)
        if info.donated and not leaf.is_deleted()
    ]
    if kept:
        outputs = ", ".join(f"{x.dtype}{list(x.shape)}" for x in jax.tree.leaves(out))
        raise AssertionError(
            f"{len(kept)} donated buffers are kept:\n  " + "\n  ".join(kept) + "\n"
            "A buffer is taken over by an output of the same shape, dtype and sharding "
            f"that no other has taken, if the argument is used; outputs: {outputs}"
        )


def _is_static(fn: Callable[..., Any], args: tuple[Any, ...], i: int) -> bool:
    """Whether jax hashes an argument: arrays in its place are then refused."""
    try:
        arrays = jax.tree.map(jnp.asarray, args[i])
        jax.eval_shape(lambda: fn(*args[:i], arrays, *args[i + 1 :]))
    except TypeError:  # no array at all
        return True
    except ValueError as error:
        if "hashable static arg" not in str(error):
            raise
        return True
    return False


def _copy(leaf: Any) -> jax.Array:
    sharding = leaf.sharding if isinstance(leaf, jax.Array) else None
    if sharding is not None and not leaf.committed:
        return leaf.copy()
    return jax.device_put(leaf, sharding, may_alias=False)

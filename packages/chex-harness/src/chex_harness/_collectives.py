"""Counting what a compiled program sends between devices."""

import math
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import jax

_KINDS = ("all-gather", "all-reduce", "all-to-all", "collective-permute")
_KINDS = (*_KINDS, "collective-broadcast", "ragged-all-to-all", "reduce-scatter")
# `%x = f32[4]{0} all-reduce(...)`; asynchronous pairs count at their start.
_LINE = re.compile(
    rf"= (?P<type>.+?) (?P<kind>{'|'.join(_KINDS)})(?P<start>-start)?\((?P<rest>.*)$"
)
_ARRAY = re.compile(r"\b(pred|[a-z]+\d+\w*)\[([\d,]*)\]")


class Collective(NamedTuple):
    """One collective of a compiled program.

    Attributes:
      kind: its name, such as "all_reduce".
      type: the type of what one device gets, as XLA writes it.
      size: bytes of what one device gets.
      name: the operation in the source that it comes from, where XLA knows it.
    """

    kind: str
    type: str
    size: int
    name: str


def collectives(fn: Callable[..., Any], *args: Any) -> list[Collective]:
    """The collectives of a function, as XLA compiles it.

    Args:
      fn: a function, or a jitted one.
      *args: its arguments, laid out as they will be; `jax.ShapeDtypeStruct` with a
        sharding will do.

    Returns:
      One entry an operation of the program; one in a loop's body is one.

    Example:
      >>> import jax.numpy as jnp
      >>> collectives(jnp.sum, jnp.zeros(3))
      []
    """
    jitted: Any = fn if hasattr(fn, "lower") else jax.jit(fn)
    text = jitted.lower(*args).compile().as_text() or ""
    found = []
    for line in text.splitlines():
        match = _LINE.search(line)
        if match is None:
            continue
        type_ = match["type"]
        if match["start"] and type_.startswith("("):
            # The pair's type is (operand, result, ...); the result is what arrives.
            parts = _ARRAY.findall(type_)
            type_ = "{}[{}]".format(*parts[len(parts) // 2])
        name = re.search(r'op_name="([^"]*)"', match["rest"])
        found.append(
            Collective(
                match["kind"].replace("-", "_"),
                re.sub(r"\{[\d,]*\}", "", type_),
                _bytes(type_),
                name[1] if name else "",
            )
        )
    return found


def _bytes(type_: str) -> int:
    return sum(
        math.prod(int(n) for n in dims.split(",") if n) * _bits(dtype) // 8
        for dtype, dims in _ARRAY.findall(type_)
    )


def _bits(dtype: str) -> int:
    """The width in XLA's name of a type: f32, bf16, f8e4m3fn; a pred is a byte."""
    width = re.search(r"\d+", dtype)
    return int(width[0]) if width else 8


def assert_collectives(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    *,
    all_reduce: int = 0,
    all_gather: int = 0,
    reduce_scatter: int = 0,
    all_to_all: int = 0,
    collective_permute: int = 0,
    at_most_bytes: int | None = None,
) -> None:
    """Asserts how many collectives a step is compiled to; those not named: none.

    An all-gather that nobody wrote is how a sharded program gets slow. The counts are
    those of the program, so one in a loop counts once, and XLA may join several
    all-reduces into one: they hold for one version of jax and one backend.

    Args:
      fn: a function, or a jitted one.
      args: its arguments, laid out as they will be.
      all_reduce: how many.
      all_gather: how many.
      reduce_scatter: how many.
      all_to_all: how many, ragged ones included.
      collective_permute: how many, broadcasts included.
      at_most_bytes: a bound on the bytes that one device gets from all of them.

    Raises:
      AssertionError: if a count differs or the bytes are more; lists all collectives.

    Example:
      >>> import jax, jax.numpy as jnp
      >>> from jax.sharding import NamedSharding, PartitionSpec
      >>> mesh = jax.make_mesh((8,), ("data",))
      >>> x = jax.device_put(jnp.ones(8), NamedSharding(mesh, PartitionSpec("data")))
      >>> assert_collectives(jnp.sum, (x,), all_reduce=1, at_most_bytes=4)
    """
    wanted = {
        "all_reduce": all_reduce,
        "all_gather": all_gather,
        "reduce_scatter": reduce_scatter,
        "all_to_all": all_to_all,
        "collective_permute": collective_permute,
    }
    same = {
        "ragged_all_to_all": "all_to_all",
        "collective_broadcast": "collective_permute",
    }
    found = collectives(fn, *args)
    kinds = [same.get(c.kind, c.kind) for c in found]
    wrong = [
        f"{kind}: {kinds.count(kind)}, wanted {n}"
        for kind, n in wanted.items()
        if kinds.count(kind) != n
    ]
    size = sum(c.size for c in found)
    if at_most_bytes is not None and size > at_most_bytes:
        wrong.append(f"{size} bytes, at most {at_most_bytes} wanted")
    if wrong:
        listed = "".join(f"\n  {c.kind} {c.type} {c.name}" for c in found)
        raise AssertionError(
            f"the compiled program has other collectives: {'; '.join(wrong)}. It has"
            f"{listed or ' none.'}"
        )

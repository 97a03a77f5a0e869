"""What is known about a column as a whole, in a form that a file can keep.

Whether lists have one length, and at which levels there are nulls, decides what a
column becomes. A file that holds a part of a column must say so for all of it, or the
part would become something else than the whole. Facts in a file are only believed
where its data agree: another program may have changed them.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from arrow_jax._nodes import Lists, Node, Tensor

KEY = b"arrow_jax"


class Facts(NamedTuple):
    """What is known about a column.

    Attributes:
      axes: of a row, outermost first; None where lists differ in length.
      nulls: whether there are some, one flag a level of ragged lists, then one for
        rows of the tensor inside and one for its elements.
    """

    axes: tuple[int | None, ...]
    nulls: tuple[bool, ...]


def key_of(path: Sequence[str]) -> str:
    """Writes where a column of numbers is, for facts to be found under.

    Args:
      path: column, then the fields that lead to it.

    Returns:
      "struct.field"; dots within a name are written so that they are none.

    Example:
      >>> key_of(["a", "b"]), key_of(["a.b"])
      ('a.b', 'a%2Eb')
    """
    return ".".join(name.replace("%", "%25").replace(".", "%2E") for name in path)


def column_of(key: str) -> str:
    """Reads the column from what `key_of` wrote.

    Args:
      key: of some facts.

    Returns:
      The name of the column.
    """
    return key.split(".", maxsplit=1)[0].replace("%2E", ".").replace("%25", "%")


def facts_of(node: Node) -> Facts:
    """Reads the facts off a chunk of a prepared column.

    Args:
      node: any of its chunks.

    Returns:
      The facts.
    """
    if isinstance(node, Lists):
        inner = facts_of(node.child)
        nulls = (node.valid is not None, *inner.nulls)
        return Facts((None, *inner.axes), nulls)
    nulls = (node.valid is not None, node.inner is not None)
    return Facts(node.values.shape[1:], nulls)


def with_masks(node: Node, nulls: Sequence[bool]) -> Node:
    """Gives a chunk a mask wherever the column has nulls.

    Args:
      node: the chunk.
      nulls: see `Facts`.

    Returns:
      The chunk; masks that were not there are all true.
    """
    valid = node.valid
    if valid is None and nulls[0]:
        valid = np.ones(len(node), bool)
    if isinstance(node, Lists):
        return replace(node, valid=valid, child=with_masks(node.child, nulls[1:]))
    inner = node.inner
    if inner is None and nulls[1]:
        inner = np.ones(node.values.shape, bool)
    return Tensor(node.values, valid, inner)


def merge(parts: Iterable[Mapping[str, Facts]]) -> dict[str, Facts]:
    """Puts together what is known about parts of the same columns.

    Args:
      parts: column -> facts, one a part.

    Returns:
      What is true for all of them; axes that differ are None.
    """
    merged: dict[str, Facts] = {}
    for part in parts:
        for name, new in part.items():
            old = merged.get(name, new)
            if len(old.axes) == len(new.axes):
                merged[name] = _merge(old, new)
    return merged


def _merge(old: Facts, new: Facts) -> Facts:
    if old.axes == new.axes:
        pairs = zip(old.nulls, new.nulls, strict=True)
        return Facts(old.axes, tuple(a or b for a, b in pairs))
    n = len(old.axes)
    differ = [i for i in range(n) if old.axes[i] != new.axes[i]]
    # A tensor within ragged lists begins behind the last axis that is ragged.
    ragged = max(differ) + 1
    axes = (*[None] * ragged, *old.axes[ragged:])
    return Facts(axes, tuple(any(old.nulls + new.nulls) for _ in range(ragged + 2)))


def to_json(facts: Mapping[str, Facts]) -> bytes:
    """Writes facts for a file.

    Args:
      facts: column -> facts.

    Returns:
      JSON.
    """
    return json.dumps({n: f._asdict() for n, f in facts.items()}).encode()


def from_json(said: bytes | None) -> dict[str, Facts]:
    """Reads the facts of a file.

    Args:
      said: from `to_json`, or None.

    Returns:
      column -> facts; nothing of what can't be read.
    """
    try:
        columns = json.loads(said or b"{}")
        return {name: _checked(**facts) for name, facts in columns.items()}
    except (ValueError, TypeError, AttributeError):
        return {}


def _checked(axes: Any, nulls: Any) -> Facts:
    n_ragged = axes.count(None)
    sizes = axes[n_ragged:]
    ok = all(isinstance(a, int) and a >= 0 for a in sizes)
    if not ok or len(nulls) != n_ragged + 2:
        raise ValueError(f"no facts: {axes}, {nulls}")
    return Facts(tuple(axes), tuple(map(bool, nulls)))

"""The slots of an optimizer state: which number belongs to which name and parameter.

A state is a nest of NamedTuples whose names end in `State`, as optax writes them, in
tuples, dicts and wrappers. Where in the nest one sits depends on how the chain was
put together; what it is called, and which parameter a number belongs to, does not.
"""

from typing import Any, NamedTuple

import jax

from optax_chains._paths import path_of


class Slot(NamedTuple):
    """One leaf of a state.

    Attributes:
      kind: the name of the NamedTuple that holds it, `ScaleByAdamState`; behind the
        name of the player, `gen:ScaleByAdamState`, where there are players.
      field: its field, `mu`.
      path: the parameter it belongs to, `linear/w`; empty for a counter.
      group: the keys of the groups of `by_path` it is in, from the outermost one on.
      node: which of the NamedTuples it is in, counted through the state.
      leaf: the array.
    """

    kind: str
    field: str
    path: str
    group: tuple[str, ...]
    node: int
    leaf: Any

    @property
    def name(self) -> str:
        """What messages call it, and what users type: `ScaleByAdamState.mu`."""
        return f"{self.kind}.{self.field}"

    def __str__(self) -> str:
        """The name, with the parameter in brackets."""
        return f"{self.name}[{self.path}]" if self.path else self.name


def is_state(node: Any) -> bool:
    """Whether a node is a NamedTuple of optimizer state, and not one of parameters."""
    return hasattr(node, "_fields") and type(node).__name__.endswith("State")


def slots_of(state: Any) -> list[Slot]:
    """All slots of a state, in the order of `jax.tree.leaves`."""
    found: list[Slot] = []
    nodes = 0

    def visit(node: Any, player: str, owner: Slot) -> None:
        """Goes down through containers of states, and stops at trees of numbers."""
        nonlocal nodes
        if is_state(node):
            nodes += 1
            mine = nodes  # states inside this one count on
            kind = player + type(node).__name__
            for field in node._fields:
                place = Slot(kind, field, "", owner.group, mine, None)
                visit(getattr(node, field), player, place)
            return
        children, _ = jax.tree.flatten_with_path(node, is_leaf=is_state)
        if not any(is_state(child) for _, child in children):
            found.extend(
                owner._replace(path=path_of(key_path), leaf=leaf)
                for key_path, leaf in children
            )
            return
        for key_path, child in children:
            # Numbers beside states, in no NamedTuple: all they have is their place.
            place = owner if owner.kind else owner._replace(field=path_of(key_path))
            if owner.kind.endswith("PartitionState"):
                place = place._replace(group=(*place.group, path_of(key_path)))
            visit(child, player + _player(key_path), place)

    visit(state, "", Slot("", "", "", (), 0, None))
    return found


def _player(key_path: tuple[Any, ...]) -> str:
    """Fields of NamedTuples between states are players' names: `gen:`."""
    names = [k.name for k in key_path if isinstance(k, jax.tree_util.GetAttrKey)]
    return "".join(f"{name}:" for name in names)

"""Where in a nested state is what one looks for?"""

from typing import Any

import jax

from optax_chains._paths import path_of

_WRAPPERS = {"inner_state", "inner_states", "game_state"}


def find_states(state: Any, kinds: tuple[type, ...]) -> list[tuple[str, str, Any]]:
    """Finds all states of some kinds, those inside each other too.

    Returns:
      (name, path, state) of each: the path leads there in full, the name keeps of it
      what somebody chose - keys and fields, but no positions and no wrappers.
    """
    found = []

    def visit(node: Any, key_path: tuple[Any, ...]) -> None:
        inside = jax.tree.leaves_with_path(
            node, is_leaf=lambda n: n is not node and isinstance(n, kinds)
        )
        for below, child in inside:
            if isinstance(child, kinds) and child is not node:
                whole = (*key_path, *below)
                found.append((_name(whole), path_of(whole), child))
                visit(child, whole)

    if isinstance(state, kinds):
        found.append(("", "", state))
    visit(state, ())
    return found


def _name(key_path: tuple[Any, ...]) -> str:
    chosen = tuple(
        key
        for key in key_path
        if not isinstance(key, jax.tree_util.SequenceKey)
        and getattr(key, "name", None) not in _WRAPPERS
    )
    return path_of(chosen)

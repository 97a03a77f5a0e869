"""A parameter's name: its path in the tree, written with slashes."""

from typing import Any

import jax


def path_of(key_path: tuple[Any, ...]) -> str:
    """Writes a key path as `linear/w`: keys, fields and indices joined by slashes."""
    return jax.tree_util.keystr(key_path, simple=True, separator="/")


def paths_of(tree: Any) -> list[str]:
    """The paths of all leaves, in the order of `jax.tree.leaves`."""
    return [path_of(key_path) for key_path, _ in jax.tree.leaves_with_path(tree)]

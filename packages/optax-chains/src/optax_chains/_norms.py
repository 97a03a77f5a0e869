"""The norm of a tree, in float32 whatever the leaves are."""

from typing import Any

import jax
import jax.numpy as jnp


def global_norm(tree: Any) -> jax.Array:
    """The Euclidean norm over all leaves, float32[]; of no leaves, 0."""
    leaves = [jnp.asarray(leaf, jnp.float32) for leaf in jax.tree.leaves(tree)]
    squares = [jnp.sum(leaf * leaf) for leaf in leaves]
    return jnp.sqrt(sum(squares, jnp.zeros((), jnp.float32)))

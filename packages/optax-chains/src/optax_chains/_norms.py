"""The norm of a tree, in float32 at least, whatever the leaves are."""

from typing import Any

import jax
import jax.numpy as jnp

from optax_chains._wide import wide


def global_norm(tree: Any) -> jax.Array:
    """The Euclidean norm over all leaves, float[]; of no leaves, 0."""
    squares = [jnp.sum(leaf * leaf) for leaf in jax.tree.leaves(wide(tree))]
    return jnp.sqrt(sum(squares, jnp.zeros(())))

"""Sums of many small numbers are kept in float32 at least."""

from typing import Any

import jax
import jax.numpy as jnp


def wide(tree: Any) -> Any:
    """Every leaf as float32, or as it is where that is wider."""
    return jax.tree.map(
        lambda leaf: jnp.asarray(leaf, jnp.promote_types(leaf.dtype, jnp.float32)), tree
    )


def wide_zeros(tree: Any) -> Any:
    """Zeros of the dtypes of `wide`, sharded as the leaves are."""
    return jax.tree.map(
        lambda x: jnp.zeros_like(x, jnp.promote_types(x.dtype, jnp.float32)), tree
    )

"""Whether what is read is what was written, whatever devices it lay on then and now.

Nothing between a store and a run notices a flipped bit of a weight, and it would go
on with it.
"""

from functools import reduce
from typing import Any

import jax
import jax.numpy as jnp

_BITS = {1: jnp.uint8, 2: jnp.uint16, 4: jnp.uint32}  # bytes of an element


def checksums(tree: Any) -> dict[str, jax.Array]:
    """Sums the bits of each array, each element times an odd number of its own.

    Modulo 2**32, so in any order; no single flipped bit leaves the sum as it was.

    Args:
      tree: of arrays, sharded or not, with elements of up to 4 bytes.

    Returns:
      path -> uint32[], of each leaf.
    """
    return {
        jax.tree_util.keystr(path, simple=True, separator="/"): _sum(leaf)
        for path, leaf in jax.tree.leaves_with_path(tree)
    }


def _sum(x: jax.Array) -> jax.Array:
    if jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key):
        x = jax.random.key_data(x)
    if x.dtype == bool:
        x = x.astype(jnp.uint8)
    bits = jax.lax.bitcast_convert_type(x, _BITS[x.dtype.itemsize]).astype(jnp.uint32)
    # By axes, since a flattened array would be gathered from its devices.
    axes = (jax.lax.broadcasted_iota(jnp.uint32, x.shape, i) for i in range(x.ndim))
    place = reduce(
        lambda index, axis: index * jnp.uint32(x.shape[axis[0]]) + axis[1],
        enumerate(axes),
        jnp.uint32(0),
    )
    return jnp.sum(bits * (2 * place + 1), dtype=jnp.uint32)

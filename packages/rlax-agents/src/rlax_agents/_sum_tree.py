"""A binary tree of sums: draws among n numbers in proportion to them, in log n steps.

The tree is one array of 2 n floats, n a power of two. Node 1 is the root, node i has
the children 2 i and 2 i + 1, and the numbers are the nodes n to 2 n - 1. All of a batch
goes up or down at once.
"""

import jax
import jax.numpy as jnp
from jax import lax


def init_tree(size: int) -> jax.Array:
    """Zeros: float32[2 n] for the least power of two n that is not below size."""
    return jnp.zeros(2 * (1 << (size - 1).bit_length()), jnp.float32)


def write_tree(tree: jax.Array, indices: jax.Array, values: jax.Array) -> jax.Array:
    """Sets some of the numbers, and the sums above them anew, so no error grows.

    Args:
      tree: float32[2 n].
      indices: int32[batch], below n. Of equal ones, one wins.
      values: float32[batch], 0 or more.

    Returns:
      The tree after.
    """
    n = tree.shape[0] // 2
    nodes = n + indices
    tree = tree.at[nodes].set(values)

    def rise(_: int, carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        tree, nodes = carry
        nodes = nodes // 2
        return tree.at[nodes].set(tree[2 * nodes] + tree[2 * nodes + 1]), nodes

    return lax.fori_loop(0, n.bit_length() - 1, rise, (tree, nodes))[0]


def find_in_tree(tree: jax.Array, targets: jax.Array) -> jax.Array:
    """Finds where running sums pass the targets; never a number that is 0.

    Args:
      tree: float32[2 n], with a sum above 0.
      targets: float32[batch], from 0 to the sum.

    Returns:
      int32[batch], below n.
    """
    n = tree.shape[0] // 2

    def descend(
        _: int, carry: tuple[jax.Array, jax.Array]
    ) -> tuple[jax.Array, jax.Array]:
        nodes, targets = carry
        left = tree[2 * nodes]
        # Rounding may leave a target beyond the last number: stay where there is one.
        right = (targets >= left) & (tree[2 * nodes + 1] > 0)
        targets = targets - jnp.where(right, left, 0.0)
        return 2 * nodes + right.astype(jnp.int32), targets

    start = jnp.ones(targets.shape, jnp.int32)
    return lax.fori_loop(0, n.bit_length() - 1, descend, (start, targets))[0] - n

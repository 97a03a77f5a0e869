"""A counter of steps that stops at its largest value and does not wrap."""

import jax
import jax.numpy as jnp
import optax


def next_count(count: jax.Array) -> jax.Array:
    """The count after one more step."""
    return jnp.asarray(optax.safe_increment(count))

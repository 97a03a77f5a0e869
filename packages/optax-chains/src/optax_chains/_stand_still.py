"""Updates that change nothing, down to the last bit."""

from typing import Any

import jax
import jax.numpy as jnp


def stand_still(updates: Any) -> Any:
    """Minus zero everywhere: x + -0.0 is x, also where x is -0.0; x + 0.0 is not."""
    return jax.tree.map(lambda u: jnp.full_like(u, -0.0), updates)

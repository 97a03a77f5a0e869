"""Noise on the network, not on its actions: exploration that is true to a policy."""

from typing import Any

import jax
import jax.numpy as jnp

from rlax_agents._checks import check_range


def parameter_noise(key: jax.Array, params: Any, scale: Any) -> Any:
    """Adds independent normal noise to all parameters.

    Perturb once an episode and act with the result: its actions then differ from the
    policy's in the same way whenever it sees the same state. The networks are to have
    layer normalisation, so that one scale suits all layers.

    Args:
      key: PRNG key.
      params: pytree of arrays. Those that are no floats are kept.
      scale: standard deviation, a scalar of 0 or more; `adapt_noise_scale` finds it.

    Returns:
      The noisy parameters, with the same structure, shapes and dtypes.

    Raises:
      ArgumentError: if the scale is negative or NaN.

    Example:
      >>> import jax, jax.numpy as jnp
      >>> params = {"w": jnp.ones((2, 3)), "steps": jnp.int32(4)}
      >>> noisy = parameter_noise(jax.random.key(0), params, 0.1)
      >>> bool((noisy["w"] != params["w"]).all()), int(noisy["steps"])
      (True, 4)

    References:
      Plappert et al., 2018, Parameter Space Noise for Exploration, section 3,
      https://arxiv.org/abs/1706.01905.
    """
    check_range("parameter_noise", "scale", scale, 0.0)
    leaves, structure = jax.tree.flatten(params)
    keys = jax.random.split(key, len(leaves)) if leaves else []

    def perturb(key: jax.Array, leaf: Any) -> jax.Array:
        leaf = jnp.asarray(leaf)
        if not jnp.issubdtype(leaf.dtype, jnp.floating):
            return leaf
        noise = jax.random.normal(key, leaf.shape, leaf.dtype)
        return leaf + jnp.asarray(scale).astype(leaf.dtype) * noise

    return structure.unflatten(map(perturb, keys, leaves))


def adapt_noise_scale(
    scale: Any, distance: Any, threshold: Any, *, factor: float = 1.01
) -> jax.Array:
    """Grows the scale while the noisy policy acts too much alike, else shrinks it.

    The distance is between the actions of the policy and of the noisy one, on states
    from the replay. For continuous actions it is `sqrt(mean((a - a_noisy)^2))`, with
    the standard deviation of the action noise to imitate as threshold. For a DQN it is
    the mean KL divergence of their softmax policies, with
    `-log(1 - epsilon + epsilon / A)` to imitate epsilon-greedy.

    Args:
      scale: float scalar, the standard deviation now.
      distance: float scalar of 0 or more.
      threshold: float scalar of 0 or more.
      factor: above 1.

    Returns:
      float32, `scale * factor` where distance <= threshold, else `scale / factor`.

    Raises:
      ArgumentError: for a number out of range.

    Example:
      >>> float(adapt_noise_scale(1.0, distance=0.1, threshold=0.2))
      1.01

    References:
      Plappert et al., 2018, Parameter Space Noise for Exploration, equation 8 and
      appendix C, https://arxiv.org/abs/1706.01905.
    """
    where = "adapt_noise_scale"
    for name, value in (
        ("scale", scale),
        ("distance", distance),
        ("threshold", threshold),
    ):
        check_range(where, name, value, 0.0)
    check_range(where, "factor", factor, 1.0)
    scale = jnp.asarray(scale).astype(jnp.float32)
    return jnp.where(distance <= threshold, scale * factor, scale / factor)

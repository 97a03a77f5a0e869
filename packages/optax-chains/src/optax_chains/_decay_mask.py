"""Which parameters weight decay is for: weights, not biases and not norms."""

from typing import Any

import jax

from optax_chains._paths import path_of

_NOT_DECAYED = {"b", "bias", "scale", "offset", "gamma", "beta"}


def decay_mask(params: Any) -> Any:
    """True for the weights, False for biases and the parameters of norms.

    Decay pulls a bias or a norm's scale towards zero without limiting what the network
    can express, and costs accuracy. A leaf is a weight when it has at least two
    dimensions and its own name is none of `b`, `bias`, `scale`, `offset`, `gamma` and
    `beta`: Haiku's and Flax's names. Names count because Haiku's batch normalisation
    keeps its scale as [1, 1, 1, channels].

    Args:
      params: a pytree of arrays or `jax.ShapeDtypeStruct`.

    Returns:
      A pytree of bools of the same structure: the `mask` of `optax.adamw`, or the one
      of `optax.masked`.

    Example:
      >>> import jax.numpy as jnp
      >>> decay_mask({"linear": {"w": jnp.ones((3, 1)), "b": jnp.ones(1)}})
      {'linear': {'b': False, 'w': True}}

    References:
      Jia et al., 2018, [Highly Scalable Deep Learning Training System with
      Mixed-Precision](https://arxiv.org/abs/1807.11205), section 3.2; He et al., 2019,
      [Bag of Tricks](https://arxiv.org/abs/1812.01187), section 3.1.
    """

    def decayed(key_path: Any, leaf: Any) -> bool:
        name = path_of(key_path).rpartition("/")[2]
        return leaf.ndim >= 2 and name not in _NOT_DECAYED

    return jax.tree.map_with_path(decayed, params)


def check_mask(where: str, mask: Any) -> None:
    """Refuses False, which `optax.inject_hyperparams` makes of a function.

    It takes the function for a schedule, and calls it with the count of the steps.

    Raises:
      ValueError: if the mask is False, of which nothing would decay.
    """
    if mask is False:
        raise ValueError(
            f"{where}: mask is False, by which nothing decays; type weight_decay=0.0 "
            "for that, or, in optax.inject_hyperparams, which takes functions for "
            "schedules, static_args='mask'"
        )

"""Policy gradients: make actions more likely that turned out better than expected.

Advantages and targets come from `gae` and `lambda_returns`; no gradient flows through
them.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from rlax_agents._actor import check_acted
from rlax_agents._distributions import Policy
from rlax_agents._mean import Metrics, mean_of_steps, variance_of_steps


def policy_gradient_loss(
    pi_tm1: Policy,
    a_tm1: Any,
    adv_tm1: Any,
    *,
    entropy_cost: float = 0.0,
    weights: Any = None,
    mask_t: Any = None,
) -> tuple[jax.Array, Metrics]:
    """REINFORCE: minus the log-probability of each action times its advantage.

    Args:
      pi_tm1: a policy over states [time, batch], such as `Categorical(logits)`.
      a_tm1: int[time, batch], or float[time, batch, dimensions]: actions taken, by this
        same policy.
      adv_tm1: float[time, batch], advantages, or returns.
      entropy_cost: how much the mean entropy is subtracted from the loss.
      weights: float like adv_tm1, 0 or more: factors of the steps.
      mask_t: bool like adv_tm1: False where a step is not to matter.

    Returns:
      The loss, and as metrics `policy_loss` and `entropy`.

    Raises:
      ArgumentError: for a wrong shape, dtype or range.

    Example:
      >>> import jax.numpy as jnp
      >>> from rlax_agents import Categorical
      >>> pi, a = Categorical(jnp.zeros((2, 4))), jnp.array([0, 3])
      >>> loss, metrics = policy_gradient_loss(pi, a, jnp.array([1.0, 3.0]))
      >>> round(float(loss), 3), round(float(metrics["entropy"]), 3)
      (2.773, 1.386)

    References:
      Williams, 1992, [Simple statistical gradient-following algorithms for
      connectionist reinforcement learning](https://doi.org/10.1007/BF00992696).
    """
    acted = check_acted("policy_gradient_loss", adv_tm1=adv_tm1, mask_t=mask_t)
    adv_tm1 = lax.stop_gradient(acted.fill("adv_tm1", adv_tm1))
    pi_tm1, weights = acted.fill_policy("pi_tm1", pi_tm1), acted.weights(weights)
    log_pi = acted.log_prob("pi_tm1", pi_tm1, a_tm1)
    policy_loss = mean_of_steps(-log_pi * adv_tm1, acted.mask_t, weights)
    entropy = mean_of_steps(pi_tm1.entropy(), acted.mask_t, weights)
    loss = policy_loss - entropy_cost * entropy
    return loss, {"policy_loss": policy_loss, "entropy": entropy}


def a2c_loss(
    pi_tm1: Policy,
    a_tm1: Any,
    v_tm1: Any,
    adv_tm1: Any,
    target_tm1: Any,
    *,
    value_cost: float = 0.5,
    entropy_cost: float = 0.01,
    weights: Any = None,
    mask_t: Any = None,
) -> tuple[jax.Array, Metrics]:
    """Advantage actor-critic: a policy gradient, half squared value errors, entropy.

    Args:
      pi_tm1: a policy over states [time, batch], such as `Categorical(logits)`.
      a_tm1: int[time, batch], or float[time, batch, dimensions]: actions taken.
      v_tm1: float[time, batch], values that the network gives now.
      adv_tm1: float[time, batch], advantages, such as those of `gae`.
      target_tm1: float[time, batch], what v_tm1 should be: `adv_tm1 + v_tm1` of
        `gae`, or `lambda_returns`.
      value_cost: factor of the value loss.
      entropy_cost: factor of the entropy, which is subtracted.
      weights: float like adv_tm1, 0 or more: factors of the steps.
      mask_t: bool like adv_tm1: False where a step is not to matter.

    Returns:
      The loss, and as metrics `policy_loss`, `value_loss` (half the mean square),
      `entropy` and `explained_variance`.

    Raises:
      ArgumentError: for a wrong shape, dtype or range.

    Example:
      >>> import jax.numpy as jnp
      >>> from rlax_agents import Categorical
      >>> pi, a, one = Categorical(jnp.zeros((2, 4))), jnp.array([0, 3]), jnp.ones(2)
      >>> loss, metrics = a2c_loss(pi, a, 0 * one, one, 2 * one, entropy_cost=0.0)
      >>> round(float(loss), 3), float(metrics["value_loss"])
      (2.386, 2.0)

    References:
      Mnih et al., 2016, [Asynchronous Methods for Deep Reinforcement
      Learning](https://arxiv.org/abs/1602.01783), algorithm S3.
    """
    acted = check_acted("a2c_loss", adv_tm1=adv_tm1, mask_t=mask_t)
    adv_tm1 = lax.stop_gradient(acted.fill("adv_tm1", adv_tm1))
    target_tm1 = lax.stop_gradient(acted.fill("target_tm1", target_tm1))
    v_tm1, weights = acted.fill("v_tm1", v_tm1), acted.weights(weights)
    pi_tm1 = acted.fill_policy("pi_tm1", pi_tm1)
    log_pi = acted.log_prob("pi_tm1", pi_tm1, a_tm1)

    policy_loss = mean_of_steps(-log_pi * adv_tm1, acted.mask_t, weights)
    value_loss = mean_of_steps((target_tm1 - v_tm1) ** 2 / 2, acted.mask_t, weights)
    entropy = mean_of_steps(pi_tm1.entropy(), acted.mask_t, weights)
    return policy_loss + value_cost * value_loss - entropy_cost * entropy, {
        "policy_loss": policy_loss,
        "value_loss": value_loss,
        "entropy": entropy,
        "explained_variance": explained_variance(target_tm1, v_tm1, acted.mask_t),
    }


def explained_variance(
    target: jax.Array, v: jax.Array, mask_t: jax.Array | None
) -> jax.Array:
    """How much of the targets' variance the values explain: 1 for all, 0 for none.

    0 also where the targets are all alike, and nothing is to be explained.
    """
    target, v = lax.stop_gradient((target, v))
    spread = variance_of_steps(target, mask_t)
    left = variance_of_steps(target - v, mask_t)
    return jnp.where(spread > 0, 1 - left / jnp.where(spread > 0, spread, 1), 0)

"""Proximal policy optimisation: several small steps on the same data, kept small.

The usual order is: `gae` once for the whole batch, then for each minibatch
`normalise_advantages`, `ppo_loss` and a step of the optimiser.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from rlax_agents._actor import check_acted
from rlax_agents._checks import ArgumentError, check_float, check_mask, check_range
from rlax_agents._distributions import Policy
from rlax_agents._mean import Metrics, mean_of_steps, widen
from rlax_agents._policy_gradient import explained_variance
from rlax_agents._recurrence import fill_masked


def ppo_loss(  # noqa: PLR0917 (policy, actions, then what was seen)
    pi_tm1: Policy,
    a_tm1: Any,
    log_mu_tm1: Any,
    v_tm1: Any,
    adv_tm1: Any,
    target_tm1: Any,
    *,
    clip_epsilon: float = 0.2,
    value_cost: float = 0.5,
    entropy_cost: float = 0.01,
    kl_cost: float = 0.0,
    mu_tm1: Policy | None = None,
    clip_value: float | None = None,
    v_mu_tm1: Any = None,
    weights: Any = None,
    mask_t: Any = None,
) -> tuple[jax.Array, Metrics]:
    """PPO: a clipped policy loss, half squared value errors, entropy, and KL if asked.

    Advantages are taken as they are; see `normalise_advantages`.

    Args:
      pi_tm1: the policy as it is now, over states [time, batch] or [batch].
      a_tm1: int or float, actions taken.
      log_mu_tm1: float like adv_tm1, log-probabilities (not probabilities, not logits)
        that the actions had when they were taken.
      v_tm1: float like adv_tm1, values that the network gives now.
      adv_tm1: float[time, batch] or of any steps, advantages.
      target_tm1: like adv_tm1, what v_tm1 should be: advantages (before they are
        normalised) plus the values of acting time.
      clip_epsilon: how far the ratio of probabilities may leave 1 and still gain;
        infinity for no clipping.
      value_cost: factor of the value loss.
      entropy_cost: factor of the entropy, which is subtracted.
      kl_cost: factor of the divergence from the policy of acting time to this one.
      mu_tm1: the policy of acting time, for an exact divergence; without it, it is
        estimated from the actions, without bias.
      clip_value: how far v_tm1 may leave v_mu_tm1 and still gain, or None.
      v_mu_tm1: like adv_tm1, values of acting time; needed with clip_value alone.
      weights: float like adv_tm1, 0 or more: factors of the steps.
      mask_t: bool like adv_tm1: False where a step is not to matter.

    Returns:
      The loss, and as metrics `policy_loss`, `value_loss`, `entropy`, `approx_kl`,
      `clip_fraction` and `explained_variance`.

    Raises:
      ArgumentError: for a wrong shape, dtype or range, or if clip_value has no
        v_mu_tm1 to be around.

    Example:
      >>> import jax.numpy as jnp
      >>> from rlax_agents import Categorical
      >>> pi, a, one = Categorical(jnp.zeros((2, 4))), jnp.array([0, 3]), jnp.ones(2)
      >>> log_mu = jnp.log(jnp.array([0.25, 0.125]))
      >>> loss, metrics = ppo_loss(pi, a, log_mu, 0 * one, one, 2 * one)
      >>> round(float(metrics["policy_loss"]), 3), float(metrics["clip_fraction"])
      (-1.1, 0.5)

    References:
      Schulman et al., 2017, [Proximal Policy Optimization
      Algorithms](https://arxiv.org/abs/1707.06347), equations 7 to 9; the estimate of
      the divergence is that of [Schulman, 2020](http://joschu.net/blog/kl-approx.html).
    """
    where = "ppo_loss"
    check_range(where, "clip_epsilon", clip_epsilon, 0.0)
    check_range(where, "clip_value", clip_value, 0.0)
    acted = check_acted(where, adv_tm1=adv_tm1, mask_t=mask_t)
    adv_tm1 = lax.stop_gradient(acted.fill("adv_tm1", adv_tm1))
    target_tm1 = lax.stop_gradient(acted.fill("target_tm1", target_tm1))
    v_tm1, weights = acted.fill("v_tm1", v_tm1), acted.weights(weights)
    pi_tm1 = acted.fill_policy("pi_tm1", pi_tm1)
    log_mu_tm1 = acted.behaviour(pi_tm1, log_mu_tm1)
    mask_t = acted.mask_t

    log_ratio = acted.log_prob("pi_tm1", pi_tm1, a_tm1) - log_mu_tm1
    ratio = jnp.exp(log_ratio)
    clipped = jnp.clip(ratio, 1 - clip_epsilon, 1 + clip_epsilon)
    gain_t = jnp.minimum(ratio * adv_tm1, clipped * adv_tm1)
    policy_loss = mean_of_steps(-gain_t, mask_t, weights)

    loss_t = (target_tm1 - v_tm1) ** 2
    if clip_value is not None:
        if v_mu_tm1 is None:
            raise ArgumentError(
                f"{where}: clip_value is {clip_value}, and v_mu_tm1 is None; wanted "
                f"values of acting time; type v_mu_tm1=, or clip_value=None"
            )
        v_mu_tm1 = lax.stop_gradient(acted.fill("v_mu_tm1", v_mu_tm1))
        near = v_mu_tm1 + jnp.clip(v_tm1 - v_mu_tm1, -clip_value, clip_value)
        loss_t = jnp.maximum(loss_t, (target_tm1 - near) ** 2)
    value_loss = mean_of_steps(loss_t / 2, mask_t, weights)

    entropy = mean_of_steps(pi_tm1.entropy(), mask_t, weights)
    # Not below zero anywhere, and less noisy than -log_ratio, which has the same mean.
    kl_t = ratio - 1 - log_ratio
    approx_kl = lax.stop_gradient(mean_of_steps(kl_t, mask_t))
    loss = policy_loss + value_cost * value_loss - entropy_cost * entropy
    if mu_tm1 is not None:
        kl_t = lax.stop_gradient(acted.fill_policy("mu_tm1", mu_tm1)).kl(pi_tm1)
    if mu_tm1 is not None or isinstance(kl_cost, jax.Array) or kl_cost:
        loss += kl_cost * mean_of_steps(kl_t, mask_t, weights)
    return loss, {
        "policy_loss": policy_loss,
        "value_loss": value_loss,
        "entropy": entropy,
        "approx_kl": approx_kl,
        "clip_fraction": mean_of_steps(jnp.abs(ratio - 1) > clip_epsilon, mask_t),
        "explained_variance": explained_variance(target_tm1, v_tm1, mask_t),
    }


def normalise_advantages(
    adv_tm1: Any, *, mask_t: Any = None, axis_name: str | tuple[str, ...] | None = None
) -> jax.Array:
    """Shifts and scales advantages to mean 0 and standard deviation 1 over all steps.

    The traps, and what happens in them: masked steps do not count and yield 0.
    Advantages that differ by rounding alone yield 0, and not rounding errors blown up
    to 1. A single step has no spread; its advantage stays as it is. Statistics are
    those of the whole array, never of one axis; under jit with sharded arrays that is
    the global batch. Inside `shard_map`, name the mesh axes that split the batch.

    Args:
      adv_tm1: float[time, batch], or of any shape.
      mask_t: bool like adv_tm1: False where a step is not to matter.
      axis_name: the mesh axes over which the batch is split, in `shard_map` or `vmap`.

    Returns:
      float like adv_tm1.

    Raises:
      ArgumentError: for a wrong shape or dtype.

    Example:
      >>> import jax.numpy as jnp
      >>> normalise_advantages(jnp.array([1.0, 3.0])).tolist()
      [-1.0, 1.0]
      >>> normalise_advantages(jnp.full(3, 0.1)).tolist()
      [0.0, 0.0, 0.0]
      >>> normalise_advantages(jnp.array([7.0])).tolist()
      [7.0]
    """
    where = "normalise_advantages"
    adv_tm1 = check_float(where, "adv_tm1", adv_tm1)
    mask_t = check_mask(where, "mask_t", mask_t, adv_tm1.shape, like="adv_tm1")
    counts = jnp.ones(adv_tm1.shape, bool) if mask_t is None else mask_t
    x = widen(fill_masked(adv_tm1, mask_t))

    def total(values: jax.Array) -> jax.Array:
        summed = values.sum()
        return summed if axis_name is None else lax.psum(summed, axis_name)

    def largest(values: jax.Array) -> jax.Array:
        found = lax.stop_gradient(values.max(initial=0))
        return found if axis_name is None else lax.pmax(found, axis_name)

    # In units of the largest, so that squares of any size are numbers.
    size = largest(jnp.abs(x))
    scaled = x / jnp.where(size > 0, size, 1)
    n = total(counts.astype(x.dtype))
    mean = total(scaled) / jnp.maximum(n, 1)
    centred = fill_masked(scaled - mean, counts)
    variance = total(centred**2) / jnp.maximum(n, 1)
    # What rounding leaves of equal numbers.
    varies = variance > (8 * float(jnp.finfo(adv_tm1.dtype).eps)) ** 2
    unit = centred * lax.rsqrt(jnp.where(varies, variance, 1))
    return jnp.where(n == 1, x, jnp.where(varies, unit, 0)).astype(adv_tm1.dtype)

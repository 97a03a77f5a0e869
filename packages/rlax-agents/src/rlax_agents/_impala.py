"""IMPALA: an actor-critic that learns from what somewhat older policies did."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from rlax_agents._actor import check_acted
from rlax_agents._distributions import Policy
from rlax_agents._mean import Metrics, mean_of_steps
from rlax_agents._policy_gradient import explained_variance
from rlax_agents._recurrence import Method
from rlax_agents._vtrace import vtrace


def impala_loss(  # noqa: PLR0917 (policy, actions, then what was seen)
    pi_tm1: Policy,
    a_tm1: Any,
    log_mu_tm1: Any,
    v_tm1: Any,
    v_t: Any,
    r_t: Any,
    discount_t: Any,
    *,
    lambda_: Any = 1.0,
    clip_rho: float = 1.0,
    clip_pg_rho: float = 1.0,
    value_cost: float = 0.5,
    entropy_cost: float = 0.01,
    truncated_t: Any = None,
    weights: Any = None,
    mask_t: Any = None,
    time_axis: int = 0,
    method: Method = "scan",
) -> tuple[jax.Array, Metrics]:
    """V-trace actor-critic: policy gradient, half squared value errors, entropy.

    The paper sums over a trajectory; this is the mean over steps, so that costs and
    learning rates do not depend on its length.

    Args:
      pi_tm1: the policy as it is now, over states [time, batch].
      a_tm1: int or float, actions taken.
      log_mu_tm1: float[time, batch], log-probabilities (not probabilities, not logits)
        that the actions had when they were taken.
      v_tm1: float[time, batch], values of the states that were acted in.
      v_t: the same shape, values of the states that the steps led to.
      r_t: the same shape, rewards.
      discount_t: the same shape, in [0, 1].
      lambda_: in [0, 1], a number or an array like r_t.
      clip_rho: most that a ratio of probabilities counts in a one-step error.
      clip_pg_rho: most that a ratio counts in an advantage.
      value_cost: factor of the value loss.
      entropy_cost: factor of the entropy, which is subtracted.
      truncated_t: bool like r_t: cut short here, bootstrap from this step's v_t.
      weights: float like r_t, 0 or more: factors of the steps.
      mask_t: bool like r_t: False where a step is not to matter.
      time_axis: 0 for [time, batch], 1 for [batch, time].
      method: `"scan"` or `"associative_scan"`.

    Returns:
      The loss, and as metrics `policy_loss`, `value_loss` (half the mean square),
      `entropy`, `approx_kl`, `clip_fraction` (of ratios above clip_rho) and
      `explained_variance`.

    Raises:
      ArgumentError: for a wrong shape, dtype or range.

    Example:
      >>> import jax.numpy as jnp
      >>> from rlax_agents import Categorical
      >>> pi, a = Categorical(jnp.zeros((3, 1, 2))), jnp.zeros((3, 1), int)
      >>> one = jnp.ones((3, 1))
      >>> loss, metrics = impala_loss(
      ...     pi, a, pi.log_prob(a), 0 * one, 0 * one, one, 0 * one
      ... )
      >>> float(metrics["value_loss"]), float(metrics["approx_kl"])
      (0.5, 0.0)

    References:
      Espeholt et al., 2018, [IMPALA](https://arxiv.org/abs/1802.01561), section 4.
    """
    acted = check_acted("impala_loss", r_t=r_t, mask_t=mask_t)
    r_t, v_tm1 = acted.fill("r_t", r_t), acted.fill("v_tm1", v_tm1)
    v_t, discount_t = acted.fill("v_t", v_t), acted.fill("discount_t", discount_t)
    pi_tm1, weights = acted.fill_policy("pi_tm1", pi_tm1), acted.weights(weights)
    log_mu_tm1 = acted.behaviour(pi_tm1, log_mu_tm1)
    log_pi = acted.log_prob("pi_tm1", pi_tm1, a_tm1)
    log_rho = lax.stop_gradient(log_pi) - log_mu_tm1
    rho_tm1 = jnp.exp(log_rho)
    trace = vtrace(
        *(v_tm1, v_t, r_t, discount_t, rho_tm1),
        lambda_=lambda_,
        clip_rho=clip_rho,
        clip_pg_rho=clip_pg_rho,
        truncated_t=truncated_t,
        mask_t=acted.mask_t,
        time_axis=time_axis,
        method=method,
    )
    mask_t = acted.mask_t
    policy_loss = mean_of_steps(-log_pi * trace.advantages, mask_t, weights)
    value_loss = mean_of_steps(trace.errors**2 / 2, mask_t, weights)
    entropy = mean_of_steps(pi_tm1.entropy(), mask_t, weights)
    return policy_loss + value_cost * value_loss - entropy_cost * entropy, {
        "policy_loss": policy_loss,
        "value_loss": value_loss,
        "entropy": entropy,
        "approx_kl": mean_of_steps(rho_tm1 - 1 - log_rho, mask_t),
        "clip_fraction": mean_of_steps(rho_tm1 > clip_rho, mask_t),
        "explained_variance": explained_variance(trace.targets, v_tm1, mask_t),
    }

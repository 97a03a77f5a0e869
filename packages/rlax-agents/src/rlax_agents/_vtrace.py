"""V-trace: values and advantages of one policy from what another one did.

Notation, axes, truncation and masks are those of the returns on policy.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from rlax_agents._checks import check_floats, check_range
from rlax_agents._recurrence import (
    Method,
    cut,
    find_steps,
    last_step,
    next_step,
    solve_backwards,
)
from rlax_agents._returns import check_lambda


class VTrace(NamedTuple):
    """What V-trace says of each step; every field is a float like r_t.

    Attributes:
      errors: targets less v_tm1; the gradient of half their square moves the values.
      targets: for v_tm1.
      q_estimates: of the actions taken.
      advantages: of the actions taken, with the clipped ratio: for the policy.
    """

    errors: jax.Array
    targets: jax.Array
    q_estimates: jax.Array
    advantages: jax.Array


def vtrace(
    v_tm1: Any,
    v_t: Any,
    r_t: Any,
    discount_t: Any,
    rho_tm1: Any,
    *,
    lambda_: Any = 1.0,
    clip_rho: float = 1.0,
    clip_pg_rho: float = 1.0,
    truncated_t: Any = None,
    mask_t: Any = None,
    time_axis: int = 0,
    method: Method = "scan",
    stop_target_gradients: bool = True,
) -> VTrace:
    """V-trace targets and advantages, from clipped importance ratios.

    Masks cut: a step before a masked one bootstraps from its own v_t. (rlax skips
    masked steps instead; the two agree where the mask only ends a sequence.)

    Args:
      v_tm1: float[time, batch], values of the states that were acted in.
      v_t: the same shape, values of the states that the steps led to.
      r_t: the same shape, rewards.
      discount_t: the same shape, in [0, 1].
      rho_tm1: the same shape, pi(a|s) / mu(a|s), 0 or more.
      lambda_: in [0, 1], a number or an array like r_t.
      clip_rho: most that a ratio counts in a one-step error.
      clip_pg_rho: most that a ratio counts in an advantage.
      truncated_t: bool like r_t: cut short here, bootstrap from this step's v_t.
      mask_t: bool like r_t: False where a step is not to matter.
      time_axis: 0 for [time, batch], 1 for [batch, time].
      method: `"scan"` or `"associative_scan"`.
      stop_target_gradients: whether gradients flow through v_tm1 of the errors only.

    Returns:
      Errors, targets, action values and advantages.

    Raises:
      ArgumentError: for a wrong shape, dtype or range.

    Example:
      >>> import jax.numpy as jnp
      >>> v, rho = jnp.zeros(3), jnp.full(3, 2.0)
      >>> vtrace(v, v, jnp.ones(3), jnp.full(3, 0.5), rho).targets.tolist()
      [1.75, 1.5, 1.0]

    References:
      Espeholt et al., 2018, [IMPALA](https://arxiv.org/abs/1802.01561), equation 1
      and section 4.2.
    """
    where = "vtrace"
    v_tm1, v_t, r_t, discount_t, rho_tm1 = check_floats(
        where, v_tm1=v_tm1, v_t=v_t, r_t=r_t, discount_t=discount_t, rho_tm1=rho_tm1
    )
    steps = find_steps(
        where, r_t, truncated_t=truncated_t, mask_t=mask_t, time_axis=time_axis
    )
    check_range(where, "discount_t", discount_t, 0.0, 1.0, mask=steps.mask_t)
    check_range(where, "rho_tm1", rho_tm1, 0.0, mask=steps.mask_t)
    check_range(where, "clip_rho", clip_rho, 0.0)
    check_range(where, "clip_pg_rho", clip_pg_rho, 0.0)
    lambda_ = check_lambda(where, lambda_, r_t, mask=steps.mask_t)
    v_tm1, v_t, r_t, discount_t, rho_tm1, lambda_ = steps.fill(
        v_tm1, v_t, r_t, discount_t, rho_tm1, lambda_
    )

    def coefficients(*arrays: Any) -> tuple[jax.Array, jax.Array]:
        v, v_next, r, discount, rho, mix, goes_on = arrays
        delta = jnp.minimum(rho, clip_rho) * (r + discount * v_next - v)
        return delta, discount * cut(mix, goes_on) * jnp.minimum(rho, 1.0)

    axis = steps.time_axis
    errors = solve_backwards(
        coefficients,
        [v_tm1, v_t, r_t, discount_t, rho_tm1, lambda_, steps.continues_t],
        jnp.zeros_like(last_step(r_t, time_axis=axis)),
        time_axis=axis,
        method=method,
    )
    targets = errors + v_tm1
    lambda_t = steps.cut(jnp.broadcast_to(lambda_, r_t.shape))
    later = next_step(targets, last_step(v_t, time_axis=axis), time_axis=axis)
    q = r_t + discount_t * ((1 - lambda_t) * v_t + lambda_t * later)
    advantages = jnp.minimum(rho_tm1, clip_pg_rho) * (q - v_tm1)
    if stop_target_gradients:
        targets, q, advantages = lax.stop_gradient((targets, q, advantages))
        errors = targets - v_tm1
    return VTrace(errors, targets, q, advantages)

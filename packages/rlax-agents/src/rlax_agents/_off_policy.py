"""Returns of action values from what another policy did: Retrace and its kin.

Notation, axes, truncation and masks are those of the returns on policy.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from rlax_agents._checks import (
    ArgumentError,
    check_actions,
    check_float,
    check_floats,
    check_probabilities,
    check_range,
    check_shape,
)
from rlax_agents._recurrence import (
    Method,
    cut,
    find_steps,
    last_step,
    next_step,
    solve_backwards,
)
from rlax_agents._returns import Flags, check_lambda, mix_returns


def general_off_policy_returns(
    q_t: Any,
    v_t: Any,
    r_t: Any,
    discount_t: Any,
    c_t: Any,
    *,
    truncated_t: Any = None,
    mask_t: Any = None,
    time_axis: int = 0,
    method: Method = "scan",
    stop_target_gradients: bool = True,
) -> jax.Array:
    """Returns with a trace: `G = r + discount (v - c q + c G')`.

    Retrace, Tree-backup, Q(lambda) with corrections and importance sampling are all
    this, with their own c. At the last step `G = r + discount v`.

    Args:
      q_t: float[time, batch], values of the actions taken next.
      v_t: the same shape, expected values under the policy that is learned.
      r_t: the same shape, rewards.
      discount_t: the same shape, in [0, 1].
      c_t: the same shape, trace coefficients of the actions taken next.
      truncated_t: bool like r_t: cut short here, bootstrap from this step's v_t.
      mask_t: bool like r_t: False where a step is not to matter.
      time_axis: 0 for [time, batch], 1 for [batch, time].
      method: `"scan"` or `"associative_scan"`.
      stop_target_gradients: whether no gradient flows through the result.

    Returns:
      float, like r_t.

    Raises:
      ArgumentError: for a wrong shape, dtype or range.

    Example:
      >>> import jax.numpy as jnp
      >>> one, half = jnp.ones(2), jnp.full(2, 0.5)
      >>> general_off_policy_returns(one, one, one, half, one).tolist()
      [1.75, 1.5]

    References:
      Munos et al., 2016, [Safe and Efficient Off-Policy Reinforcement
      Learning](https://arxiv.org/abs/1606.02647), equation 3.
    """
    flags = Flags(truncated_t, mask_t, time_axis, method, stop_target_gradients)
    where = "general_off_policy_returns"
    return trace_returns(where, q_t, v_t, r_t, discount_t, c_t, flags)


def retrace(  # noqa: PLR0917 (the order of rlax's arguments)
    q_tm1: Any,
    q_t: Any,
    a_tm1: Any,
    a_t: Any,
    r_t: Any,
    discount_t: Any,
    pi_t: Any,
    mu_t: Any,
    *,
    lambda_: Any = 0.95,
    truncated_t: Any = None,
    mask_t: Any = None,
    time_axis: int = 0,
    method: Method = "scan",
) -> jax.Array:
    """Retrace errors: off-policy targets with traces cut at 1, less the values.

    Args:
      q_tm1: float[time, batch, actions], values where the agent acted.
      q_t: the same shape, values of where the steps led, by the target network.
      a_tm1: int[time, batch], actions taken.
      a_t: int[time, batch], actions taken next.
      r_t: float[time, batch], rewards.
      discount_t: float[time, batch], in [0, 1].
      pi_t: float[time, batch, actions], probabilities under the learned policy.
      mu_t: float[time, batch], probability with which a_t was taken.
      lambda_: in [0, 1], a number or an array like r_t.
      truncated_t: bool like r_t: cut short here, bootstrap from this step's v_t.
      mask_t: bool like r_t: False where a step is not to matter.
      time_axis: 0 for [time, batch], 1 for [batch, time].
      method: `"scan"` or `"associative_scan"`.

    Returns:
      float, like r_t: target less q_tm1[a_tm1]; gradients flow through the latter only.

    Raises:
      ArgumentError: for a wrong shape, dtype or range.

    Example:
      >>> import jax.numpy as jnp
      >>> q, a, one = jnp.zeros((2, 1, 2)), jnp.zeros((2, 1), int), jnp.ones((2, 1))
      >>> pi = jnp.full((2, 1, 2), 0.5)
      >>> retrace(q, q, a, a, one, one, pi, 0.5 * one, lambda_=1.0)[:, 0].tolist()
      [2.0, 1.0]

    References:
      Munos et al., 2016, [Safe and Efficient Off-Policy Reinforcement
      Learning](https://arxiv.org/abs/1606.02647).
    """
    where = "retrace"
    q_tm1, q_t, pi_t = check_floats(where, q_tm1=q_tm1, q_t=q_t, pi_t=pi_t)
    check_actions_axis(where, "q_tm1", q_tm1)
    r_t, discount_t, mu_t = check_floats(
        where, r_t=r_t, discount_t=discount_t, mu_t=mu_t
    )
    n, shape = q_tm1.shape[-1], q_tm1.shape[:-1]
    check_shape(where, "r_t", r_t, shape, like="q_tm1 without its last axis")
    steps = find_steps(
        where, r_t, truncated_t=truncated_t, mask_t=mask_t, time_axis=time_axis
    )
    mask = steps.mask_t
    a_tm1 = check_actions(where, "a_tm1", a_tm1, shape, n=n, like="r_t", mask=mask)
    a_t = check_actions(where, "a_t", a_t, shape, n=n, like="r_t", mask=mask)
    check_range(where, "mu_t", mu_t, 0.0, 1.0, mask=mask)
    check_probabilities(where, "pi_t", pi_t, mask=mask)
    lambda_ = check_lambda(where, lambda_, r_t, mask=mask)
    q_tm1, q_t, pi_t, mu_t = steps.fill(q_tm1, q_t, pi_t, mu_t)
    # An action that was never taken has no ratio: 0 of 0 counts as 0, more as clipped.
    pi_a_t = pick(pi_t, a_t)
    mu_t = mu_t.astype(pi_a_t.dtype)
    clipped = (pi_a_t > 0).astype(pi_a_t.dtype)
    ratio = jnp.where(pi_a_t < mu_t, pi_a_t / jnp.where(mu_t > 0, mu_t, 1), clipped)
    c_t = lambda_ * ratio.astype(r_t.dtype)
    v_t, flags = (pi_t * q_t).sum(-1), Flags(truncated_t, mask, time_axis, method)
    targets = trace_returns(where, pick(q_t, a_t), v_t, r_t, discount_t, c_t, flags)
    return targets - pick(q_tm1, a_tm1)


def q_lambda(
    q_tm1: Any,
    a_tm1: Any,
    r_t: Any,
    discount_t: Any,
    q_t: Any,
    *,
    lambda_: Any = 0.95,
    truncated_t: Any = None,
    mask_t: Any = None,
    time_axis: int = 0,
    method: Method = "scan",
) -> jax.Array:
    """Q(lambda) errors: Peng's, or Watkins' where lambda is 0 off the greedy path.

    Args:
      q_tm1: float[time, batch, actions], values where the agent acted.
      a_tm1: int[time, batch], actions taken.
      r_t: float[time, batch], rewards.
      discount_t: float[time, batch], in [0, 1].
      q_t: like q_tm1, values of where the steps led.
      lambda_: in [0, 1], a number or an array like r_t.
      truncated_t: bool like r_t: cut short here, bootstrap from this step's q_t.
      mask_t: bool like r_t: False where a step is not to matter.
      time_axis: 0 for [time, batch], 1 for [batch, time].
      method: `"scan"` or `"associative_scan"`.

    Returns:
      float, like r_t: target less q_tm1[a_tm1]; gradients flow through the latter only.

    Raises:
      ArgumentError: for a wrong shape, dtype or range.

    Example:
      >>> import jax.numpy as jnp
      >>> q, a, one = jnp.zeros((2, 1, 3)), jnp.zeros((2, 1), int), jnp.ones((2, 1))
      >>> q_lambda(q, a, one, one, q, lambda_=1.0)[:, 0].tolist()
      [2.0, 1.0]

    References:
      Peng and Williams, 1994, Incremental Multi-Step Q-Learning; Watkins, 1989,
      Learning from Delayed Rewards.
    """
    where = "q_lambda"
    q_tm1, q_t = check_floats(where, q_tm1=q_tm1, q_t=q_t)
    check_actions_axis(where, "q_tm1", q_tm1)
    r_t = check_float(where, "r_t", r_t)
    n, shape = q_tm1.shape[-1], q_tm1.shape[:-1]
    check_shape(where, "r_t", r_t, shape, like="q_tm1 without its last axis")
    steps = find_steps(
        where, r_t, truncated_t=truncated_t, mask_t=mask_t, time_axis=time_axis
    )
    a_tm1 = check_actions(
        where, "a_tm1", a_tm1, shape, n=n, like="r_t", mask=steps.mask_t
    )
    q_tm1, q_t = steps.fill(q_tm1, q_t)
    flags = Flags(truncated_t, mask_t, time_axis, method)
    targets = mix_returns(where, r_t, discount_t, q_t.max(-1), lambda_, flags)
    return targets - pick(q_tm1, a_tm1)


def trace_returns(  # noqa: PLR0917 (as mix_returns)
    where: str, q_t: Any, v_t: Any, r_t: Any, discount_t: Any, c_t: Any, flags: Flags
) -> jax.Array:
    """`general_off_policy_returns` for the function of that name."""
    q_t, v_t, r_t, discount_t, c_t = check_floats(
        where, q_t=q_t, v_t=v_t, r_t=r_t, discount_t=discount_t, c_t=c_t
    )
    steps = find_steps(
        where,
        r_t,
        truncated_t=flags.truncated_t,
        mask_t=flags.mask_t,
        time_axis=flags.time_axis,
    )
    check_range(where, "discount_t", discount_t, 0.0, 1.0, mask=steps.mask_t)
    q_t, v_t, r_t, discount_t, c_t = steps.fill(q_t, v_t, r_t, discount_t, c_t)
    axis = steps.time_axis

    def coefficients(*arrays: Any) -> tuple[jax.Array, jax.Array]:
        q, v, r, discount, c, goes_on = arrays
        q, c = cut(q, goes_on), cut(c, goes_on)
        return r + discount * (v - c * q), discount * c

    # No action follows the last step, so nothing that is said of it matters.
    end = jnp.zeros_like(last_step(r_t, time_axis=axis))
    leads_on = next_step(jnp.ones_like(r_t), end, time_axis=axis) > 0
    if steps.continues_t is not None:
        leads_on &= steps.continues_t
    returns = solve_backwards(
        coefficients,
        [q_t, v_t, r_t, discount_t, c_t, leads_on],
        end,
        time_axis=axis,
        method=flags.method,
    )
    return lax.stop_gradient(returns) if flags.stop_target_gradients else returns


def check_actions_axis(where: str, name: str, q: jax.Array) -> None:
    """Raises unless there is an axis of actions behind one of time."""
    if q.ndim < 2 or not q.shape[-1]:
        raise ArgumentError(
            f"{where}: {name} has shape {q.shape}, wanted [time, batch, actions]"
        )


def pick(values: jax.Array, a: jax.Array) -> jax.Array:
    """The entry of the last axis that each action names; those beyond are clipped."""
    return jnp.take_along_axis(values, a[..., None], axis=-1, mode="clip")[..., 0]

"""Returns and advantages of the policy that acted, for whole batches of sequences.

One notation throughout: the agent is at `t-1` with value `v_tm1`, acts, and receives
reward `r_t`, discount `discount_t` (0 where the episode ended) and arrives at a state
of value `v_t`. All arrays have the same shape, with time on `time_axis`: 0 for
[time, batch], 1 for [batch, time], and any number of further axes.

`v_t` is the value of the state that the step truly led to. Where an episode was cut
short (`truncated_t`), that is the state before the reset, so the return bootstraps from
it and nothing of the next episode leaks in. Masked steps (`mask_t` False) yield zero
and nothing depends on them.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from rlax_agents._checks import (
    as_array,
    check_count,
    check_float,
    check_floats,
    check_range,
    check_shape,
)
from rlax_agents._recurrence import (
    Method,
    accumulator,
    cut,
    find_steps,
    last_step,
    solve_backwards,
)


def lambda_returns(
    r_t: Any,
    discount_t: Any,
    v_t: Any,
    *,
    lambda_: Any = 1.0,
    truncated_t: Any = None,
    mask_t: Any = None,
    time_axis: int = 0,
    method: Method = "scan",
    stop_target_gradients: bool = True,
) -> jax.Array:
    """Returns that mix those of all lengths: `G = r + discount ((1-l) v + l G')`.

    Targets for values learned on policy. lambda 0 is one step, 1 the whole sequence.

    Args:
      r_t: float[time, batch], rewards.
      discount_t: the same shape, in [0, 1].
      v_t: the same shape, values of the states that the steps led to.
      lambda_: in [0, 1], a number or an array like r_t.
      truncated_t: bool like r_t: cut short here, bootstrap from this step's v_t.
      mask_t: bool like r_t: False where a step is not to matter.
      time_axis: 0 for [time, batch], 1 for [batch, time].
      method: `"scan"` or `"associative_scan"`, see `Method`.
      stop_target_gradients: whether no gradient flows through the result.

    Returns:
      float, like r_t.

    Raises:
      ArgumentError: for a wrong shape, dtype or range.

    Example:
      >>> import jax.numpy as jnp
      >>> r_t, discount_t, v_t = jnp.ones(3), jnp.full(3, 0.5), jnp.zeros(3)
      >>> lambda_returns(r_t, discount_t, v_t).tolist()
      [1.75, 1.5, 1.0]

    References:
      Sutton and Barto, 2018, Reinforcement Learning, equation 12.2.
    """
    flags = Flags(truncated_t, mask_t, time_axis, method, stop_target_gradients)
    return mix_returns("lambda_returns", r_t, discount_t, v_t, lambda_, flags)


def discounted_returns(
    r_t: Any,
    discount_t: Any,
    v_t: Any = 0.0,
    *,
    truncated_t: Any = None,
    mask_t: Any = None,
    time_axis: int = 0,
    method: Method = "scan",
    stop_target_gradients: bool = True,
) -> jax.Array:
    """Discounted sums of rewards, with a value at the end: `G = r + discount G'`.

    Args:
      r_t: float[time, batch], rewards.
      discount_t: the same shape, in [0, 1].
      v_t: the same shape, or one float: values to bootstrap from where a sequence
        stops before its episode does.
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
      >>> discounted_returns(jnp.ones(3), jnp.full(3, 0.5), 8.0).tolist()
      [2.75, 3.5, 5.0]
    """
    r_t = check_float("discounted_returns", "r_t", r_t)
    v_t = check_float("discounted_returns", "v_t", v_t)
    if not v_t.ndim:
        v_t = jnp.full_like(r_t, v_t)
    flags = Flags(truncated_t, mask_t, time_axis, method, stop_target_gradients)
    return mix_returns("discounted_returns", r_t, discount_t, v_t, 1.0, flags)


def n_step_returns(
    r_t: Any,
    discount_t: Any,
    v_t: Any,
    *,
    n: int,
    truncated_t: Any = None,
    mask_t: Any = None,
    time_axis: int = 0,
    stop_target_gradients: bool = True,
) -> jax.Array:
    """Returns of n rewards and then a value; fewer rewards where the sequence stops.

    Args:
      r_t: float[time, batch], rewards.
      discount_t: the same shape, in [0, 1].
      v_t: the same shape, values of the states that the steps led to.
      n: how many rewards, 1 or more.
      truncated_t: bool like r_t: cut short here, bootstrap from this step's v_t.
      mask_t: bool like r_t: False where a step is not to matter.
      time_axis: 0 for [time, batch], 1 for [batch, time].
      stop_target_gradients: whether no gradient flows through the result.

    Returns:
      float, like r_t.

    Raises:
      ArgumentError: for a wrong shape, dtype or range.

    Example:
      >>> import jax.numpy as jnp
      >>> n_step_returns(jnp.ones(3), jnp.full(3, 0.5), jnp.full(3, 4.0), n=2).tolist()
      [2.5, 2.5, 3.0]

    References:
      Sutton and Barto, 2018, Reinforcement Learning, equation 7.1.
    """
    where = "n_step_returns"
    n = check_count(where, "n", n)
    r_t, discount_t, v_t = check_floats(where, r_t=r_t, discount_t=discount_t, v_t=v_t)
    steps = find_steps(
        where, r_t, truncated_t=truncated_t, mask_t=mask_t, time_axis=time_axis
    )
    check_range(where, "discount_t", discount_t, 0.0, 1.0, mask=steps.mask_t)
    r_t, discount_t, v_t = steps.fill(r_t, discount_t, v_t)

    def step(longer: jax.Array, now: tuple) -> tuple[jax.Array, jax.Array]:
        # Row k of `longer` is the return of k + 1 rewards from the next step on.
        r, discount, v = (x[None].astype(init.dtype) for x in now[:3])
        one = r + discount * v
        more = r + discount * longer[:-1]
        if now[3] is not None:
            more = jnp.where(now[3][None], more, one)
        returns = jnp.concatenate([one, more])
        return returns, returns[-1].astype(r_t.dtype)

    xs = [
        x if x is None else jnp.moveaxis(x, steps.time_axis, 0)
        for x in (r_t, discount_t, v_t, steps.continues_t)
    ]
    # After the last step the return of any number of rewards is its value.
    end = last_step(v_t, time_axis=steps.time_axis)
    end = end.astype(accumulator(end.dtype))
    init = jnp.broadcast_to(end, (n, *end.shape))
    _, returns = lax.scan(step, init, tuple(xs), reverse=True)
    returns = jnp.moveaxis(returns, 0, steps.time_axis)
    return lax.stop_gradient(returns) if stop_target_gradients else returns


def gae(
    r_t: Any,
    discount_t: Any,
    v_tm1: Any,
    v_t: Any,
    *,
    lambda_: Any = 0.95,
    truncated_t: Any = None,
    mask_t: Any = None,
    time_axis: int = 0,
    method: Method = "scan",
    stop_target_gradients: bool = True,
) -> jax.Array:
    """Generalised advantage estimates: discounted sums of one-step errors.

    `A = delta + discount l A'` with `delta = r + discount v_t - v_tm1`. Adding v_tm1
    gives the lambda returns. Both values are asked for: they are shifted copies of
    each other only where no episode is cut short.

    Args:
      r_t: float[time, batch], rewards.
      discount_t: the same shape, in [0, 1].
      v_tm1: the same shape, values of the states that were acted in.
      v_t: the same shape, values of the states that the steps led to.
      lambda_: in [0, 1], a number or an array like r_t.
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
      >>> v = jnp.zeros(3)
      >>> gae(jnp.ones(3), jnp.full(3, 0.5), v, v, lambda_=1.0).tolist()
      [1.75, 1.5, 1.0]

    References:
      Schulman et al., 2016, [High-Dimensional Continuous Control Using Generalized
      Advantage Estimation](https://arxiv.org/abs/1506.02438), equation 16.
    """
    where = "gae"
    r_t, discount_t, v_tm1, v_t = check_floats(
        where, r_t=r_t, discount_t=discount_t, v_tm1=v_tm1, v_t=v_t
    )
    steps = find_steps(
        where, r_t, truncated_t=truncated_t, mask_t=mask_t, time_axis=time_axis
    )
    check_range(where, "discount_t", discount_t, 0.0, 1.0, mask=steps.mask_t)
    lambda_ = check_lambda(where, lambda_, r_t, mask=steps.mask_t)
    r_t, discount_t, v_tm1, v_t, lambda_ = steps.fill(
        r_t, discount_t, v_tm1, v_t, lambda_
    )

    def coefficients(
        r: jax.Array, discount: jax.Array, v: jax.Array, v_next: jax.Array, *rest: Any
    ) -> tuple[jax.Array, jax.Array]:
        mix, goes_on = rest
        return r + discount * v_next - v, cut(discount * mix, goes_on)

    advantages = solve_backwards(
        coefficients,
        [r_t, discount_t, v_tm1, v_t, lambda_, steps.continues_t],
        jnp.zeros_like(last_step(r_t, time_axis=steps.time_axis)),
        time_axis=steps.time_axis,
        method=method,
    )
    return lax.stop_gradient(advantages) if stop_target_gradients else advantages


class Flags(NamedTuple):
    """The options that returns have in common."""

    truncated_t: Any
    mask_t: Any
    time_axis: int
    method: Method
    stop_target_gradients: bool = True


def mix_returns(  # noqa: PLR0917 (the returns' arguments, under the name that is called)
    where: str, r_t: Any, discount_t: Any, v_t: Any, lambda_: Any, flags: Flags
) -> jax.Array:
    """`lambda_returns` for the function of that name."""
    r_t, discount_t, v_t = check_floats(where, r_t=r_t, discount_t=discount_t, v_t=v_t)
    steps = find_steps(
        where,
        r_t,
        truncated_t=flags.truncated_t,
        mask_t=flags.mask_t,
        time_axis=flags.time_axis,
    )
    check_range(where, "discount_t", discount_t, 0.0, 1.0, mask=steps.mask_t)
    lambda_ = check_lambda(where, lambda_, r_t, mask=steps.mask_t)
    r_t, discount_t, v_t, lambda_ = steps.fill(r_t, discount_t, v_t, lambda_)

    def coefficients(
        r: jax.Array, discount: jax.Array, v: jax.Array, mix: jax.Array, goes_on: Any
    ) -> tuple[jax.Array, jax.Array]:
        mix = cut(mix, goes_on)
        return r + discount * (1 - mix) * v, discount * mix

    returns = solve_backwards(
        coefficients,
        [r_t, discount_t, v_t, lambda_, steps.continues_t],
        last_step(v_t, time_axis=steps.time_axis),
        time_axis=steps.time_axis,
        method=flags.method,
    )
    return lax.stop_gradient(returns) if flags.stop_target_gradients else returns


def check_lambda(
    where: str, lambda_: Any, r_t: jax.Array, *, mask: jax.Array | None
) -> jax.Array:
    """Makes an array of a number, or checks one that is shaped like the rewards."""
    array = as_array(where, "lambda_", lambda_).astype(r_t.dtype)
    if array.ndim:
        check_shape(where, "lambda_", array, r_t.shape, like="r_t")
    check_range(where, "lambda_", lambda_, 0.0, 1.0, mask=mask if array.ndim else None)
    return array

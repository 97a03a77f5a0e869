"""Losses of whole distributions of returns: categorical (C51) and quantile (QR-DQN).

The network gives, for each action, logits of fixed atoms or values of fixed quantiles.
The last axis is theirs, the one before it is the actions'.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from rlax_agents._checks import (
    ArgumentError,
    check_float,
    check_range,
    check_rank,
    check_shape,
    read_values,
)
from rlax_agents._mean import Metrics, check_weights, mean_of_steps
from rlax_agents._recurrence import fill_masked
from rlax_agents._regression import Transitions, check_huber, check_transitions, take
from rlax_agents._transforms import check_atoms, shares


class _Distributions(NamedTuple):
    """What every step lost, how far it was off, and the mean it predicted."""

    steps: Transitions
    loss_t: jax.Array
    off_t: jax.Array
    value_t: jax.Array
    dtype: Any

    def errors(self) -> jax.Array:
        return fill_masked(self.off_t.astype(self.dtype), self.steps.mask_t)

    def loss(self, weights: Any) -> tuple[jax.Array, Metrics]:
        where, mask_t = self.steps.where, self.steps.mask_t
        weights = check_weights(where, weights, self.steps.r_t.shape, mask_t=mask_t)
        off, value = lax.stop_gradient((self.off_t, self.value_t))
        return mean_of_steps(self.loss_t, mask_t, weights), {
            "td_error": mean_of_steps(off, mask_t),
            "value": mean_of_steps(value, mask_t),
        }


def categorical_q_loss(
    q_logits_tm1: Any,
    a_tm1: Any,
    r_t: Any,
    discount_t: Any,
    q_logits_t: Any,
    *,
    atoms: Any,
    q_t_selector: Any = None,
    weights: Any = None,
    mask_t: Any = None,
) -> tuple[jax.Array, Metrics]:
    """C51: cross-entropy from the projected distribution of the greedy next action.

    Args:
      q_logits_tm1: float[time, batch, actions, atoms], logits where the agent acted.
      a_tm1: int like r_t, actions taken.
      r_t: float[time, batch] or of any steps, rewards.
      discount_t: like r_t, in [0, 1].
      q_logits_t: like q_logits_tm1, logits of where the steps led.
      atoms: float[atoms], the returns that the logits are of, increasing.
      q_t_selector: float[time, batch, actions], values that choose the next action
        (double Q-learning), or None to choose by the means of q_logits_t.
      weights: float like r_t, 0 or more: factors, such as importance weights.
      mask_t: bool like r_t: False where a step is not to matter.

    Returns:
      The loss, and as metrics `td_error`, the mean of `categorical_q_td_errors`, and
      `value`.

    Raises:
      ArgumentError: for a wrong shape, dtype or range.

    Example:
      >>> import jax.numpy as jnp
      >>> logits, one = jnp.zeros((1, 2, 3)), jnp.ones(1)
      >>> loss, metrics = categorical_q_loss(
      ...     logits, jnp.array([0]), one, one, logits, atoms=[-1.0, 0.0, 1.0]
      ... )
      >>> round(float(loss), 3), float(metrics["value"])
      (1.099, 0.0)

    References:
      Bellemare et al., 2017, [A Distributional Perspective on Reinforcement
      Learning](https://arxiv.org/abs/1707.06887), algorithm 1.
    """
    steps = check_transitions("categorical_q_loss", r_t, discount_t, mask_t)
    given = steps, q_logits_tm1, a_tm1, q_logits_t
    return _categorical(*given, atoms=atoms, selector=q_t_selector).loss(weights)


def categorical_q_td_errors(
    q_logits_tm1: Any,
    a_tm1: Any,
    r_t: Any,
    discount_t: Any,
    q_logits_t: Any,
    *,
    atoms: Any,
    q_t_selector: Any = None,
    mask_t: Any = None,
) -> jax.Array:
    """How far each step of `categorical_q_loss` is off: the KL from target to value.

    What Rainbow takes for priorities. Its gradient is the cross-entropy's.

    Args:
      q_logits_tm1: as the other arguments, those of `categorical_q_loss`.
      a_tm1: actions taken.
      r_t: rewards.
      discount_t: like r_t.
      q_logits_t: like q_logits_tm1.
      atoms: returns that the logits are of.
      q_t_selector: values that choose the next action, or None.
      mask_t: bool like r_t.

    Returns:
      float like r_t, 0 or more, and 0 at masked steps.

    Raises:
      ArgumentError: for a wrong shape, dtype or range.

    Example:
      >>> import jax.numpy as jnp
      >>> logits, a, one = jnp.zeros((1, 2, 3)), jnp.array([0]), jnp.ones(1)
      >>> kl = categorical_q_td_errors(logits, a, 0 * one, one, logits, atoms=[0, 1, 2])
      >>> kl.round(5).tolist()
      [0.0]

    References:
      Hessel et al., 2018, [Rainbow](https://arxiv.org/abs/1710.02298).
    """
    steps = check_transitions("categorical_q_td_errors", r_t, discount_t, mask_t)
    given = steps, q_logits_tm1, a_tm1, q_logits_t
    return _categorical(*given, atoms=atoms, selector=q_t_selector).errors()


def _categorical(
    steps: Transitions,
    q_logits_tm1: Any,
    a_tm1: Any,
    q_logits_t: Any,
    *,
    atoms: Any,
    selector: Any,
) -> _Distributions:
    where = steps.where
    q_logits_tm1, q_logits_t = steps.check_pair(
        "actions", "atoms", q_logits_tm1=q_logits_tm1, q_logits_t=q_logits_t
    )
    values = check_atoms(where, "atoms", atoms)
    if values.size != q_logits_t.shape[-1]:
        raise ArgumentError(
            f"{where}: atoms are {values.size}, and q_logits_tm1 has shape "
            f"{q_logits_tm1.shape}; wanted as many as its last axis is long"
        )
    a_tm1 = steps.check_taken("a_tm1", a_tm1, q_logits_tm1)
    logits_tm1 = steps.fill(take(q_logits_tm1, a_tm1))
    logits_t = steps.fill(q_logits_t)
    z = jnp.asarray(values, logits_t.dtype)
    p_t = jax.nn.softmax(logits_t)
    best = _greedy(steps, p_t @ z, selector)
    moved_z = jnp.expand_dims(z, range(steps.r_t.ndim))
    moved_z = steps.r_t[..., None] + steps.discount_t[..., None] * moved_z
    target = lax.stop_gradient(project_categorical(moved_z, take(p_t, best), z))
    log_p = jax.nn.log_softmax(logits_tm1)
    loss_t = -(target * log_p).sum(-1)
    kl = loss_t + jax.scipy.special.xlogy(target, target).sum(-1)
    value_t = jnp.exp(log_p) @ z
    dtype = jnp.promote_types(q_logits_tm1.dtype, steps.dtype)
    return _Distributions(steps, loss_t, jnp.maximum(kl, 0), value_t, dtype)


def project_categorical(z_p: Any, p: Any, z_q: Any) -> jax.Array:
    """Moves probabilities of some atoms to other atoms, so that the mean stays.

    The projection that is nearest in the Cramer distance: the mass of an atom goes to
    the two beside it in proportion, and to the end where it lies beyond.

    Args:
      z_p: float[..., n], atoms, in any order.
      p: the same shape, their probabilities.
      z_q: float[atoms], increasing, at any spacing.

    Returns:
      float[..., atoms], probabilities of z_q.

    Raises:
      ArgumentError: for a wrong shape or dtype.

    Example:
      >>> import jax.numpy as jnp
      >>> z_p, p = jnp.array([0.25, 9.0]), jnp.array([0.5, 0.5])
      >>> project_categorical(z_p, p, jnp.array([0.0, 1.0])).tolist()
      [0.375, 0.625]

    References:
      Bellemare et al., 2017, [A Distributional Perspective on Reinforcement
      Learning](https://arxiv.org/abs/1707.06887), equation 7.
    """
    where = "project_categorical"
    z_p, p = check_float(where, "z_p", z_p), check_float(where, "p", p)
    z_q = check_float(where, "z_q", z_q)
    check_shape(where, "p", p, z_p.shape, like="z_p")
    check_rank(where, "z_q", z_q, 1, axes="[atoms]")
    if (known := read_values(z_q)) is not None:
        check_atoms(where, "z_q", known)
    return (p[..., None] * shares(z_p, z_q)).sum(-2)


def quantile_q_loss(
    q_quantiles_tm1: Any,
    a_tm1: Any,
    r_t: Any,
    discount_t: Any,
    q_quantiles_t: Any,
    *,
    tau_tm1: Any = None,
    q_t_selector: Any = None,
    huber: float | None = 1.0,
    weights: Any = None,
    mask_t: Any = None,
) -> tuple[jax.Array, Metrics]:
    """QR-DQN: quantile regression on the quantiles of the greedy next action.

    The loss of a step is the sum over its quantiles of the mean over the target's.

    Args:
      q_quantiles_tm1: float[time, batch, actions, quantiles], where the agent acted.
        (rlax has the quantiles before the actions.)
      a_tm1: int like r_t, actions taken.
      r_t: float[time, batch] or of any steps, rewards.
      discount_t: like r_t, in [0, 1].
      q_quantiles_t: float[time, batch, actions, any number], of where the steps led.
      tau_tm1: float[quantiles], or with the axes of r_t in front (IQN): which
        quantiles q_quantiles_tm1 holds, in [0, 1]; None for the midpoints
        `(i + 1/2) / n`.
      q_t_selector: float[time, batch, actions], values that choose the next action
        (double Q-learning), or None to choose by the means of q_quantiles_t.
      huber: where the loss goes on linearly, above 0; None for absolute values.
      weights: float like r_t, 0 or more: factors, such as importance weights.
      mask_t: bool like r_t: False where a step is not to matter.

    Returns:
      The loss, and as metrics `td_error`, the mean of `quantile_q_td_errors`, and
      `value`.

    Raises:
      ArgumentError: for a wrong shape, dtype or range.

    Example:
      >>> import jax.numpy as jnp
      >>> quantiles, one = jnp.array([[[0.0, 1.0]]]), jnp.ones(1)
      >>> loss, metrics = quantile_q_loss(
      ...     quantiles, jnp.array([0]), one, one, quantiles, huber=None
      ... )
      >>> float(loss), float(metrics["value"])
      (0.75, 0.5)

    References:
      Dabney et al., 2018, [Distributional Reinforcement Learning with Quantile
      Regression](https://arxiv.org/abs/1710.10044), equation 10 and algorithm 1.
    """
    steps = check_transitions("quantile_q_loss", r_t, discount_t, mask_t)
    given = steps, q_quantiles_tm1, a_tm1, q_quantiles_t
    return _quantile(*given, tau=tau_tm1, selector=q_t_selector, huber=huber).loss(
        weights
    )


def quantile_q_td_errors(
    q_quantiles_tm1: Any,
    a_tm1: Any,
    r_t: Any,
    discount_t: Any,
    q_quantiles_t: Any,
    *,
    tau_tm1: Any = None,
    q_t_selector: Any = None,
    huber: float | None = 1.0,
    mask_t: Any = None,
) -> jax.Array:
    """How far each step of `quantile_q_loss` is off: its own loss.

    Args:
      q_quantiles_tm1: as the other arguments, those of `quantile_q_loss`.
      a_tm1: actions taken.
      r_t: rewards.
      discount_t: like r_t.
      q_quantiles_t: quantiles of where the steps led.
      tau_tm1: which quantiles, or None for the midpoints.
      q_t_selector: values that choose the next action, or None.
      huber: where the loss goes on linearly, or None.
      mask_t: bool like r_t.

    Returns:
      float like r_t, 0 or more, and 0 at masked steps.

    Raises:
      ArgumentError: for a wrong shape, dtype or range.

    Example:
      >>> import jax.numpy as jnp
      >>> quantiles, a, one = jnp.array([[[0.0, 1.0]]]), jnp.array([0]), jnp.ones(1)
      >>> quantile_q_td_errors(quantiles, a, one, one, quantiles, huber=None).tolist()
      [0.75]
    """
    steps = check_transitions("quantile_q_td_errors", r_t, discount_t, mask_t)
    given = steps, q_quantiles_tm1, a_tm1, q_quantiles_t
    return _quantile(*given, tau=tau_tm1, selector=q_t_selector, huber=huber).errors()


def _quantile(
    steps: Transitions,
    q_quantiles_tm1: Any,
    a_tm1: Any,
    q_quantiles_t: Any,
    *,
    tau: Any,
    selector: Any,
    huber: float | None,
) -> _Distributions:
    where = steps.where
    before = steps.check("q_quantiles_tm1", q_quantiles_tm1, "actions", "quantiles")
    after = steps.check("q_quantiles_t", q_quantiles_t, "actions", "quantiles")
    wanted = (*before.shape[:-1], after.shape[-1])
    check_shape(where, "q_quantiles_t", after, wanted, like="q_quantiles_tm1")
    a_tm1 = steps.check_taken("a_tm1", a_tm1, before)
    values_tm1, q_t = steps.fill(take(before, a_tm1)), steps.fill(after)
    tau = _quantiles(steps, tau, values_tm1)
    best = _greedy(steps, q_t.mean(-1), selector)
    target = steps.r_t[..., None] + steps.discount_t[..., None] * take(q_t, best)
    delta = lax.stop_gradient(target)[..., None, :] - values_tm1[..., :, None]
    size = jnp.abs(delta)
    if huber is not None:
        check_huber(where, huber)
        size = jnp.where(size <= huber, delta**2 / 2, huber * (size - huber / 2))
    loss = jnp.abs(tau[..., None] - (delta < 0).astype(tau.dtype)) * size
    loss_t = loss.mean(-1).sum(-1)
    dtype = jnp.promote_types(before.dtype, steps.dtype)
    return _Distributions(steps, loss_t, loss_t, values_tm1.mean(-1), dtype)


def _quantiles(steps: Transitions, tau: Any, values: jax.Array) -> jax.Array:
    n = values.shape[-1]
    if tau is None:
        tau = (jnp.arange(n, dtype=values.dtype) + 0.5) / n
        return jnp.broadcast_to(tau, values.shape)
    tau = check_float(steps.where, "tau_tm1", tau)
    if tau.ndim != 1:
        check_shape(
            steps.where, "tau_tm1", tau, values.shape, like="q_quantiles_tm1[a]"
        )
        return steps.fill(tau)
    check_shape(steps.where, "tau_tm1", tau, (n,), like="the quantiles")
    check_range(steps.where, "tau_tm1", tau, 0.0, 1.0)
    return jnp.broadcast_to(tau.astype(values.dtype), values.shape)


def _greedy(steps: Transitions, means: jax.Array, selector: Any) -> jax.Array:
    if selector is None:
        return means.argmax(-1)
    selector = steps.check("q_t_selector", selector, "actions")
    check_shape(
        steps.where, "q_t_selector", selector, means.shape, like="the actions' means"
    )
    return steps.fill(selector).argmax(-1)

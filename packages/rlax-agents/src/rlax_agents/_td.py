"""One-step temporal-difference losses of the policy that acted: TD(0) and SARSA.

The agent was at `t-1`, received `r_t`, and arrived where its values are `v_t` or `q_t`.
No step leads on to another here, so every array has the axes of `r_t` in front,
whichever they are. No gradient flows through targets. Values may be in the form of a
`ValueTransform`; one with bins asks for logits with a further last axis.
"""

from typing import Any

import jax

from rlax_agents._checks import check_probabilities, check_shape
from rlax_agents._mean import Metrics
from rlax_agents._regression import (
    Regression,
    Transitions,
    check_transitions,
    decode,
    take,
)
from rlax_agents._transforms import ValueTransform


def td_loss(
    v_tm1: Any,
    r_t: Any,
    discount_t: Any,
    v_t: Any,
    *,
    huber: float | None = None,
    transform: ValueTransform | None = None,
    weights: Any = None,
    mask_t: Any = None,
) -> tuple[jax.Array, Metrics]:
    """TD(0): a state's value moves to `r + discount v_t`.

    For targets of more steps, see `error_loss`.

    Args:
      v_tm1: float[time, batch], values of the states that were acted in.
      r_t: the same shape, or that of any steps: rewards.
      discount_t: like r_t, in [0, 1].
      v_t: like v_tm1, values of the states that the steps led to.
      huber: where the loss goes on linearly, above 0; None for squares alone.
      transform: of both values, or None.
      weights: float like r_t, 0 or more: factors, such as importance weights.
      mask_t: bool like r_t: False where a step is not to matter.

    Returns:
      The loss, and as metrics `td_error`, the mean absolute error, and `value`.

    Raises:
      ArgumentError: for a wrong shape, dtype or range.

    Example:
      >>> import jax.numpy as jnp
      >>> one = jnp.ones(2)
      >>> loss, metrics = td_loss(jnp.array([0.0, 4.0]), one, 0.5 * one, 2 * one)
      >>> float(loss), float(metrics["td_error"])
      (2.0, 2.0)

    References:
      Sutton, 1988, [Learning to predict by the methods of temporal
      differences](https://doi.org/10.1007/BF00115009).
    """
    steps = check_transitions("td_loss", r_t, discount_t, mask_t)
    regression = _td(steps, v_tm1, v_t, transform=transform)
    return regression.loss(huber=huber, weights=weights)


def td_errors(
    v_tm1: Any,
    r_t: Any,
    discount_t: Any,
    v_t: Any,
    *,
    transform: ValueTransform | None = None,
    mask_t: Any = None,
) -> jax.Array:
    """The errors that `td_loss` squares, for priorities: targets less values.

    Args:
      v_tm1: as the other arguments, those of `td_loss`.
      r_t: rewards.
      discount_t: like r_t.
      v_t: like v_tm1.
      transform: of both values, or None.
      mask_t: bool like r_t.

    Returns:
      float like r_t, 0 at masked steps; with a gradient through v_tm1 alone.

    Raises:
      ArgumentError: for a wrong shape, dtype or range.

    Example:
      >>> import jax.numpy as jnp
      >>> one = jnp.ones(2)
      >>> td_errors(jnp.array([0.0, 4.0]), one, 0.5 * one, 2 * one).tolist()
      [2.0, -2.0]
    """
    steps = check_transitions("td_errors", r_t, discount_t, mask_t)
    return _td(steps, v_tm1, v_t, transform=transform).errors()


def _td(
    steps: Transitions, v_tm1: Any, v_t: Any, *, transform: ValueTransform | None
) -> Regression:
    v_tm1, v_t = steps.check_pair(transform=transform, v_tm1=v_tm1, v_t=v_t)
    return steps.regress(v_tm1, decode(steps.fill(v_t), transform), transform)


def sarsa_loss(  # noqa: PLR0917 (the order of rlax's arguments)
    q_tm1: Any,
    a_tm1: Any,
    r_t: Any,
    discount_t: Any,
    q_t: Any,
    a_t: Any,
    *,
    huber: float | None = None,
    transform: ValueTransform | None = None,
    weights: Any = None,
    mask_t: Any = None,
) -> tuple[jax.Array, Metrics]:
    """SARSA: the value of an action moves to `r + discount q_t[a_t]`.

    Args:
      q_tm1: float[time, batch, actions], values where the agent acted.
      a_tm1: int like r_t, actions taken.
      r_t: float[time, batch] or of any steps, rewards.
      discount_t: like r_t, in [0, 1].
      q_t: like q_tm1, values of where the steps led.
      a_t: int like r_t, actions taken there.
      huber: where the loss goes on linearly, above 0; None for squares alone.
      transform: of both values, or None.
      weights: float like r_t, 0 or more: factors, such as importance weights.
      mask_t: bool like r_t: False where a step is not to matter.

    Returns:
      The loss, and as metrics `td_error`, the mean absolute error, and `value`.

    Raises:
      ArgumentError: for a wrong shape, dtype or range.

    Example:
      >>> import jax.numpy as jnp
      >>> q, one, a = jnp.array([[1.0, 2.0]]), jnp.ones(1), jnp.array([0])
      >>> float(sarsa_loss(q, a, one, one, q, 1 - a)[0])
      2.0

    References:
      Rummery and Niranjan, 1994, On-line Q-learning using connectionist systems;
      Sutton and Barto, 2018, Reinforcement Learning, equation 6.7.
    """
    steps = check_transitions("sarsa_loss", r_t, discount_t, mask_t)
    regression = _sarsa(steps, q_tm1, a_tm1, q_t, a_t, transform=transform)
    return regression.loss(huber=huber, weights=weights)


def sarsa_td_errors(  # noqa: PLR0917 (the order of rlax's arguments)
    q_tm1: Any,
    a_tm1: Any,
    r_t: Any,
    discount_t: Any,
    q_t: Any,
    a_t: Any,
    *,
    transform: ValueTransform | None = None,
    mask_t: Any = None,
) -> jax.Array:
    """The errors that `sarsa_loss` squares, for priorities: targets less values.

    Args:
      q_tm1: as the other arguments, those of `sarsa_loss`.
      a_tm1: actions taken.
      r_t: rewards.
      discount_t: like r_t.
      q_t: like q_tm1.
      a_t: actions taken next.
      transform: of both values, or None.
      mask_t: bool like r_t.

    Returns:
      float like r_t, 0 at masked steps; with a gradient through q_tm1 alone.

    Raises:
      ArgumentError: for a wrong shape, dtype or range.

    Example:
      >>> import jax.numpy as jnp
      >>> q, one, a = jnp.array([[1.0, 2.0]]), jnp.ones(1), jnp.array([0])
      >>> sarsa_td_errors(q, a, one, one, q, 1 - a).tolist()
      [2.0]
    """
    steps = check_transitions("sarsa_td_errors", r_t, discount_t, mask_t)
    return _sarsa(steps, q_tm1, a_tm1, q_t, a_t, transform=transform).errors()


def _sarsa(
    steps: Transitions,
    q_tm1: Any,
    a_tm1: Any,
    q_t: Any,
    a_t: Any,
    *,
    transform: ValueTransform | None,
) -> Regression:
    q_tm1, q_t = steps.check_pair("actions", transform=transform, q_tm1=q_tm1, q_t=q_t)
    a_tm1 = steps.check_taken("a_tm1", a_tm1, q_tm1)
    a_t = steps.check_taken("a_t", a_t, q_t)
    v_t = take(decode(steps.fill(q_t), transform), a_t)
    return steps.regress(take(q_tm1, a_tm1), v_t, transform)


def expected_sarsa_loss(  # noqa: PLR0917 (the order of rlax's arguments)
    q_tm1: Any,
    a_tm1: Any,
    r_t: Any,
    discount_t: Any,
    q_t: Any,
    pi_t: Any,
    *,
    huber: float | None = None,
    transform: ValueTransform | None = None,
    weights: Any = None,
    mask_t: Any = None,
) -> tuple[jax.Array, Metrics]:
    """Expected SARSA: an action's value moves to `r + discount sum pi_t q_t`.

    Less noisy than SARSA, and off policy: pi_t need not have acted.

    Args:
      q_tm1: float[time, batch, actions], values where the agent acted.
      a_tm1: int like r_t, actions taken.
      r_t: float[time, batch] or of any steps, rewards.
      discount_t: like r_t, in [0, 1].
      q_t: like q_tm1, values of where the steps led.
      pi_t: float[time, batch, actions], probabilities (not logits) of actions there.
      huber: where the loss goes on linearly, above 0; None for squares alone.
      transform: of both values, or None.
      weights: float like r_t, 0 or more: factors, such as importance weights.
      mask_t: bool like r_t: False where a step is not to matter.

    Returns:
      The loss, and as metrics `td_error`, the mean absolute error, and `value`.

    Raises:
      ArgumentError: for a wrong shape, dtype or range, or if pi_t holds logits.

    Example:
      >>> import jax.numpy as jnp
      >>> q, one, a = jnp.array([[1.0, 3.0]]), jnp.ones(1), jnp.array([0])
      >>> float(expected_sarsa_loss(q, a, one, one, q, jnp.array([[0.5, 0.5]]))[0])
      2.0

    References:
      Van Seijen et al., 2009, A Theoretical and Empirical Analysis of Expected Sarsa;
      Sutton and Barto, 2018, Reinforcement Learning, equation 6.9.
    """
    steps = check_transitions("expected_sarsa_loss", r_t, discount_t, mask_t)
    regression = _expected_sarsa(steps, q_tm1, a_tm1, q_t, pi_t, transform=transform)
    return regression.loss(huber=huber, weights=weights)


def expected_sarsa_td_errors(  # noqa: PLR0917 (the order of rlax's arguments)
    q_tm1: Any,
    a_tm1: Any,
    r_t: Any,
    discount_t: Any,
    q_t: Any,
    pi_t: Any,
    *,
    transform: ValueTransform | None = None,
    mask_t: Any = None,
) -> jax.Array:
    """The errors that `expected_sarsa_loss` squares: targets less values.

    Args:
      q_tm1: as the other arguments, those of `expected_sarsa_loss`.
      a_tm1: actions taken.
      r_t: rewards.
      discount_t: like r_t.
      q_t: like q_tm1.
      pi_t: probabilities of actions there.
      transform: of both values, or None.
      mask_t: bool like r_t.

    Returns:
      float like r_t, 0 at masked steps; with a gradient through q_tm1 alone.

    Raises:
      ArgumentError: for a wrong shape, dtype or range, or if pi_t holds logits.

    Example:
      >>> import jax.numpy as jnp
      >>> q, one, a = jnp.array([[1.0, 3.0]]), jnp.ones(1), jnp.array([0])
      >>> expected_sarsa_td_errors(q, a, one, one, q, jnp.array([[0.5, 0.5]])).tolist()
      [2.0]
    """
    steps = check_transitions("expected_sarsa_td_errors", r_t, discount_t, mask_t)
    regression = _expected_sarsa(steps, q_tm1, a_tm1, q_t, pi_t, transform=transform)
    return regression.errors()


def _expected_sarsa(
    steps: Transitions,
    q_tm1: Any,
    a_tm1: Any,
    q_t: Any,
    pi_t: Any,
    *,
    transform: ValueTransform | None,
) -> Regression:
    q_tm1, q_t = steps.check_pair("actions", transform=transform, q_tm1=q_tm1, q_t=q_t)
    a_tm1 = steps.check_taken("a_tm1", a_tm1, q_tm1)
    pi_t, q_t = steps.check("pi_t", pi_t, "actions"), decode(steps.fill(q_t), transform)
    check_shape(steps.where, "pi_t", pi_t, q_t.shape, like="q_t")
    check_probabilities(steps.where, "pi_t", pi_t, mask=steps.mask_t)
    v_t = (steps.fill(pi_t) * q_t).sum(-1)
    return steps.regress(take(q_tm1, a_tm1), v_t, transform)

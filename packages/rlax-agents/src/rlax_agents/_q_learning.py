"""Q-learning: one-step losses of the greedy policy, from whatever acted.

What DQN and its kin minimise. For DQN with n steps, `r_t` is the sum of n discounted
rewards, `discount_t` the product of their discounts, and `q_t` lies n steps on.
"""

from typing import Any

import jax

from rlax_agents._mean import Metrics
from rlax_agents._regression import (
    Regression,
    Transitions,
    check_transitions,
    decode,
    take,
)
from rlax_agents._transforms import ValueTransform


def q_loss(
    q_tm1: Any,
    a_tm1: Any,
    r_t: Any,
    discount_t: Any,
    q_t: Any,
    *,
    huber: float | None = None,
    transform: ValueTransform | None = None,
    weights: Any = None,
    mask_t: Any = None,
) -> tuple[jax.Array, Metrics]:
    """Q-learning: an action's value moves to `r + discount max q_t`.

    With `q_t` of a target network and `huber=1.0`, the loss of DQN.

    Args:
      q_tm1: float[time, batch, actions], values where the agent acted; logits
        [time, batch, actions, bins] with a transform that has bins.
      a_tm1: int like r_t, actions taken.
      r_t: float[time, batch] or of any steps, rewards.
      discount_t: like r_t, in [0, 1].
      q_t: like q_tm1, values of where the steps led.
      huber: where the loss goes on linearly, above 0; None for squares alone.
      transform: of both values, or None; the target is `h(r + discount max h^-1(q_t))`.
      weights: float like r_t, 0 or more: factors, such as importance weights.
      mask_t: bool like r_t: False where a step is not to matter.

    Returns:
      The loss, and as metrics `td_error`, the mean absolute error, and `value`.

    Raises:
      ArgumentError: for a wrong shape, dtype or range.

    Example:
      >>> import jax.numpy as jnp
      >>> q, one, a = jnp.array([[1.0, 2.0]]), jnp.ones(1), jnp.array([0])
      >>> loss, metrics = q_loss(q, a, one, one, q, huber=1.0)
      >>> float(loss), float(metrics["td_error"])
      (1.5, 2.0)

    References:
      Watkins and Dayan, 1992, Q-learning; Mnih et al., 2015, [Human-level control
      through deep reinforcement learning](https://www.nature.com/articles/nature14236);
      with a transform, Pohlen et al., 2018, [Observe and Look
      Further](https://arxiv.org/abs/1805.11593), section 3.2.
    """
    steps = check_transitions("q_loss", r_t, discount_t, mask_t)
    regression = _q(steps, q_tm1, a_tm1, q_t, None, transform=transform)
    return regression.loss(huber=huber, weights=weights)


def q_td_errors(
    q_tm1: Any,
    a_tm1: Any,
    r_t: Any,
    discount_t: Any,
    q_t: Any,
    *,
    transform: ValueTransform | None = None,
    mask_t: Any = None,
) -> jax.Array:
    """The errors that `q_loss` squares, for priorities: targets less values.

    Args:
      q_tm1: as the other arguments, those of `q_loss`.
      a_tm1: actions taken.
      r_t: rewards.
      discount_t: like r_t.
      q_t: like q_tm1.
      transform: of both values, or None; one with bins leaves errors of true values.
      mask_t: bool like r_t.

    Returns:
      float like r_t, 0 at masked steps; with a gradient through q_tm1 alone.

    Raises:
      ArgumentError: for a wrong shape, dtype or range.

    Example:
      >>> import jax.numpy as jnp
      >>> q, one, a = jnp.array([[1.0, 2.0]]), jnp.ones(1), jnp.array([0])
      >>> q_td_errors(q, a, one, one, q).tolist()
      [2.0]
    """
    steps = check_transitions("q_td_errors", r_t, discount_t, mask_t)
    return _q(steps, q_tm1, a_tm1, q_t, None, transform=transform).errors()


def double_q_loss(  # noqa: PLR0917 (the order of rlax's arguments)
    q_tm1: Any,
    a_tm1: Any,
    r_t: Any,
    discount_t: Any,
    q_t: Any,
    q_t_selector: Any,
    *,
    huber: float | None = None,
    transform: ValueTransform | None = None,
    weights: Any = None,
    mask_t: Any = None,
) -> tuple[jax.Array, Metrics]:
    """Double Q-learning: one network chooses the next action, another one values it.

    Choosing and valuing with the same noise overestimates; this does so less.

    Args:
      q_tm1: float[time, batch, actions], values where the agent acted; logits
        [time, batch, actions, bins] with a transform that has bins.
      a_tm1: int like r_t, actions taken.
      r_t: float[time, batch] or of any steps, rewards.
      discount_t: like r_t, in [0, 1].
      q_t: like q_tm1, values of where the steps led, most often a target network's.
      q_t_selector: like q_t, values that choose there, most often the learner's.
      huber: where the loss goes on linearly, above 0; None for squares alone.
      transform: of all three values, or None.
      weights: float like r_t, 0 or more: factors, such as importance weights.
      mask_t: bool like r_t: False where a step is not to matter.

    Returns:
      The loss, and as metrics `td_error`, the mean absolute error, and `value`.

    Raises:
      ArgumentError: for a wrong shape, dtype or range.

    Example:
      >>> import jax.numpy as jnp
      >>> q, one, a = jnp.array([[1.0, 2.0]]), jnp.ones(1), jnp.array([0])
      >>> float(double_q_loss(q, a, one, one, q, -q)[0])
      0.5

    References:
      Van Hasselt et al., 2016, [Deep Reinforcement Learning with Double
      Q-learning](https://arxiv.org/abs/1509.06461), equation 4.
    """
    steps = check_transitions("double_q_loss", r_t, discount_t, mask_t)
    regression = _q(steps, q_tm1, a_tm1, q_t, q_t_selector, transform=transform)
    return regression.loss(huber=huber, weights=weights)


def double_q_td_errors(  # noqa: PLR0917 (the order of rlax's arguments)
    q_tm1: Any,
    a_tm1: Any,
    r_t: Any,
    discount_t: Any,
    q_t: Any,
    q_t_selector: Any,
    *,
    transform: ValueTransform | None = None,
    mask_t: Any = None,
) -> jax.Array:
    """The errors that `double_q_loss` squares, for priorities: targets less values.

    Args:
      q_tm1: as the other arguments, those of `double_q_loss`.
      a_tm1: actions taken.
      r_t: rewards.
      discount_t: like r_t.
      q_t: like q_tm1.
      q_t_selector: like q_t.
      transform: of all three values, or None.
      mask_t: bool like r_t.

    Returns:
      float like r_t, 0 at masked steps; with a gradient through q_tm1 alone.

    Raises:
      ArgumentError: for a wrong shape, dtype or range.

    Example:
      >>> import jax.numpy as jnp
      >>> q, one, a = jnp.array([[1.0, 2.0]]), jnp.ones(1), jnp.array([0])
      >>> double_q_td_errors(q, a, one, one, q, -q).tolist()
      [1.0]
    """
    steps = check_transitions("double_q_td_errors", r_t, discount_t, mask_t)
    return _q(steps, q_tm1, a_tm1, q_t, q_t_selector, transform=transform).errors()


def _q(
    steps: Transitions,
    q_tm1: Any,
    a_tm1: Any,
    q_t: Any,
    q_t_selector: Any,
    *,
    transform: ValueTransform | None,
) -> Regression:
    q_tm1, q_t = steps.check_pair("actions", transform=transform, q_tm1=q_tm1, q_t=q_t)
    a_tm1 = steps.check_taken("a_tm1", a_tm1, q_tm1)
    values = decode(steps.fill(q_t), transform)
    if q_t_selector is None:
        return steps.regress(take(q_tm1, a_tm1), values.max(-1), transform)
    q_t, q_t_selector = steps.check_pair(
        "actions", transform=transform, q_t=q_t, q_t_selector=q_t_selector
    )
    best = decode(steps.fill(q_t_selector), transform).argmax(-1)
    return steps.regress(take(q_tm1, a_tm1), take(values, best), transform)

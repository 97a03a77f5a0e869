"""Auxiliary tasks: values of signals other than the reward, learned to shape features.

Each signal, a cumulant, has action values of its own, learned by Q(lambda) from what
was done anyway (Horde, UNREAL). Two kinds of cumulants: how much each cell of the
picture changes, and how much each feature does.
"""

from typing import Any, Literal, get_args

import jax
import jax.numpy as jnp
from jax import lax

from rlax_agents._checks import (
    ArgumentError,
    as_array,
    check_actions,
    check_count,
    check_float,
    check_mask,
    check_range,
    check_shape,
)
from rlax_agents._mean import Metrics, check_weights, mean_of_steps, widen
from rlax_agents._recurrence import fill_masked
from rlax_agents._returns import lambda_returns

Change = Literal["feature", "absolute_change", "increase", "decrease", "potential"]


def cumulant_loss(
    q_tm1: Any,
    a_tm1: Any,
    cumulants_t: Any,
    discount_t: Any,
    q_t: Any,
    *,
    lambda_: float = 1.0,
    truncated_t: Any = None,
    weights: Any = None,
    mask_t: Any = None,
) -> tuple[jax.Array, Metrics]:
    """Action values of many cumulants: the sum of their squared Q(lambda) errors.

    General value functions of the greedy policy of each cumulant.

    Args:
      q_tm1: float[time, batch, *cumulants, actions], values where the agent acted.
      a_tm1: int[time, batch], actions taken.
      cumulants_t: float[time, batch, *cumulants], signals received; any number of axes.
      discount_t: float[time, batch], in [0, 1].
      q_t: like q_tm1, values of where the steps led.
      lambda_: in [0, 1]; 1 sums up to the end of the sequence, as UNREAL does.
      truncated_t: bool[time, batch]: cut short here, bootstrap from this step's q_t.
      weights: float[time, batch], 0 or more: factors of the steps.
      mask_t: bool[time, batch]: False where a step is not to matter.

    Returns:
      The loss, half the squares summed over cumulants and averaged over steps, and as
      metrics `td_error`, the mean absolute error, and `cumulant`, the mean signal.

    Raises:
      ArgumentError: for a wrong shape, dtype or range.

    Example:
      >>> import jax.numpy as jnp
      >>> q, a = jnp.zeros((2, 1, 3, 4)), jnp.zeros((2, 1), int)
      >>> signals, one = jnp.ones((2, 1, 3)), jnp.ones((2, 1))
      >>> loss, metrics = cumulant_loss(q, a, signals, one, q, lambda_=0.0)
      >>> float(loss), float(metrics["cumulant"])
      (1.5, 1.0)

    References:
      Sutton et al., 2011, Horde; Jaderberg et al., 2017, [Reinforcement Learning with
      Unsupervised Auxiliary Tasks](https://arxiv.org/abs/1611.05397), section 3.1.
    """
    where = "cumulant_loss"
    discount_t = check_float(where, "discount_t", discount_t)
    steps, like = discount_t.shape, "discount_t"
    mask_t = check_mask(where, "mask_t", mask_t, steps, like=like)
    truncated_t = check_mask(where, "truncated_t", truncated_t, steps, like=like)
    check_range(where, "discount_t", discount_t, 0.0, 1.0, mask=mask_t)
    weights = check_weights(where, weights, steps, mask_t=mask_t)
    c_t = check_float(where, "cumulants_t", cumulants_t)
    wanted = (*steps, *c_t.shape[len(steps) :])
    check_shape(where, "cumulants_t", c_t, wanted, like=f"{like}, then cumulants")
    q_tm1, q_t = check_float(where, "q_tm1", q_tm1), check_float(where, "q_t", q_t)
    wanted = (*c_t.shape, *q_tm1.shape[-1:])
    check_shape(where, "q_tm1", q_tm1, wanted, like="cumulants_t, then actions")
    check_shape(where, "q_t", q_t, wanted, like="q_tm1")
    n = q_tm1.shape[-1]
    a_tm1 = check_actions(where, "a_tm1", a_tm1, steps, n=n, like=like, mask=mask_t)

    def of_cumulants(x: jax.Array) -> jax.Array:
        lifted = x.reshape(steps + (1,) * (c_t.ndim - len(steps)))
        return jnp.broadcast_to(lifted, c_t.shape)

    q_tm1, q_t, c_t, discount_t = (
        widen(fill_masked(x, mask_t)) for x in (q_tm1, q_t, c_t, discount_t)
    )
    targets = lambda_returns(
        *(lax.stop_gradient(c_t), of_cumulants(discount_t), q_t.max(-1)),
        lambda_=lambda_,
        truncated_t=None if truncated_t is None else of_cumulants(truncated_t),
        mask_t=None if mask_t is None else of_cumulants(mask_t),
    )
    index = of_cumulants(fill_masked(a_tm1, mask_t))
    errors = targets - jnp.take_along_axis(q_tm1, index[..., None], -1).squeeze(-1)
    cumulants = range(len(steps), c_t.ndim)
    loss_t = (errors**2 / 2).sum(tuple(cumulants))
    size_t = jnp.abs(lax.stop_gradient(errors)).mean(tuple(cumulants))
    return mean_of_steps(loss_t, mask_t, weights), {
        "td_error": mean_of_steps(size_t, mask_t),
        "cumulant": mean_of_steps(c_t.mean(tuple(cumulants)), mask_t),
    }


def pixel_control_rewards(observations: Any, *, cell_size: int) -> jax.Array:
    """How much each cell of a picture changes from one step to the next.

    Steps that lead into another episode change everything: mask them in the loss.

    Args:
      observations: float[time + 1, batch, height, width, channels], in [0, 1].
      cell_size: pixels along a side of a cell.

    Returns:
      float[time, batch, height / cell_size, width / cell_size], mean absolute change
      of a cell.

    Raises:
      ArgumentError: if the picture holds no floats (the difference of two uint8 wraps
        around), has other axes, or is not made up of whole cells.

    Example:
      >>> import jax.numpy as jnp
      >>> seen = jnp.zeros((2, 1, 4, 4, 3)).at[1, 0, :2, :2].set(1.0)
      >>> pixel_control_rewards(seen, cell_size=2).tolist()
      [[[[1.0, 0.0], [0.0, 0.0]]]]

    References:
      Jaderberg et al., 2017, [Reinforcement Learning with Unsupervised Auxiliary
      Tasks](https://arxiv.org/abs/1611.05397), section 3.1.
    """
    where = "pixel_control_rewards"
    size = check_count(where, "cell_size", cell_size)
    found = as_array(where, "observations", observations)
    if not jnp.issubdtype(found.dtype, jnp.floating):
        raise ArgumentError(
            f"{where}: observations has dtype {found.dtype}, wanted a float in [0, 1]; "
            f"type observations.astype(jnp.float32) / 255"
        )
    if found.ndim < 4 or found.shape[0] < 2:
        raise ArgumentError(
            f"{where}: observations has shape {found.shape}, wanted [time + 1, batch, "
            f"height, width, channels] with a time of 1 or more"
        )
    *steps, height, width, channels = found.shape
    if height % size or width % size:
        fits = f":{height - height % size}, :{width - width % size}"
        raise ArgumentError(
            f"{where}: observations are of {height} by {width} pixels, wanted "
            f"multiples of cell_size={size}; type observations[..., {fits}, :]"
        )
    change = jnp.abs(jnp.diff(found, axis=0))
    steps = (steps[0] - 1, *steps[1:])
    shape = (*steps, height // size, size, width // size, size, channels)
    return change.reshape(shape).mean((-4, -2, -1))


def pixel_control_loss(
    observations: Any,
    q_tm1: Any,
    a_tm1: Any,
    discount_t: Any,
    q_t: Any,
    *,
    cell_size: int,
    lambda_: float = 1.0,
    truncated_t: Any = None,
    weights: Any = None,
    mask_t: Any = None,
) -> tuple[jax.Array, Metrics]:
    """Pixel control: `cumulant_loss` of how much each cell of the picture changes.

    Args:
      observations: float[time + 1, batch, height, width, channels], in [0, 1].
      q_tm1: float[time, batch, height / cell_size, width / cell_size, actions].
      a_tm1: int[time, batch], actions taken.
      discount_t: float[time, batch], in [0, 1]; UNREAL has 0.9 within an episode.
      q_t: like q_tm1, values of where the steps led.
      cell_size: pixels along a side of a cell.
      lambda_: in [0, 1].
      truncated_t: bool[time, batch]: cut short here, bootstrap from this step's q_t.
      weights: float[time, batch], 0 or more: factors of the steps.
      mask_t: bool[time, batch]: False where a step is not to matter.

    Returns:
      The loss and the metrics of `cumulant_loss`.

    Raises:
      ArgumentError: for a wrong shape, dtype or range.

    Example:
      >>> import jax.numpy as jnp
      >>> seen = jnp.zeros((2, 1, 4, 4, 3)).at[1].set(1.0)
      >>> q, one = jnp.zeros((1, 1, 2, 2, 5)), jnp.ones((1, 1))
      >>> loss, _ = pixel_control_loss(seen, q, one.astype(int), one, q, cell_size=2)
      >>> float(loss)
      2.0

    References:
      Jaderberg et al., 2017, [Reinforcement Learning with Unsupervised Auxiliary
      Tasks](https://arxiv.org/abs/1611.05397), section 3.1.
    """
    return cumulant_loss(
        *(q_tm1, a_tm1, pixel_control_rewards(observations, cell_size=cell_size)),
        *(discount_t, q_t),
        lambda_=lambda_,
        truncated_t=truncated_t,
        weights=weights,
        mask_t=mask_t,
    )


def feature_control_rewards(
    features: Any, *, kind: Change = "absolute_change", discount: float = 1.0
) -> jax.Array:
    """How much each feature changes from one step to the next.

    Args:
      features: float[time + 1, batch, features], such as a hidden layer's.
      kind: `"feature"` itself after the step, its `"absolute_change"`, `"increase"` or
        `"decrease"`, or `"potential"`: discount times after less before.
      discount: of the potential, in [0, 1].

    Returns:
      float[time, batch, features].

    Raises:
      ArgumentError: for a wrong shape or dtype, or an unknown kind.

    Example:
      >>> import jax.numpy as jnp
      >>> features = jnp.array([[[1.0, 5.0]], [[3.0, 2.0]]])
      >>> feature_control_rewards(features).tolist()
      [[[2.0, 3.0]]]

    References:
      Jaderberg et al., 2017, [Reinforcement Learning with Unsupervised Auxiliary
      Tasks](https://arxiv.org/abs/1611.05397), section 3.1; for the potential, Ng et
      al., 1999, Policy invariance under reward transformations.
    """
    where = "feature_control_rewards"
    features = check_float(where, "features", features)
    check_range(where, "discount", discount, 0.0, 1.0)
    if features.ndim < 2 or features.shape[0] < 2:
        raise ArgumentError(
            f"{where}: features has shape {features.shape}, wanted [time + 1, batch, "
            f"features] with a time of 1 or more"
        )
    before, after = features[:-1], features[1:]
    match kind:
        case "feature":
            return after
        case "absolute_change":
            return jnp.abs(after - before)
        case "increase":
            return after - before
        case "decrease":
            return before - after
        case "potential":
            return discount * after - before
    raise ArgumentError(
        f"{where}: kind is {kind!r}, wanted one of {list(get_args(Change))}; "
        f"type kind='absolute_change'"
    )


def feature_control_loss(
    features: Any,
    q_tm1: Any,
    a_tm1: Any,
    discount_t: Any,
    q_t: Any,
    *,
    kind: Change = "absolute_change",
    lambda_: float = 1.0,
    truncated_t: Any = None,
    weights: Any = None,
    mask_t: Any = None,
) -> tuple[jax.Array, Metrics]:
    """Feature control: `cumulant_loss` of how much each feature changes.

    No gradient flows through the features, which are the signal here.

    Args:
      features: float[time + 1, batch, features].
      q_tm1: float[time, batch, features, actions].
      a_tm1: int[time, batch], actions taken.
      discount_t: float[time, batch], in [0, 1].
      q_t: like q_tm1, values of where the steps led.
      kind: of the change, as in `feature_control_rewards`.
      lambda_: in [0, 1].
      truncated_t: bool[time, batch]: cut short here, bootstrap from this step's q_t.
      weights: float[time, batch], 0 or more: factors of the steps.
      mask_t: bool[time, batch]: False where a step is not to matter.

    Returns:
      The loss and the metrics of `cumulant_loss`.

    Raises:
      ArgumentError: for a wrong shape, dtype or range.

    Example:
      >>> import jax.numpy as jnp
      >>> features, q = jnp.array([[[1.0]], [[3.0]]]), jnp.zeros((1, 1, 1, 2))
      >>> one = jnp.ones((1, 1))
      >>> float(feature_control_loss(features, q, one.astype(int), one, q)[0])
      2.0

    References:
      Jaderberg et al., 2017, [Reinforcement Learning with Unsupervised Auxiliary
      Tasks](https://arxiv.org/abs/1611.05397), section 3.1.
    """
    return cumulant_loss(
        *(q_tm1, a_tm1, feature_control_rewards(features, kind=kind), discount_t, q_t),
        lambda_=lambda_,
        truncated_t=truncated_t,
        weights=weights,
        mask_t=mask_t,
    )

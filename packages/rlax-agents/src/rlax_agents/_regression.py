"""Values moved towards targets: what all temporal-difference losses share.

`check_transitions` checks, masks and widens what they have in common. A `Regression`
yields the error of each step, which prioritised replay wants, or the loss of all.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import lax

from rlax_agents._checks import (
    ArgumentError,
    check_actions,
    check_float,
    check_floats,
    check_mask,
    check_range,
    check_rank,
    check_shape,
)
from rlax_agents._mean import Metrics, check_weights, mean_of_steps, widen
from rlax_agents._recurrence import fill_masked
from rlax_agents._transforms import ValueTransform


def error_loss(
    errors_t: Any,
    *,
    huber: float | None = None,
    weights: Any = None,
    mask_t: Any = None,
) -> tuple[jax.Array, Metrics]:
    """Half the mean square of errors that a value function made, or their Huber loss.

    For errors of any origin: those of `retrace`, `q_lambda` and `vtrace`, returns less
    values, or `q_td_errors` where priorities are wanted from the same errors.

    Args:
      errors_t: float[time, batch] or of any shape, targets less values.
      huber: where the loss goes on linearly, above 0; None for squares alone.
      weights: float like errors_t, 0 or more: factors, such as importance weights.
      mask_t: bool like errors_t: False where a step is not to matter.

    Returns:
      The loss, and the mean absolute error as `td_error`.

    Raises:
      ArgumentError: for a wrong shape, dtype or range.

    Example:
      >>> import jax.numpy as jnp
      >>> loss, metrics = error_loss(jnp.array([1.0, -3.0]))
      >>> float(loss), float(metrics["td_error"])
      (2.5, 2.0)
      >>> float(error_loss(jnp.array([1.0, -3.0]), huber=1.0)[0])
      1.5

    References:
      Mnih et al., 2015, [Human-level control through deep reinforcement
      learning](https://www.nature.com/articles/nature14236), for the Huber loss.
    """
    where = "error_loss"
    errors_t = check_float(where, "errors_t", errors_t)
    mask_t = check_mask(where, "mask_t", mask_t, errors_t.shape, like="errors_t")
    weights = check_weights(where, weights, errors_t.shape, mask_t=mask_t)
    errors_t = widen(fill_masked(errors_t, mask_t))
    loss = mean_of_steps(_square_or_huber(where, errors_t, huber), mask_t, weights)
    return loss, {"td_error": _size(errors_t, mask_t)}


def _square_or_huber(where: str, errors_t: jax.Array, huber: float | None) -> jax.Array:
    if huber is None:
        return optax.l2_loss(errors_t)
    check_huber(where, huber)
    return optax.huber_loss(errors_t, delta=huber)


def check_huber(where: str, huber: float) -> None:
    """Raises unless a Huber loss can turn linear there."""
    if not isinstance(huber, jax.core.Tracer) and not huber > 0:
        raise ArgumentError(
            f"{where}: huber is {huber}, wanted above 0; type huber=None for none"
        )


def _size(errors_t: jax.Array, mask_t: jax.Array | None) -> jax.Array:
    return mean_of_steps(lax.stop_gradient(jnp.abs(errors_t)), mask_t)


class Transitions(NamedTuple):
    """Rewards and discounts, checked, masked and widened.

    Attributes:
      where: the function that asks.
      r_t: float, 0 at masked steps.
      discount_t: float like r_t.
      mask_t: bool like r_t, or None.
      dtype: what the rewards had.
    """

    where: str
    r_t: jax.Array
    discount_t: jax.Array
    mask_t: jax.Array | None
    dtype: Any

    def check(self, name: str, value: Any, *axes: str) -> jax.Array:
        """Makes float[*steps, *axes]; what stands at masked steps is still there.

        Raises:
          ArgumentError: if it holds no floats, or its first axes are not the rewards'.
        """
        array, steps = check_float(self.where, name, value), self.r_t.shape
        words = f"those of r_t {steps}" + "".join(f", then {axis}" for axis in axes)
        check_rank(self.where, name, array, len(steps) + len(axes), axes=words)
        shape = (*steps, *array.shape[len(steps) :])
        check_shape(self.where, name, array, shape, like="r_t")
        return array

    def check_pair(
        self, *axes: str, transform: ValueTransform | None = None, **pair: Any
    ) -> list[jax.Array]:
        """Makes the values before and after a step, both of one shape."""
        if transform is not None and transform.bins is not None:
            axes = (*axes, f"{transform.bins} bins")
        (first, before), (second, after) = pair.items()
        before = self.check(first, before, *axes)
        after = self.check(second, after, *axes)
        check_shape(self.where, second, after, before.shape, like=first)
        return [before, after]

    def check_taken(self, name: str, a: Any, q: jax.Array) -> jax.Array:
        """Makes int[*steps], actions that q has values of; 0 at masked steps."""
        shape, n = self.r_t.shape, q.shape[self.r_t.ndim]
        a = check_actions(self.where, name, a, shape, n=n, like="r_t", mask=self.mask_t)
        return fill_masked(a, self.mask_t)

    def fill(self, array: jax.Array) -> jax.Array:
        """Zeros at masked steps, whatever stands there, and at least float32."""
        return widen(fill_masked(array, self.mask_t))

    def regress(
        self, prediction: jax.Array, v_t: jax.Array, transform: ValueTransform | None
    ) -> "Regression":
        """Moves the prediction to the one-step target of the true values v_t."""
        target = lax.stop_gradient(self.r_t + self.discount_t * v_t)
        dtype = jnp.promote_types(prediction.dtype, self.dtype)
        return Regression(self, self.fill(prediction), target, transform, dtype)


def check_transitions(
    where: str, r_t: Any, discount_t: Any, mask_t: Any
) -> Transitions:
    """Checks what every one-step target is made of.

    Raises:
      ArgumentError: for a wrong shape, dtype or range.
    """
    r_t, discount_t = check_floats(where, r_t=r_t, discount_t=discount_t)
    mask_t = check_mask(where, "mask_t", mask_t, r_t.shape, like="r_t")
    check_range(where, "discount_t", discount_t, 0.0, 1.0, mask=mask_t)
    dtype = r_t.dtype
    r_t, discount_t = (widen(fill_masked(x, mask_t)) for x in (r_t, discount_t))
    return Transitions(where, r_t, discount_t, mask_t, dtype)


class Regression(NamedTuple):
    """Predicted values and what they should have been.

    Attributes:
      steps: what the target was made of.
      prediction: float like r_t, in the form of the transform; logits if it has bins.
      target: float like r_t, true values, without a gradient.
      transform: of the prediction, or None.
      dtype: of the errors.
    """

    steps: Transitions
    prediction: jax.Array
    target: jax.Array
    transform: ValueTransform | None
    dtype: Any

    def errors(self) -> jax.Array:
        """Target less prediction, at each step; 0 at masked ones.

        In the form of the transform, or in true values where that has bins.
        """
        return fill_masked(self._errors().astype(self.dtype), self.steps.mask_t)

    def loss(self, *, huber: float | None, weights: Any) -> tuple[jax.Array, Metrics]:
        """The mean loss, with `td_error` and `value` as metrics."""
        where, mask_t, tx = self.steps.where, self.steps.mask_t, self.transform
        weights = check_weights(where, weights, self.steps.r_t.shape, mask_t=mask_t)
        errors_t = self._errors()
        if tx is None or tx.bins is None:
            loss_t = _square_or_huber(where, errors_t, huber)
        elif huber is not None:
            raise ArgumentError(
                f"{where}: huber is {huber}, but the transform has {tx.bins} bins, "
                f"which a cross-entropy learns; type huber=None"
            )
        else:
            log_p = jax.nn.log_softmax(self.prediction)
            loss_t = -(tx.apply(self.target) * log_p).sum(-1)
        values = lax.stop_gradient(decode(self.prediction, tx))
        return mean_of_steps(loss_t, mask_t, weights), {
            "td_error": _size(errors_t, mask_t),
            "value": mean_of_steps(values, mask_t),
        }

    def _errors(self) -> jax.Array:
        if self.transform is None:
            return self.target - self.prediction
        if self.transform.bins is None:
            return self.transform.apply(self.target) - self.prediction
        return self.target - decode(self.prediction, self.transform)


def decode(form: jax.Array, transform: ValueTransform | None) -> jax.Array:
    """True values of what a network predicted; logits become probabilities first."""
    if transform is None:
        return form
    if transform.bins is not None:
        form = jax.nn.softmax(form)
    return transform.inverse(form)


def take(values: jax.Array, a: jax.Array) -> jax.Array:
    """What belongs to each action, on the axis of actions, the first after a's own."""
    index = a.reshape(a.shape + (1,) * (values.ndim - a.ndim))
    return jnp.take_along_axis(values, index, axis=a.ndim).squeeze(a.ndim)

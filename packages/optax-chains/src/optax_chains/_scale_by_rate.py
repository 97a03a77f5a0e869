"""The learning rate as the last link of a chain, readable in its state."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from optax_chains._checks import NOT_NEGATIVE, check_numbers
from optax_chains._count import next_count


class RateState(NamedTuple):
    """State of `scale_by_rate`.

    Attributes:
      count: int32[], the number of updates so far.
      learning_rate: float[], the rate that the last update used; before the first
        update, the one that it will use.
    """

    count: jax.Array
    learning_rate: jax.Array


def scale_by_rate(
    learning_rate: optax.ScalarOrSchedule,
) -> optax.GradientTransformation:
    """Multiplies by minus the learning rate, and keeps the rate in its state.

    `optax.scale_by_learning_rate` forgets the rate, and `optax.inject_hyperparams`
    keeps it by tracing it as data, which recompiles on some changes and changes the
    numbers of others. This is the plain product, with the rate noted beside it;
    `read_report` finds it wherever the state is nested.

    Args:
      learning_rate: a number or a schedule of the step.

    Returns:
      A transformation; put it at the end of `optax.chain`.

    Raises:
      ValueError: if the rate is negative or not finite; to go uphill, put
        `optax.scale(-1.0)` into the chain.
      TypeError: if it is neither a number nor a schedule.

    Example:
      >>> import jax.numpy as jnp, optax
      >>> chain = optax.chain(optax.scale_by_adam(), scale_by_rate(0.5))
      >>> float(chain.init(jnp.ones(2))[1].learning_rate)
      0.5
    """
    if not callable(learning_rate):
        check_numbers("scale_by_rate", NOT_NEGATIVE, learning_rate=learning_rate)

    def rate_at(count: Any) -> jax.Array:
        rate = learning_rate(count) if callable(learning_rate) else learning_rate
        return jnp.asarray(rate, float)

    def init(params: Any) -> RateState:
        del params
        count = jnp.zeros((), jnp.int32)
        return RateState(count, rate_at(count))

    def update(updates: Any, state: Any, params: Any = None) -> Any:
        del params
        rate = rate_at(state.count)
        updates = jax.tree.map(lambda u: (-rate).astype(u.dtype) * u, updates)
        return updates, RateState(next_count(state.count), rate)

    return optax.GradientTransformation(init, update)

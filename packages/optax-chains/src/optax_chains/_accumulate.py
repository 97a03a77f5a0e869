"""A batch that does not fit, as several that do: gradients summed in float32."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from optax_chains._checks import check_chains, check_counts, check_like
from optax_chains._count import next_count
from optax_chains._paths import path_of
from optax_chains._stand_still import stand_still
from optax_chains._wide import wide_zeros


class AccumulateState(NamedTuple):
    """State of `accumulate`.

    Attributes:
      inner_state: the wrapped chain's.
      total: float32 or wider, like the parameters: the sum of the gradients since
        the last step.
      mini_step: int32[], how many are in it.
    """

    inner_state: Any
    total: Any
    mini_step: jax.Array


def accumulate(
    chain: optax.GradientTransformation, *, every: int
) -> optax.GradientTransformationExtraArgs:
    """Moves once every `every` updates, by the mean of their gradients.

    The sum is float32, so that bfloat16 gradients lose nothing while they add up; the
    chain gets the mean in the gradients' own type, as it would from one big batch. It
    costs one float32 tree; the chain's update runs on the steps that need it only.
    Other steps leave every bit of the parameters as it is.

    `optax.MultiSteps` has the same state, but runs the chain at every call and throws
    the result away, and empties its sum by a product with 0, so that one infinity
    spoils all steps to come.

    This is for gradients that arrive one by one. Where one call can see the whole
    batch, `optax.microbatching.microbatch` needs no state.

    Args:
      chain: the chain that takes the big steps; its schedules count those.
      every: how many updates make a step; the batches must be of one size.

    Returns:
      A transformation with an `AccumulateState`.

    Raises:
      ValueError: if `every` is below 1, or the gradients are not of the parameters'
        shapes.
      TypeError: if `chain` is none, `every` is no whole number, or the chain changes
        the dtype of an update, as most do with integers.

    Example:
      >>> import jax.numpy as jnp, optax
      >>> chain = accumulate(optax.sgd(1.0), every=2)
      >>> state = chain.init(jnp.float32(0))
      >>> first, state = chain.update(jnp.float32(1), state)
      >>> second, state = chain.update(jnp.float32(3), state)
      >>> float(first), float(second)
      (-0.0, -2.0)

    References:
      Ott et al., 2018, [Scaling Neural Machine
      Translation](https://arxiv.org/abs/1806.00187), section 3.3, "cumul".
    """
    check_chains("accumulate", chain=chain)
    check_counts("accumulate", traced=True, every=every)
    inner = optax.with_extra_args_support(chain)

    def init(params: Any) -> AccumulateState:
        zero = jnp.zeros((), jnp.int32)
        return AccumulateState(inner.init(params), wide_zeros(params), zero)

    def update(updates: Any, state: Any, params: Any = None, **extra: Any) -> Any:
        check_like("accumulate", "updates", updates, "params", state.total)
        total = jax.tree.map(lambda t, u: t + u.astype(t.dtype), state.total, updates)

        def move() -> tuple[Any, Any]:
            mean = jax.tree.map(
                lambda t, u: (t / every).astype(u.dtype), total, updates
            )
            new, inner_state = inner.update(mean, state.inner_state, params, **extra)
            jax.tree.map_with_path(_check_dtype, updates, new)
            return new, inner_state

        def wait() -> tuple[Any, Any]:
            return stand_still(updates), state.inner_state

        due = state.mini_step + 1 == every
        new, inner_state = jax.lax.cond(due, move, wait)
        return new, AccumulateState(
            inner_state,
            jax.tree.map(lambda t: jnp.where(due, 0, t), total),
            jnp.where(due, 0, next_count(state.mini_step)),
        )

    return optax.GradientTransformationExtraArgs(init, update)


def _check_dtype(key_path: Any, before: jax.Array, after: jax.Array) -> None:
    if before.dtype != after.dtype:
        cure = f"cast the gradients of that path to {after.dtype}"
        if not jnp.issubdtype(before.dtype, jnp.inexact):  # which has no gradient
            cure = "give the chain to by_path with freeze() for that path"
        raise TypeError(
            f"accumulate: the chain turned {path_of(key_path)!r} from {before.dtype} "
            f"into {after.dtype}, wanted one dtype on all steps; {cure}"
        )

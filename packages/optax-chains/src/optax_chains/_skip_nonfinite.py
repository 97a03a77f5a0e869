"""Steps with an infinity or a NaN in them do not happen, and are counted."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from optax_chains._checks import check_chains
from optax_chains._count import next_count
from optax_chains._stand_still import stand_still


class SkipState(NamedTuple):
    """State of `skip_nonfinite`.

    Attributes:
      inner_state: the wrapped chain's.
      skipped: int32[], the steps skipped so far.
      in_a_row: int32[], those skipped since the last step that was taken; many mean
        that the parameters are lost, and not the batch.
    """

    inner_state: Any
    skipped: jax.Array
    in_a_row: jax.Array


def skip_nonfinite(
    chain: optax.GradientTransformation,
) -> optax.GradientTransformationExtraArgs:
    """Skips a step whose gradients, or whose updates, are not all finite.

    A skipped step leaves every bit of the parameters and of the chain's state as it
    was. `optax.apply_if_finite` gives up after some errors in a row and applies the
    NaN, and looks at the gradients alone. Watch `in_a_row` and stop by yourself.

    Args:
      chain: the chain to protect; the whole of it, so that its moments are protected.

    Returns:
      A transformation with a `SkipState`.

    Raises:
      TypeError: if `chain` is none.

    Example:
      >>> import jax.numpy as jnp, optax
      >>> chain = skip_nonfinite(optax.adam(0.1))
      >>> x = jnp.ones(2)
      >>> updates, state = chain.update(x * jnp.nan, chain.init(x))
      >>> updates, int(state.skipped)
      (Array([-0., -0.], dtype=float32), 1)

    References:
      Micikevicius et al., 2018, [Mixed Precision
      Training](https://arxiv.org/abs/1710.03740), section 3.2, for skipped steps.
    """
    check_chains("skip_nonfinite", chain=chain)
    inner = optax.with_extra_args_support(chain)

    def init(params: Any) -> SkipState:
        zeros = (jnp.zeros((), jnp.int32) for _ in range(2))  # so that they donate
        return SkipState(inner.init(params), *zeros)

    def update(updates: Any, state: Any, params: Any = None, **extra: Any) -> Any:
        new, inner_state = inner.update(updates, state.inner_state, params, **extra)
        fine = _all_finite(updates) & _all_finite(new)

        # Selecting, unlike a conditional, fuses with the update and may be sharded.
        def choose(taken: jax.Array, kept: jax.Array) -> jax.Array:
            return jnp.where(fine, taken, kept)

        new_state = SkipState(
            jax.tree.map(choose, inner_state, state.inner_state),
            choose(state.skipped, next_count(state.skipped)),
            choose(jnp.zeros_like(state.in_a_row), next_count(state.in_a_row)),
        )
        return jax.tree.map(choose, new, stand_still(new)), new_state

    return optax.GradientTransformationExtraArgs(init, update)


def _all_finite(tree: Any) -> jax.Array:
    finite = [jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(tree)]
    return jnp.all(jnp.asarray(finite, bool))

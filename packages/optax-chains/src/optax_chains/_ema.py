"""An average over the parameters' past, for evaluation and sampling."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from optax_chains._checks import DECAY, check_chains, check_counts, check_numbers
from optax_chains._count import next_count
from optax_chains._find_state import find_states
from optax_chains._wide import wide


class WithEmaState(NamedTuple):
    """State of `with_ema`; `ema_params` reads the average out of it.

    Attributes:
      inner_state: the wrapped chain's.
      ema: float32 or wider, like the parameters: their weighted sum. Integers and
        bools, of which there is no average, as they are: the latest.
      weight: float[], the sum of the weights in it; 0 before the average starts,
        when `ema` holds the parameters themselves.
      count: int32[], the updates so far.
    """

    inner_state: Any
    ema: Any
    weight: jax.Array
    count: jax.Array


def with_ema(
    chain: optax.GradientTransformation,
    decay: float | Callable[[Any], Any],
    *,
    debias: bool = False,
    start: int = 0,
) -> optax.GradientTransformationExtraArgs:
    """Keeps an exponential moving average of the parameters beside a chain.

    The average is of the parameters after each update, in float32: in bfloat16 a step
    of 1 - decay below 1/256 would round to nothing. Nothing may change the updates
    between here and `optax.apply_updates`, so wrap the whole chain.

    Args:
      chain: the chain that moves the parameters.
      decay: the share of the old average that stays at each update, or a schedule of
        the step for it.
      debias: whether the average forgets the parameters at `start` and weighs those
        after it only, as Adam does; without, it starts from them.
      start: updates after which the average starts; until then it is the parameters.

    Returns:
      A transformation with a `WithEmaState`. Its update needs `params`. In
      `optax.inject_hyperparams`, type `static_args="start"`.

    Raises:
      ValueError: if `update` gets no `params`, `decay` is not from 0 up to 1, and below
        it, or `start` is negative.
      TypeError: if `chain` is none, `decay` is neither a number nor a schedule, or
        `start` is no whole number.

    Example:
      >>> import jax.numpy as jnp, optax
      >>> chain = with_ema(optax.sgd(1.0), 0.75)
      >>> x = jnp.float32(4)
      >>> updates, state = chain.update(x, chain.init(x), x)  # to 0
      >>> float(ema_params(state))
      3.0

    References:
      Polyak, Juditsky, 1992, [Acceleration of stochastic approximation by
      averaging](https://doi.org/10.1137/0330046); Yazici et al., 2019, [The Unusual
      Effectiveness of Averaging in GAN Training](https://arxiv.org/abs/1806.04498),
      equation 3.
    """
    check_chains("with_ema", chain=chain)
    check_counts("with_ema", low=0, injected=True, start=start)
    if not callable(decay):
        check_numbers("with_ema", DECAY, decay=decay)
    inner = optax.with_extra_args_support(chain)

    def init(params: Any) -> WithEmaState:
        ema = jax.tree.map(_start, params)
        weight = jnp.full((), 0.0 if debias or start else 1.0, float)
        return WithEmaState(inner.init(params), ema, weight, jnp.zeros((), jnp.int32))

    def update(updates: Any, state: Any, params: Any = None, **extra: Any) -> Any:
        if params is None:
            raise ValueError(
                "with_ema: update got no params, which it averages; type "
                "update(updates, state, params)"
            )
        updates, inner_state = inner.update(updates, state.inner_state, params, **extra)
        moved = optax.apply_updates(params, updates)
        count = next_count(state.count)
        started = count > start
        # The first average: from nothing, or from where the parameters were.
        weight = jnp.where(state.weight == 0, 0.0 if debias else 1.0, state.weight)
        d = jnp.asarray(decay(state.count) if callable(decay) else decay, weight.dtype)
        held = (state.weight != 0) | (not debias)

        def average(ema: jax.Array, p: jax.Array) -> jax.Array:
            if not _has_average(ema):
                return p.astype(ema.dtype)
            share = d.astype(ema.dtype)
            p = p.astype(ema.dtype)
            mixed = share * jnp.where(held, ema, 0) + (1 - share) * p
            return jnp.where(started, mixed, p)

        return updates, WithEmaState(
            inner_state,
            jax.tree.map(average, state.ema, moved),
            jnp.where(started, d * weight + (1 - d), 0.0),
            count,
        )

    return optax.GradientTransformationExtraArgs(init, update)


def ema_params(state: Any, *, like: Any = None) -> Any:
    """Reads the average out of a state that holds one `WithEmaState`, however deep.

    Args:
      state: a chain's state, or any pytree of states.
      like: the parameters, if the average shall have their dtypes.

    Returns:
      The averaged parameters; float32 without `like`. Before the first update they
      are the parameters.

    Raises:
      ValueError: if there is no average in the state, or more than one.

    Example:
      >>> import jax.numpy as jnp, optax
      >>> chain = optax.chain(with_ema(optax.sgd(1.0), 0.9))
      >>> float(ema_params(chain.init(jnp.float32(2))))
      2.0
    """
    found = find_states(state, (WithEmaState,))
    if len(found) != 1:
        where = ", ".join(repr(path) for _, path, _ in found)
        raise ValueError(
            f"ema_params: the state holds {len(found)} averages"
            + (f", at {where}; hand over the part with one of them" if found else "")
            + ("" if found else "; wrap the chain in with_ema(chain, decay)")
        )
    ema, weight = found[0][2].ema, found[0][2].weight
    weight = jnp.where(weight == 0, 1.0, weight)
    like = ema if like is None else like
    return jax.tree.map(
        lambda e, p: (e / weight if _has_average(e) else e).astype(jnp.result_type(p)),
        ema,
        like,
    )


def _start(p: Any) -> jax.Array:
    x = jnp.array(p, jnp.result_type(p))  # a copy, so that both may be donated
    return wide(x) if _has_average(x) else x


def _has_average(x: jax.Array) -> bool:
    return jnp.issubdtype(x.dtype, jnp.inexact)

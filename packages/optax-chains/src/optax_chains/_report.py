"""What a step did, read out of the state: rate, norms, skipped steps."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from optax_chains._checks import check_chains
from optax_chains._find_state import find_states
from optax_chains._norms import global_norm
from optax_chains._scale_by_rate import RateState
from optax_chains._skip_nonfinite import SkipState


class ReportState(NamedTuple):
    """State of `report`.

    Attributes:
      inner_state: the wrapped chain's.
      grad_norm: float[], the norm of what came in at the last update.
      update_norm: float[], the norm of what came out.
    """

    inner_state: Any
    grad_norm: jax.Array
    update_norm: jax.Array


_SHOWN = {
    ReportState: ("grad_norm", "update_norm"),
    RateState: ("learning_rate",),
    SkipState: ("skipped", "in_a_row"),
}


def report(
    chain: optax.GradientTransformation,
) -> optax.GradientTransformationExtraArgs:
    """Notes the norms of the gradients and the updates in the state of a chain.

    The chain's numbers are the same with it and without. `read_report` reads the
    notes; learning rates are among them where the chain ends in `scale_by_rate`, as
    those of this package do.

    Args:
      chain: the chain to watch: a whole one, or one of `by_path`'s groups.

    Returns:
      A transformation with a `ReportState`.

    Raises:
      TypeError: if `chain` is none.

    Example:
      >>> import jax.numpy as jnp
      >>> from optax_chains import sgd_momentum
      >>> chain = report(sgd_momentum(0.5))
      >>> x = jnp.float32(4)
      >>> updates, state = chain.update(x, chain.init(x))
      >>> {name: float(value) for name, value in read_report(state).items()}
      {'grad_norm': 4.0, 'update_norm': 2.0, 'learning_rate': 0.5}
    """
    check_chains("report", chain=chain)
    inner = optax.with_extra_args_support(chain)

    def init(params: Any) -> ReportState:
        zeros = (jnp.zeros(()) for _ in range(2))  # so that they donate
        return ReportState(inner.init(params), *zeros)

    def update(updates: Any, state: Any, params: Any = None, **extra: Any) -> Any:
        new, inner_state = inner.update(updates, state.inner_state, params, **extra)
        return new, ReportState(inner_state, global_norm(updates), global_norm(new))

    return optax.GradientTransformationExtraArgs(init, update)


def read_report(state: Any) -> dict[str, jax.Array]:
    """Reads all notes out of a state: those of `report`, the rates, skipped steps.

    Args:
      state: a chain's state, or any pytree of states: one `Players` of them, say.

    Returns:
      name -> scalar, ready for a log. A note in a group or a player's state has the
      group's pattern or the player's name in front, `gen/grad_norm`; where two notes
      would be called the same, their full paths are.

    Raises:
      ValueError: if there is nothing to read.

    Example:
      >>> import jax.numpy as jnp, optax
      >>> from optax_chains import by_path, freeze, sgd_momentum
      >>> chain = by_path({"b": freeze()}, rest=sgd_momentum(0.5))
      >>> list(read_report(chain.init({"w": jnp.ones(2), "b": jnp.ones(2)})))
      ['<rest>/learning_rate']
    """
    found = find_states(state, tuple(_SHOWN))
    if not found:
        raise ValueError(
            "read_report: the state holds no notes; type report(chain) or end the "
            "chain in scale_by_rate(learning_rate)"
        )
    notes = [
        (name, path, field, getattr(node, field))
        for name, path, node in found
        for field in _SHOWN[type(node)]
    ]
    names = ["/".join(filter(None, (name, field))) for name, _, field, _ in notes]
    return {
        name if names.count(name) == 1 else "/".join(filter(None, (path, field))): value
        for name, (_, path, field, value) in zip(names, notes, strict=True)
    }

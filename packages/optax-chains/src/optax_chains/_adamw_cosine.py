"""AdamW with a warm-up and a cosine: the usual chain for training from scratch."""

import jax
import jax.numpy as jnp
import optax
from jax.typing import ArrayLike

from optax_chains._checks import (
    DECAY,
    NOT_NEGATIVE,
    check_counts,
    check_numbers,
)
from optax_chains._decay_mask import check_mask, decay_mask
from optax_chains._scale_by_rate import scale_by_rate


def adamw_cosine(
    peak: float = 1e-3,
    *,
    steps: int,
    warmup_steps: int = 0,
    end: float = 0.0,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-8,
    weight_decay: float = 1e-2,
    mask: optax.MaskOrFn = decay_mask,
) -> optax.GradientTransformation:
    """AdamW; the rate climbs to `peak` in a line and falls to `end` along a cosine.

    Args:
      peak: the highest learning rate.
      steps: updates in all, the warm-up among them; later ones use `end`.
      warmup_steps: updates from 0 up to `peak`; with a warm-up the first update is
        therefore zero.
      end: the learning rate of the last update; above `peak`, the rate climbs to it
        along the cosine instead.
      b1: decay of the mean of the gradients.
      b2: decay of the mean of their squares.
      eps: added to the root of the second.
      weight_decay: fraction of a weight, times the learning rate, taken off a step.
      mask: which parameters decay, as in `optax.adamw`; `decay_mask` spares biases
        and norms.

    Returns:
      A chain. Its update needs `params`. In `optax.inject_hyperparams`, which traces
      numbers and takes functions for schedules, type
      `static_args=("steps", "warmup_steps", "mask")`.

    Raises:
      ValueError: if `warmup_steps` is not below `steps`, `b1` or `b2` is not from 0 up
        to 1, another number is negative or not finite, or `mask` False.
      TypeError: if an argument is no number, or `steps` or `warmup_steps` no whole one
        or traced.

    Example:
      >>> import jax.numpy as jnp
      >>> chain = adamw_cosine(1e-3, steps=100, warmup_steps=10)
      >>> params = {"w": jnp.ones((2, 2))}
      >>> updates, state = chain.update(params, chain.init(params), params)

    References:
      Loshchilov, Hutter, 2019, [Decoupled Weight Decay
      Regularization](https://arxiv.org/abs/1711.05101), algorithm 2; the same, 2017,
      [SGDR](https://arxiv.org/abs/1608.03983), equation 5, for the cosine.
    """
    check_numbers(
        "adamw_cosine",
        NOT_NEGATIVE,
        peak=peak,
        end=end,
        eps=eps,
        weight_decay=weight_decay,
    )
    check_numbers("adamw_cosine", DECAY, b1=b1, b2=b2)
    check_mask("adamw_cosine", mask)
    check_counts("adamw_cosine", injected=True, steps=steps)
    check_counts("adamw_cosine", low=0, injected=True, warmup_steps=warmup_steps)
    if warmup_steps >= steps:
        raise ValueError(
            f"adamw_cosine: warmup_steps is {warmup_steps} and steps is {steps}; "
            "steps counts the warm-up too, so type a number of steps above it"
        )
    # optax asks whether the peak is 0, which it cannot of a traced one.
    share = optax.warmup_cosine_decay_schedule(
        0.0 if warmup_steps else 1.0, 1.0, warmup_steps, steps
    )

    def rate(step: ArrayLike) -> jax.Array:
        low = jnp.where(jnp.less(step, warmup_steps), 0.0, end)
        return low + (peak - low) * share(step)

    return optax.chain(
        optax.scale_by_adam(b1=b1, b2=b2, eps=eps),
        optax.add_decayed_weights(weight_decay, mask),
        scale_by_rate(rate),
    )

"""LAMB: one recipe for batches from hundreds to tens of thousands."""

import math

import jax.numpy as jnp
import optax

from optax_chains._checks import (
    DECAY,
    NOT_NEGATIVE,
    check_counts,
    check_numbers,
)
from optax_chains._decay_mask import check_mask, decay_mask
from optax_chains._scale_by_rate import scale_by_rate


def lamb_large_batch(
    base: float = 5 / (2**3 * 10**3),
    *,
    batch_size: int,
    steps: int,
    base_batch_size: int = 512,
    base_warmup: float = 1 / 320,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-6,
    weight_decay: float = 1e-2,
    mask: optax.MaskOrFn = decay_mask,
) -> optax.GradientTransformation:
    """LAMB with the rate and the warm-up that the batch size calls for.

    The peak grows with the square root of the batch, the warm-up's share of the steps
    in proportion to it; after the warm-up the rate falls in a line to zero. Biases and
    norms get neither decay nor the trust ratio.

    Args:
      base: the peak learning rate at `base_batch_size`.
      batch_size: examples an update, over all devices and accumulated ones.
      steps: updates in all.
      base_batch_size: the batch that `base` and `base_warmup` were tuned for.
      base_warmup: the share of the steps that warm up, at `base_batch_size`; never
        more than half.
      b1: decay of the mean of the gradients.
      b2: decay of the mean of their squares.
      eps: added to the root of the second.
      weight_decay: factor of the weight that joins the step before the trust ratio.
      mask: which parameters have decay and trust ratio.

    Returns:
      A chain. Its update needs `params`. In `optax.inject_hyperparams`, which traces
      numbers and takes functions for schedules, type `static_args=("batch_size",
      "steps", "base_batch_size", "base_warmup", "mask")`.

    Raises:
      ValueError: if a count is below 1, `b1` or `b2` not from 0 up to 1, another
        number negative or not finite, or `mask` False.
      TypeError: if one is no number, a count no whole one, or a count or `base_warmup`
        traced.

    Example:
      >>> import jax.numpy as jnp
      >>> chain = lamb_large_batch(batch_size=32768, steps=15625)
      >>> params = {"w": jnp.ones((2, 2))}
      >>> updates, state = chain.update(params, chain.init(params), params)

    References:
      You et al., 2020, [Large Batch Optimization for Deep Learning: Training BERT in
      76 minutes](https://arxiv.org/abs/1904.00962), algorithm 2 and table 4 for the
      square-root rate and the linear-epoch warm-up.
    """
    check_counts(
        "lamb_large_batch",
        injected=True,
        batch_size=batch_size,
        steps=steps,
        base_batch_size=base_batch_size,
    )
    check_numbers("lamb_large_batch", DECAY, b1=b1, b2=b2)
    check_numbers(
        "lamb_large_batch",
        NOT_NEGATIVE,
        base=base,
        eps=eps,
        weight_decay=weight_decay,
    )
    check_numbers(
        "lamb_large_batch",
        NOT_NEGATIVE,
        traced=False,
        injected=True,
        base_warmup=base_warmup,
    )
    check_mask("lamb_large_batch", mask)
    ratio = batch_size / base_batch_size
    peak = base * math.sqrt(ratio)
    warmup = round(steps * min(0.5, base_warmup * ratio))
    schedule = optax.join_schedules(
        [
            optax.linear_schedule(0.0, peak, warmup),
            optax.linear_schedule(peak, 0.0, steps - warmup),
        ],
        [warmup],
    )
    return optax.chain(
        optax.scale_by_adam(b1=b1, b2=b2, eps=eps),
        optax.add_decayed_weights(weight_decay, mask),
        optax.masked(optax.scale_by_trust_ratio(), mask),
        # Compiled, the line ends a rounding error below zero.
        scale_by_rate(lambda step: jnp.maximum(schedule(step), 0.0)),
    )

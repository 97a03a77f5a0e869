"""A discriminator that learns little about any one digit, and what little that is.

Only the discriminator sees real digits, so it alone needs noise: whatever is made of
its parameters, the generator and all samples, is as private as they are.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from mnist_gan._run import Config
from optax_chains import dp_sgd, epsilon

_ROUNDED_TO = 32  # rows, so that any usual number of devices divides a batch


class Privacy(NamedTuple):
    """How the discriminator's gradients are made private.

    Attributes:
      clip_norm: the longest that one digit's gradient may be.
      noise_multiplier: the noise's standard deviation in units of `clip_norm`.

    References:
      Abadi et al., 2016, [Deep Learning with Differential
      Privacy](https://arxiv.org/abs/1607.00133); Xie et al., 2018, [Differentially
      Private Generative Adversarial Network](https://arxiv.org/abs/1802.06739), for
      noise in the discriminator alone.
    """

    clip_norm: float
    noise_multiplier: float


def capacity(batch_size: int) -> int:
    """Rows of the padded batch that a Poisson batch of a mean size fits into.

    Args:
      batch_size: digits a batch on average.

    Returns:
      Six standard deviations more, rounded up to a multiple of 32: one batch in a
      thousand million is greater.

    Example:
      >>> capacity(64), capacity(256)
      (128, 352)
    """
    most = batch_size + 6 * math.sqrt(batch_size)
    return math.ceil(most / _ROUNDED_TO) * _ROUNDED_TO


def delta(rows: int) -> float:
    """The chance that the promise does not hold: under one over the number of digits.

    Args:
      rows: digits in all.

    Returns:
      The power of ten below it.

    Example:
      >>> delta(60_000), delta(10_000)
      (1e-05, 1e-05)
    """
    return 10.0 ** -len(str(rows))


def spent(privacy: Privacy, *, batch_size: int, rows: int, steps: int) -> float:
    """The epsilon after a number of steps, at `delta(rows)`.

    Args:
      privacy: of the recipe.
      batch_size: digits a batch on average.
      rows: digits in all, each of which is in a batch by a toss of its own.
      steps: batches used.

    Returns:
      epsilon.
    """
    if not steps:
        return 0.0
    return epsilon(
        noise_multiplier=privacy.noise_multiplier,
        sampling_rate=batch_size / rows,
        steps=steps,
        delta=delta(rows),
    )


def statement(privacy: Privacy, config: Config, *, steps: int) -> str:
    """Says what a run gives away, of what, and what not to hand out.

    Args:
      privacy: of the recipe.
      config: of the run.
      steps: taken, or to be taken.

    Returns:
      One or two lines.
    """
    found = spent(privacy, batch_size=config.batch_size, rows=config.rows, steps=steps)
    return (
        f"private: epsilon {found:.2f} at delta {delta(config.rows):.0e} after "
        f"{steps:,} steps, for the samples and the generator. Keep the seed, the "
        "checkpoints and the losses to yourself: they say more."
    )


def private_gradient(
    privacy: Privacy,
    judge: Callable[[Any, jax.Array], jax.Array],
    loss: Callable[[jax.Array, jax.Array], jax.Array],
    *,
    batch_size: int,
) -> Callable[..., tuple[jax.Array, Any]]:
    """Makes the discriminator's gradient, clipped digit by digit and noised.

    Each real digit is judged with one made one, and the gradient of the pair is
    clipped, so that a digit that is left out takes no more than `clip_norm` with it.

    Args:
      privacy: of the recipe.
      judge: `(disc_params, images[b, 28, 28, 1]) -> logits[b, k]`.
      loss: of real and made logits, as `_losses.Loss`.
      batch_size: digits a batch on average.

    Returns:
      `(disc_params, real, fake, key, valid) -> (loss, gradients)`. The loss is not
      private.
    """

    def of_pair(params: Any, pair: tuple[jax.Array, jax.Array]) -> jax.Array:
        logits = judge(params, jnp.stack(pair))
        return loss(logits[:1], logits[1:])

    gradient = dp_sgd(
        of_pair,
        clip_norm=privacy.clip_norm,
        noise_multiplier=privacy.noise_multiplier,
        expected_batch_size=batch_size,
    )

    def noised(
        params: Any,
        real: jax.Array,
        fake: jax.Array,
        key: jax.Array,
        valid: jax.Array | None,
    ) -> tuple[jax.Array, Any]:
        return gradient(params, (real, fake), key, valid=valid)

    return noised

"""A discriminator that learns little about any one digit, and what little that is.

Only the discriminator sees real digits, so it alone needs noise: whatever is made of
its parameters, the generator and all samples, is as private as they are.
"""

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from mnist_gan._run import Config
from optax_chains import dp_sgd, epsilon

_ROUNDED_TO = 32  # rows, so that any usual number of devices divides a batch
_BILLION = math.log(1e9)
_WEAK = 10.0
# What evaluate, inspect and a report say beside their pictures.
KEEP = "Not private: it shows losses, learned digits or gradients. Keep it to yourself."


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
      Rows that fewer than one batch in a thousand million exceeds, by Bernstein's
      bound, rounded up to a multiple of 32.

    Example:
      >>> capacity(64), capacity(256)
      (128, 384)
    """
    spare = _BILLION / 3 + math.sqrt(_BILLION**2 / 9 + 2 * _BILLION * batch_size)
    return math.ceil((batch_size + spare) / _ROUNDED_TO) * _ROUNDED_TO


def delta(rows: int) -> float:
    """The chance that the promise does not hold: rows**-1.1, well below 1 / rows.

    Args:
      rows: digits in all.

    Returns:
      The chance.

    Example:
      >>> f"{delta(60_000):.1e}, {delta(10_000):.1e}"
      '5.5e-06, 4.0e-05'

    References:
      Ponomareva et al., 2023, [How to DP-fy ML](https://arxiv.org/abs/2303.00654),
      section 5.3.2.
    """
    return float(rows) ** -1.1


@functools.cache
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


def account(privacy: Privacy, config: Config, *, steps: int) -> dict[str, Any]:
    """What a run gives away, in numbers that may be handed out with its samples.

    Args:
      privacy: of the recipe.
      config: of the run.
      steps: taken, or to be taken.

    Returns:
      For `privacy.json`.
    """
    batch_size, rows = config.batch_size, config.rows
    return {
        "epsilon": spent(privacy, batch_size=batch_size, rows=rows, steps=steps),
        "delta": delta(rows),
        "neighbours": "data sets with one digit added or left out",
        "accountant": "privacy loss distribution, dp-accounting",
        "steps": steps,
        "sampling_rate": batch_size / rows,
        **privacy._asdict(),
    }


def statement(found: dict[str, Any]) -> str:
    """Says what a run gives away, of what, and what to keep.

    Args:
      found: by `account`.

    Returns:
      A paragraph.
    """
    weak = (
        f" Above {_WEAK:g} that promises little: take more digits, or fewer steps."
        if found["epsilon"] > _WEAK
        else ""
    )
    return (
        f"private: epsilon {found['epsilon']:.2f} at delta {found['delta']:.1e} after "
        f"{found['steps']:,} steps, for one digit added or left out.{weak} It holds "
        "for samples.png, samples.parquet and privacy.json. Keep all else in the "
        "folder to yourself, and secret.key above all."
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
    (The digits behind it then meet other made ones; but those are alike, drawn
    independently from a secret key, so the sums are distributed as if they had not.)

    Args:
      privacy: of the recipe.
      judge: `(disc_params, images[b, 28, 28, 1]) -> logits[b, k]`.
      loss: of real and made logits, as `_losses.Loss`.
      batch_size: digits a batch on average.

    Returns:
      `(disc_params, (real, fake), key, valid=None) -> (loss, gradients)`. The loss is
      not private.
    """

    def of_pair(params: Any, pair: tuple[jax.Array, jax.Array]) -> jax.Array:
        logits = judge(params, jnp.stack(pair))
        return loss(logits[:1], logits[1:])

    return dp_sgd(
        of_pair,
        clip_norm=privacy.clip_norm,
        noise_multiplier=privacy.noise_multiplier,
        expected_batch_size=batch_size,
    )

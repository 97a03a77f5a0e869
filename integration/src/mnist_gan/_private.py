"""A discriminator that learns little about any one digit, and what little that is.

Only the discriminator sees real digits, so it alone needs noise: whatever is made of
its parameters, the generator and all samples, is as private as they are.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from mnist_gan._run import Config
from optax_chains import Players, TwoPlayer, dp_sgd, epsilon

_ROUNDED_TO = 32  # rows, so that any usual number of devices divides a batch


class Privacy(NamedTuple):
    """How the discriminator's gradients are made private.

    Attributes:
      clip_norm: the longest that one digit's gradient may be.
      noise_multiplier: the noise's standard deviation in units of `clip_norm`.
      disc_steps: moves of the discriminator to one of the generator, each on a batch of
        its own. With noise it needs more of them to be worth following.

    References:
      Bie, Kamath, Zhang, Private GANs, Revisited, 2023, section 4, for several steps of
      the discriminator to one of the generator, https://arxiv.org/abs/2302.02936
    """

    clip_norm: float
    noise_multiplier: float
    disc_steps: int


class RareState(NamedTuple):
    """State of `rare_generator`.

    Attributes:
      opt_state: both players' optimizer states.
      gen_loss: of the generator's last move.
      count: int32[], moves of the discriminator since then.
    """

    opt_state: Players
    gen_loss: jax.Array
    count: jax.Array


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


def rare_generator(chains: Players, gradients: Players, *, every: int) -> TwoPlayer:
    """The discriminator moves at each step, the generator at each `every`-th.

    Unlike `optax_chains.several_disc_steps` it takes one batch a step, so that a run
    can be stopped, logged and accounted for between any two of them.

    Args:
      chains: an optax chain for each player.
      gradients: `(params, *args) -> (value, gradients)` for each player.
      every: moves of the discriminator to one of the generator, which moves first.

    Returns:
      The game; the generator's value is that of its last move.
    """

    def init(params: Players) -> RareState:
        opt_state = Players(chains.gen.init(params.gen), chains.disc.init(params.disc))
        return RareState(opt_state, jnp.zeros(()), jnp.zeros((), jnp.int32))

    def update(
        params: Players, state: RareState, *args: Any
    ) -> tuple[Players, RareState, Players]:
        def move(_: Any) -> tuple[Any, Any, jax.Array]:
            value, grads = gradients.gen(params, *args)
            updates, own = chains.gen.update(grads, state.opt_state.gen, params.gen)
            return optax.apply_updates(params.gen, updates), own, value

        def stay(_: Any) -> tuple[Any, Any, jax.Array]:
            return params.gen, state.opt_state.gen, state.gen_loss

        gen, gen_state, gen_loss = jax.lax.cond(state.count == 0, move, stay, None)
        disc_loss, grads = gradients.disc(params, *args)
        updates, disc_state = chains.disc.update(
            grads, state.opt_state.disc, params.disc
        )
        disc = optax.apply_updates(params.disc, updates)
        after = RareState(
            Players(gen_state, disc_state), gen_loss, (state.count + 1) % every
        )
        return Players(gen, disc), after, Players(gen_loss, disc_loss)

    return TwoPlayer(init, update)

"""Recipes: what is trained, by which rule, for how long.

A recipe is a short, readable configuration. Adding one means adding an entry to
`RECIPES`; the loop, the command line and the tests take it from there.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax

from haiku_nets import (
    BatchNormGenerator,
    DCGANDiscriminator,
    DCGANGenerator,
    ReferenceDiscriminator,
    ReferenceGenerator,
)
from mnist_gan import _losses
from mnist_gan._errors import UserError
from mnist_gan._private import Privacy
from optax_chains import Players, gan_adam

Network = Callable[[jax.Array], jax.Array]


class Recipe(NamedTuple):
    """A way to train the GAN.

    Attributes:
      about: one line for the terminal.
      steps: how many steps `train` takes unless told otherwise.
      batch_size: real digits a step, over all devices; of a private recipe, on average.
      latents: length of the vector that the generator starts from.
      generator: makes the generator, inside a Haiku transform.
      discriminator: makes the discriminator, inside a Haiku transform.
      losses: the two losses, as `_losses` describes them.
      chains: the optax chain of each player.
      equilibrium: each loss's value when the discriminator cannot tell, for the plots.
      paired: whether both players look at the same made digits, and the generator's
        loss at the real ones too; otherwise each draws latents of its own.
      penalty: on the discriminator's slope, or None.
      average: decay of the average of the generator that samples are drawn from; 0 to
        draw from the last.
      privacy: how the discriminator's gradients are made private, or None. It goes
        with losses of the generator that do not look at real digits, and no penalty.
      normed: whether its networks normalise over the batch, so that a step is no mean
        over blocks of it.
      blocks: into how many blocks a batch is split to be computed, each by itself, so
        that the bits are the same on any number of devices; 0 for no blocks.
    """

    about: str
    steps: int
    batch_size: int
    latents: int
    generator: Callable[[], Network]
    discriminator: Callable[[], Network]
    losses: Players
    chains: Players
    equilibrium: Players
    paired: bool = False
    penalty: _losses.Penalty | None = None
    average: float = 0.0
    privacy: Privacy | None = None
    normed: bool = False
    blocks: int = 0


def _falling(rate: float, after: int) -> optax.Schedule:
    """A rate that falls as 1 / step after so many steps.

    At a constant rate the two players keep moving each other, and the digits that are
    drawn get worse again.
    """
    return lambda count: rate * jnp.minimum(1.0, after / jnp.maximum(count, 1))


_REFERENCE = Recipe(
    about="the GAN of Haiku's MNIST example: softmax losses, Adam 1e-4",
    steps=5_000,
    batch_size=64,
    latents=20,
    generator=ReferenceGenerator,
    discriminator=ReferenceDiscriminator,
    losses=Players(_losses.softmax_gen, _losses.softmax_disc),
    chains=Players(gan_adam(1e-4), gan_adam(1e-4)),
    equilibrium=_losses.SOFTMAX_EQUILIBRIUM,
)

RECIPES = {
    "best": _REFERENCE._replace(
        about="DCGAN networks, relativistic losses, lazy R1 and R2, an average",
        generator=lambda: DCGANGenerator((64, 32)),
        discriminator=lambda: DCGANDiscriminator((32, 64, 128)),
        losses=Players(_losses.relativistic_gen, _losses.relativistic_disc),
        chains=Players(
            gan_adam(_falling(1e-3, after=5_000), b2=0.99),
            gan_adam(_falling(1e-3, after=5_000), b2=0.99),
        ),
        equilibrium=_losses.RELATIVISTIC_EQUILIBRIUM,
        paired=True,
        penalty=_losses.Penalty(gamma=3.0, every=2, fake=True),
        average=0.999,
        normed=True,
    ),
    "fast": _REFERENCE._replace(
        about="the reference, normalised, averaged, and at ten times its rate",
        steps=3_000,
        generator=BatchNormGenerator,
        chains=Players(gan_adam(1e-3), gan_adam(1e-3)),
        average=0.99,
        normed=True,
    ),
    "private": _REFERENCE._replace(
        about="what its samples say of any one digit is bounded, by noise",
        batch_size=128,
        generator=lambda: DCGANGenerator((64, 32)),
        discriminator=lambda: DCGANDiscriminator((16, 32), logits=2),
        chains=Players(gan_adam(1e-3), gan_adam(1e-3)),
        average=0.99,
        privacy=Privacy(clip_norm=1.0, noise_multiplier=0.6),
        normed=True,
    ),
    "reference": _REFERENCE,
}


def find_recipe(name: str) -> Recipe:
    """Looks a recipe up.

    Args:
      name: what the user, or a run's config, calls it.

    Returns:
      The recipe.

    Raises:
      UserError: if there is none of that name.
    """
    if name not in RECIPES:
        raise UserError(f"recipe {name!r}: there is none; take {' or '.join(RECIPES)}")
    return RECIPES[name]

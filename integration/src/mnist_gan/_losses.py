"""The losses of the two players, and the penalty that keeps the discriminator smooth.

Each loss takes the logits of one batch, and returns a scalar. Nothing here knows about
networks' parameters, devices or optimizers.

References:
  Goodfellow et al., 2014, [Generative Adversarial
  Networks](https://arxiv.org/abs/1406.2661), section 3.
"""

import math
from collections.abc import Callable
from typing import NamedTuple, Protocol

import jax
import jax.numpy as jnp

from optax_chains import Players

# The discriminator's loss is a sum of two cross entropies, of log 2 each when it
# cannot tell; the generator's is one of them.
SOFTMAX_EQUILIBRIUM = Players(gen=math.log(2), disc=2 * math.log(2))
# The relativistic losses are one cross entropy each.
RELATIVISTIC_EQUILIBRIUM = Players(gen=math.log(2), disc=math.log(2))


class Loss(Protocol):
    """A player's loss."""

    def __call__(self, real_logits: jax.Array, fake_logits: jax.Array) -> jax.Array:
        """Returns a scalar, the mean over the batch, from logits float[batch, k]."""
        ...


class Penalty(NamedTuple):
    """A zero-centred gradient penalty on the discriminator, applied lazily.

    Attributes:
      gamma: its weight.
      every: it is computed each so many steps, with so many times the weight.
      fake: whether made digits are penalised (R2) beside real ones (R1).

    References:
      Mescheder, Geiger, Nowozin, Which Training Methods for GANs do actually Converge?,
      2018, section 4, https://arxiv.org/abs/1801.04406; Karras et al., Analyzing and
      Improving the Image Quality of StyleGAN, 2020, section 3.1, for the laziness,
      https://arxiv.org/abs/1912.04958
    """

    gamma: float
    every: int
    fake: bool


def softmax_gen(real_logits: jax.Array, fake_logits: jax.Array) -> jax.Array:
    """The generator's loss: how far from certain the discriminator is that D(G(z)) = 1.

    It is -log softmax(D(G(z)))[1], not -log(1 - softmax(D(G(z)))[1]), whose gradient
    vanishes while the discriminator wins.

    Args:
      real_logits: not looked at.
      fake_logits: float[batch, 2], of made images; class 1 is real.

    Returns:
      A scalar, the mean over the batch.
    """
    del real_logits
    # log_softmax, since the log of a softmax has NaN gradients from a gap of 90 on.
    return -jnp.mean(jax.nn.log_softmax(fake_logits)[:, 1])


def softmax_disc(real_logits: jax.Array, fake_logits: jax.Array) -> jax.Array:
    """The discriminator's loss: cross entropy of real as 1 plus that of made as 0.

    Args:
      real_logits: float[batch, 2], of real images; class 1 is real.
      fake_logits: float[batch, 2], of made images.

    Returns:
      A scalar, the mean over the batch of the sum of both.
    """
    real = jax.nn.log_softmax(real_logits)[:, 1]
    fake = jax.nn.log_softmax(fake_logits)[:, 0]
    return -jnp.mean(real + fake)


def relativistic_gen(real_logits: jax.Array, fake_logits: jax.Array) -> jax.Array:
    """The generator's loss where each made digit is held against one real digit.

    The mean of softplus(D(x) - D(G(z))): what counts is that the made one looks more
    real than its partner, so a discriminator cannot win by raising all its logits, and
    every mode of the data pulls.

    Args:
      real_logits: float[batch, 1], of real images.
      fake_logits: float[batch, 1], of made images.

    Returns:
      A scalar, the mean over the batch.

    References:
      Jolicoeur-Martineau, The relativistic discriminator, 2018, section 4.1,
      https://arxiv.org/abs/1807.00734; Huang et al., The GAN is dead; long live the
      GAN!, 2024, section 2, https://arxiv.org/abs/2501.05441
    """
    return jnp.mean(jax.nn.softplus(real_logits - fake_logits))


def relativistic_disc(real_logits: jax.Array, fake_logits: jax.Array) -> jax.Array:
    """The other side of `relativistic_gen`: the mean of softplus(D(G(z)) - D(x)).

    Args:
      real_logits: float[batch, 1], of real images.
      fake_logits: float[batch, 1], of made images.

    Returns:
      A scalar, the mean over the batch.
    """
    return jnp.mean(jax.nn.softplus(fake_logits - real_logits))


def gradient_penalty(
    logits: Callable[[jax.Array], jax.Array], images: jax.Array
) -> jax.Array:
    """Half the mean square of the discriminator's gradient by the image.

    Args:
      logits: the discriminator, images to float[batch, 1].
      images: where its gradient is taken, float[batch, height, width, channels].

    Returns:
      A scalar: the mean over the batch of |dD/dx|^2 / 2.
    """
    slopes = jax.grad(lambda x: jnp.sum(logits(x)))(images)
    return jnp.mean(jnp.sum(jnp.square(slopes), (1, 2, 3))) / 2

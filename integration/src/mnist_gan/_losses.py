"""The losses of the two players.

Each takes what the players see, and returns a scalar. Nothing here knows about
networks' parameters, devices or optimizers.

References:
  Goodfellow et al., 2014, [Generative Adversarial
  Networks](https://arxiv.org/abs/1406.2661), section 3.
"""

import math

import jax
import jax.numpy as jnp

from optax_chains import Players

# The discriminator's loss is a sum of two cross entropies, of log 2 each when it
# cannot tell; the generator's is one of them.
SOFTMAX_EQUILIBRIUM = Players(gen=math.log(2), disc=2 * math.log(2))


def softmax_gen(fake_logits: jax.Array) -> jax.Array:
    """The generator's loss: how far from certain the discriminator is that D(G(z)) = 1.

    It is -log softmax(D(G(z)))[1], not -log(1 - softmax(D(G(z)))[1]), whose gradient
    vanishes while the discriminator wins.

    Args:
      fake_logits: float[batch, 2], of made images; class 1 is real.

    Returns:
      A scalar, the mean over the batch.
    """
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

"""Adam as GANs want it: little momentum, a short memory of the scale."""

import optax

from optax_chains._checks import DECAY, MOMENTUM, check_numbers
from optax_chains._scale_by_rate import scale_by_rate


def gan_adam(
    learning_rate: optax.ScalarOrSchedule = 1e-4, *, b1: float = 0.5, b2: float = 0.9
) -> optax.GradientTransformation:
    """Adam with the momentum turned down, for adversarial training.

    The other player moves the target, so an average over many old gradients points the
    wrong way: `optax.adam`'s b1 = 0.9 makes a GAN oscillate. Use one chain for each
    player.

    Args:
      learning_rate: a number or a schedule of the step.
      b1: decay of the mean of the gradients; below 0 for negative momentum.
      b2: decay of the mean of their squares.

    Returns:
      A chain. Its state follows the dtypes and shardings of the parameters.

    Raises:
      ValueError: if `b1` is not between -1 and 1, `b2` not from 0 up to 1, or the rate
        negative or not finite.
      TypeError: if one is no number.

    Example:
      >>> import jax.numpy as jnp, optax
      >>> params = {"w": jnp.ones(2)}
      >>> chain = gan_adam(1e-2)
      >>> updates, _ = chain.update(params, chain.init(params))
      >>> updates["w"]
      Array([-0.01, -0.01], dtype=float32)

    References:
      Radford, Metz, Chintala, 2015, [Unsupervised Representation Learning with Deep
      Convolutional Generative Adversarial Networks](https://arxiv.org/abs/1511.06434),
      section 4, for b1 = 0.5.
    """
    check_numbers("gan_adam", MOMENTUM, b1=b1)
    check_numbers("gan_adam", DECAY, b2=b2)
    return optax.chain(optax.scale_by_adam(b1=b1, b2=b2), scale_by_rate(learning_rate))

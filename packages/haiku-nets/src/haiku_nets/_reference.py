"""The MNIST GAN that Haiku's own example trains: the pair to reproduce first.

Both networks are plain: no normalisation, no state, no randomness after the
initialisers, so `hk.transform` is all that they need. The recipe is that of the
notebook `mnist_gan` in the Haiku repository
(https://github.com/google-deepmind/dm-haiku/blob/main/examples/mnist_gan.ipynb).
"""

import haiku as hk
import jax
import jax.numpy as jnp

from haiku_nets._conv import Conv2D
from haiku_nets._conv_transpose import Conv2DTranspose

_LATENT = 20
_IMAGE = (28, 28, 1)


class ReferenceGenerator(hk.Module):
    """Makes images from latents, by a linear layer and two transposed convolutions.

    Linear to 7x7x64, relu, transposed convolution 5x5 with stride 2 to 32 channels,
    relu, the same to one channel, tanh: 117,889 parameters. It goes with
    `ReferenceDiscriminator`, and is meant as the point of comparison for better ones.

    Args:
      name: the module's name, for Haiku; by default `reference_generator`.

    Example:
      >>> import haiku as hk, jax, jax.numpy as jnp
      >>> generator = hk.without_apply_rng(
      ...     hk.transform(lambda z: ReferenceGenerator()(z))
      ... )
      >>> z = jax.random.normal(jax.random.key(0), (2, 20))
      >>> params = jax.eval_shape(generator.init, jax.random.key(1), z)
      >>> jax.eval_shape(generator.apply, params, z).shape
      (2, 28, 28, 1)

    References:
      Goodfellow et al., Generative Adversarial Networks, 2014, https://arxiv.org/abs/1406.2661
    """

    def __init__(self, *, name: str | None = None) -> None:
        super().__init__(name=name)

    def __call__(self, latents: jax.Array) -> jax.Array:
        """Makes one image a row.

        Args:
          latents: floats of shape [batch, 20], drawn from N(0, 1).

        Returns:
          Images of shape [batch, 28, 28, 1] in [-1, 1], of the latents' dtype.

        Raises:
          ValueError: if the latents have another shape.
        """
        check_latents("ReferenceGenerator", latents)
        x = hk.Linear(7 * 7 * 64)(latents)
        x = x.reshape(-1, 7, 7, 64)
        for channels in (32, 1):
            x = jax.nn.relu(x)
            x = Conv2DTranspose(channels, kernel_shape=5, stride=2)(x)
        return jnp.tanh(x)


class ReferenceDiscriminator(hk.Module):
    """Tells real images from made ones, by five convolutions and a linear layer.

    Convolutions 5x5 to 8, 16, 32, 64 and 128 channels with strides 2, 1, 2, 1 and 2,
    each followed by leaky relu with slope 0.2, then a linear layer to two logits:
    276,546 parameters.

    Args:
      name: the module's name, for Haiku; by default `reference_discriminator`.

    Example:
      >>> import haiku as hk, jax, jax.numpy as jnp
      >>> discriminator = hk.without_apply_rng(
      ...     hk.transform(lambda x: ReferenceDiscriminator()(x))
      ... )
      >>> images = jnp.zeros((2, 28, 28, 1))
      >>> params = jax.eval_shape(discriminator.init, jax.random.key(0), images)
      >>> jax.eval_shape(discriminator.apply, params, images).shape
      (2, 2)

    References:
      Radford et al., Unsupervised Representation Learning with Deep Convolutional
      Generative Adversarial Networks, 2015, https://arxiv.org/abs/1511.06434
    """

    def __init__(self, *, name: str | None = None) -> None:
        super().__init__(name=name)

    def __call__(self, images: jax.Array) -> jax.Array:
        """Judges one image a row.

        Args:
          images: floats of shape [batch, 28, 28, 1], scaled to [-1, 1].

        Returns:
          Logits of shape [batch, 2] of the images' dtype; class 1 is real.

        Raises:
          ValueError: if the images have another shape.
        """
        if images.ndim != 4 or images.shape[1:] != _IMAGE:
            raise ValueError(
                f"ReferenceDiscriminator found images of shape {images.shape}, wanted "
                f"(batch, {', '.join(map(str, _IMAGE))}): reshape them with "
                "images.reshape(-1, 28, 28, 1) and scale them to [-1, 1]."
            )
        x = images
        for channels, stride in zip((8, 16, 32, 64, 128), (2, 1, 2, 1, 2), strict=True):
            x = Conv2D(channels, kernel_shape=5, stride=stride)(x)
            x = jax.nn.leaky_relu(x, negative_slope=0.2)
        return hk.Linear(2)(hk.Flatten()(x))


def check_latents(generator: str, latents: jax.Array) -> None:
    """Checks what a generator is given.

    Args:
      generator: its class's name, for the message.
      latents: wanted of shape [batch, 20].

    Raises:
      ValueError: if the latents have another shape.
    """
    if latents.ndim != 2 or latents.shape[1] != _LATENT:
        raise ValueError(
            f"{generator} found latents of shape {latents.shape}, wanted (batch, "
            f"{_LATENT}): draw them with jax.random.normal(key, (batch, {_LATENT}))."
        )

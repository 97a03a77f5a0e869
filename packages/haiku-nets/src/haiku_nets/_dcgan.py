"""DCGAN's pair for small images: wider than the reference, with two convolutions each.

Radford et al. found which convolutional networks train as GANs: strided convolutions in
place of pooling, batch normalisation in the generator, leaky relu in the discriminator.
"""

import contextlib
import functools

import haiku as hk
import jax
import jax.numpy as jnp

from haiku_nets._batch_norm import BatchStatisticsNorm
from haiku_nets._conv import Conv2D
from haiku_nets._conv_transpose import Conv2DTranspose
from haiku_nets._spectral_norm import spectral_norm


class DCGANGenerator(hk.Module):
    """Makes square images from latents of any length, each layer twice as large.

    A linear layer to 7x7 places with the first number of channels, then a transposed
    convolution for each further number and one to the image's channels, normalised
    over the batch but for the last. An image depends on the batch that it is drawn in;
    see `BatchStatisticsNorm`.

    Args:
      channels: of the layers, from 7x7 upwards; with k numbers the images have
        7 * 2**k rows, so (128, 64) gives 28x28.
      image_channels: 1 for grey, 3 for colours.
      kernel_shape: of the convolutions.
      name: the module's name, for Haiku; by default `dcgan_generator`.

    Example:
      >>> import haiku as hk, jax
      >>> generator = hk.without_apply_rng(
      ...     hk.transform(lambda z: DCGANGenerator((8, 4))(z))
      ... )
      >>> z = jax.random.normal(jax.random.key(0), (16, 64))
      >>> params = jax.eval_shape(generator.init, jax.random.key(1), z)
      >>> jax.eval_shape(generator.apply, params, z).shape
      (16, 28, 28, 1)

    References:
      Radford, Metz, Chintala, Unsupervised Representation Learning with Deep
      Convolutional Generative Adversarial Networks, 2015, section 3,
      https://arxiv.org/abs/1511.06434
    """

    def __init__(
        self,
        channels: tuple[int, ...] = (128, 64),
        *,
        image_channels: int = 1,
        kernel_shape: int = 5,
        name: str | None = None,
    ) -> None:
        super().__init__(name=name or "dcgan_generator")
        self.channels = channels
        self.image_channels = image_channels
        self.kernel_shape = kernel_shape

    def __call__(self, latents: jax.Array) -> jax.Array:
        """Makes one image a row.

        Args:
          latents: floats of shape [batch, n], drawn from N(0, 1).

        Returns:
          Images of shape [batch, side, side, image_channels] in [-1, 1], of the
          latents' dtype.

        Raises:
          ValueError: if the latents have another rank.
        """
        if latents.ndim != 2:
            raise ValueError(
                f"DCGANGenerator found latents of shape {latents.shape}, wanted "
                "(batch, n): draw them with jax.random.normal(key, (batch, n))."
            )
        twice = functools.partial(
            Conv2DTranspose, kernel_shape=self.kernel_shape, stride=2
        )
        first, *rest = self.channels
        x = hk.Linear(7 * 7 * first, with_bias=False)(latents)
        x = x.reshape(-1, 7, 7, first)
        for channels in rest:
            x = jax.nn.relu(BatchStatisticsNorm()(x))
            x = twice(channels, with_bias=False)(x)
        x = jax.nn.relu(BatchStatisticsNorm()(x))
        return jnp.tanh(twice(self.image_channels)(x))


class DCGANDiscriminator(hk.Module):
    """Judges images by strided convolutions, leaky relu, and a linear layer.

    It has no normalisation over the batch, which would let it judge batches in place
    of images, and would tie the gradients of one image to the others.

    Args:
      channels: of the convolutions; each halves the image's sides.
      logits: how many numbers it gives for an image.
      spectral_norm: whether every kernel and matrix is divided by its largest singular
        value, which bounds how fast the judgement changes with the image.
      kernel_shape: of the convolutions.
      name: the module's name, for Haiku; by default `dcgan_discriminator`.

    Example:
      >>> import haiku as hk, jax, jax.numpy as jnp
      >>> discriminator = hk.without_apply_rng(
      ...     hk.transform(lambda x: DCGANDiscriminator((4, 8))(x))
      ... )
      >>> images = jnp.zeros((2, 28, 28, 1))
      >>> params = jax.eval_shape(discriminator.init, jax.random.key(0), images)
      >>> jax.eval_shape(discriminator.apply, params, images).shape
      (2, 1)

    References:
      Radford, Metz, Chintala, 2015, section 3, https://arxiv.org/abs/1511.06434;
      Miyato et al., Spectral Normalization for Generative Adversarial Networks, 2018,
      https://arxiv.org/abs/1802.05957
    """

    def __init__(
        self,
        channels: tuple[int, ...] = (32, 64),
        *,
        logits: int = 1,
        spectral_norm: bool = False,
        kernel_shape: int = 5,
        name: str | None = None,
    ) -> None:
        super().__init__(name=name or "dcgan_discriminator")
        self.channels = channels
        self.logits = logits
        self.spectral_norm = spectral_norm
        self.kernel_shape = kernel_shape

    def __call__(self, images: jax.Array) -> jax.Array:
        """Judges one image a row.

        Args:
          images: floats of shape [batch, height, width, channels], in [-1, 1].

        Returns:
          Logits of shape [batch, logits] of the images' dtype.

        Raises:
          ValueError: if the images have another rank.
        """
        if images.ndim != 4:
            raise ValueError(
                f"DCGANDiscriminator found images of shape {images.shape}, wanted "
                "(batch, height, width, channels): add the missing axis with "
                "images[..., None]."
            )
        with contextlib.ExitStack() as stack:
            if self.spectral_norm:
                stack.enter_context(hk.custom_getter(spectral_norm))
            x = images
            for channels in self.channels:
                x = Conv2D(channels, self.kernel_shape, stride=2)(x)
                x = jax.nn.leaky_relu(x, negative_slope=0.2)
            return hk.Linear(self.logits)(hk.Flatten()(x))

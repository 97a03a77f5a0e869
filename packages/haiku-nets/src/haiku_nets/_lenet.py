"""A small classifier of small images: the judge of what generators draw."""

from collections.abc import Sequence
from typing import NamedTuple

import haiku as hk
import jax

from haiku_nets._conv import Conv2D


class Judgement(NamedTuple):
    """What a classifier says of a batch of images.

    Attributes:
      logits: float[batch, classes].
      features: float[batch, n], the last hidden layer: images that look alike are
        close there, so distances between sets of images are taken in it.
    """

    logits: jax.Array
    features: jax.Array


class LeNet(hk.Module):
    """Two convolutions with pooling, two hidden layers, and the logits.

    The layout is LeNet-5's, with relu and max-pooling in place of what was usual in
    1998. With the default widths and 28x28 images it has 120,382 parameters; twelve
    epochs of shifted digits bring it to 99.58 per cent of MNIST's test digits. For
    photos take a residual network.

    Args:
      classes: how many there are.
      channels: of the two convolutions, 5x5 both.
      hidden: widths of the hidden layers; the last one's are the features.
      name: the module's name, for Haiku; by default `le_net`.

    Example:
      >>> import haiku as hk, jax, jax.numpy as jnp
      >>> net = hk.without_apply_rng(hk.transform(lambda x: LeNet()(x)))
      >>> images = jnp.zeros((2, 28, 28, 1))
      >>> params = jax.eval_shape(net.init, jax.random.key(0), images)
      >>> jax.eval_shape(net.apply, params, images).features.shape
      (2, 84)

    References:
      LeCun, Bottou, Bengio, Haffner, Gradient-Based Learning Applied to Document
      Recognition, 1998, section II, https://doi.org/10.1109/5.726791
    """

    def __init__(
        self,
        classes: int = 10,
        *,
        channels: tuple[int, int] = (16, 32),
        hidden: Sequence[int] = (120, 84),
        name: str | None = None,
    ) -> None:
        super().__init__(name=name)
        self.classes = classes
        self.channels = channels
        self.hidden = tuple(hidden)

    def __call__(self, images: jax.Array) -> Judgement:
        """Judges one image a row.

        Args:
          images: floats of shape [batch, height, width, channels], scaled to about
            [-1, 1]; height and width are those that the parameters were made for, and
            12 at least.

        Returns:
          Logits and features, of the images' dtype.

        Raises:
          ValueError: if the images have another rank, or are too small to pool twice.
        """
        if images.ndim != 4 or min(images.shape[1:3]) < 12:
            raise ValueError(
                f"LeNet found images of shape {images.shape}, wanted (batch, height, "
                "width, channels) with 12 rows and columns at least: add the missing "
                "axis with images[..., None], or enlarge the images."
            )
        first, second = self.channels
        x = jax.nn.relu(Conv2D(first, kernel_shape=5, padding="SAME")(images))
        x = hk.max_pool(x, (2, 2, 1), (2, 2, 1), "VALID")
        x = jax.nn.relu(Conv2D(second, kernel_shape=5, padding="VALID")(x))
        x = hk.Flatten()(hk.max_pool(x, (2, 2, 1), (2, 2, 1), "VALID"))
        for width in self.hidden:
            x = jax.nn.relu(hk.Linear(width)(x))
        return Judgement(hk.Linear(self.classes)(x), x)

"""A trained pair looked at by its derivatives: one of jax's transformations for each.

`hessian` of what the discriminator says of a made digit, by the latents; `jacfwd` for
the directions in which the generator moves; `jacrev` for the pixels that the
discriminator looks at; `vmap` of `grad` for what single digits ask of it.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mnist_gan import _game
from mnist_gan._recipes import Recipe


class Findings(NamedTuple):
    """What derivatives say of a trained pair, for a batch of latents and digits.

    Attributes:
      hessian_eigenvalues: float[n, latents], of the discriminator's opinion of a made
        digit by its latents, falling: how it curves where the generator works. Kinks
        of relu have no part in it.
      singular_values: float[n, latents], of the generator's Jacobian, falling: a small
        last one is a direction of the latents that changes nothing.
      directions: float[n, 3, 28, 28], the image's change along the first three.
      saliency: float[m, 28, 28], the slope of the opinion by each pixel of a real
        digit.
      gradient_norms: float[m], of the discriminator's loss at each real digit.
      made: float[n, 28, 28], the made digits, in [-1, 1].
      real: float[m, 28, 28], the real ones.
    """

    hessian_eigenvalues: np.ndarray
    singular_values: np.ndarray
    directions: np.ndarray
    saliency: np.ndarray
    gradient_norms: np.ndarray
    made: np.ndarray
    real: np.ndarray


def opinion(logits: jax.Array) -> jax.Array:
    """How real an image looks: float[..., k] -> float[...], in nats of log odds.

    Args:
      logits: of the discriminator: one number, or two of which the second is real's.
    """
    return logits[..., -1] - (logits[..., 0] if logits.shape[-1] == 2 else 0)


class Derivatives:
    """The functions that are differentiated, of single latents and images.

    A generator that normalises over its batch has no derivative by one latent alone, so
    each latent is looked at beside the same others.

    Args:
      recipe: of the run.
      gen_params: the generator's parameters.
      disc_params: the discriminator's.
      others: float[b, latents], latents that each is drawn beside.
    """

    def __init__(
        self, recipe: Recipe, gen_params: Any, disc_params: Any, others: jax.Array
    ) -> None:
        nets = _game.networks(recipe)
        self._gen, self._disc = nets.gen.apply, nets.disc.apply
        self._gen_params, self._disc_params = gen_params, disc_params
        self._others = others

    def make(self, latent: jax.Array) -> jax.Array:
        """float[latents] -> the digit, float[28, 28]."""
        together = jnp.concatenate([latent[None], self._others])
        return self._gen(self._gen_params, together)[0, ..., 0]

    def judge(self, image: jax.Array) -> jax.Array:
        """float[28, 28] -> how real it looks, float[]."""
        return opinion(self._disc(self._disc_params, image[None, ..., None])[0])

    def judge_made(self, latent: jax.Array) -> jax.Array:
        """float[latents] -> how real its digit looks, float[]."""
        return self.judge(self.make(latent))

    def real_loss(self, disc_params: Any, image: jax.Array) -> jax.Array:
        """What the discriminator loses at one real digit: -log of its probability."""
        logits = self._disc(disc_params, image[None, ..., None])[0]
        return jax.nn.softplus(-opinion(logits))

    @property
    def disc_params(self) -> Any:
        """The discriminator's parameters."""
        return self._disc_params


def inspect(derivatives: Derivatives, latents: jax.Array, real: jax.Array) -> Findings:
    """Takes all derivatives.

    Args:
      derivatives: of the pair.
      latents: float[n, k], to look at.
      real: float[m, 28, 28], real digits in [-1, 1].

    Returns:
      The findings, in NumPy.
    """
    d = derivatives

    @jax.jit
    def of_latent(latent: jax.Array) -> tuple[jax.Array, ...]:
        curvature = jnp.linalg.eigvalsh(jax.hessian(d.judge_made)(latent))[::-1]
        jacobian = jax.jacfwd(d.make)(latent)
        u, s, _ = jnp.linalg.svd(jacobian.reshape(-1, latent.size), full_matrices=False)
        along = u.T[:3].reshape(3, *jacobian.shape[:2])
        return curvature, s, along, d.make(latent)

    @jax.jit
    def of_real(images: jax.Array) -> tuple[jax.Array, jax.Array]:
        slopes = jax.vmap(jax.jacrev(d.judge))(images)
        grads = jax.vmap(jax.grad(d.real_loss), (None, 0))(d.disc_params, images)
        squares = [
            jnp.sum(jnp.square(g.reshape(len(images), -1)), 1)
            for g in jax.tree.leaves(grads)
        ]
        return slopes, jnp.sqrt(sum(squares))

    rows = [jax.device_get(of_latent(latent)) for latent in latents]
    curvature, singular, along, made = map(np.stack, zip(*rows, strict=True))
    saliency, norms = jax.device_get(of_real(real))
    return Findings(curvature, singular, along, saliency, norms, made, np.asarray(real))

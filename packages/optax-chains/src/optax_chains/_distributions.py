"""What a distribution must know to be differentiated, and the Normal, which does."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp


class Distribution(Protocol):
    """Something to draw from: the whole of what most estimators ask for."""

    def sample(self, key: jax.Array) -> Any:
        """Draws one sample."""
        ...

    def log_prob(self, x: Any) -> jax.Array:
        """Returns the logarithm of a sample's density or probability: a scalar."""
        ...


class WeakDerivative(NamedTuple):
    """d p / d parameter = constant (p_plus - p_minus), for each number of a parameter.

    Attributes:
      constant: [n], or a scalar for all.
      plus: a sample of p_plus for each of the n numbers: [n, *event].
      minus: the same of p_minus. The closer the two are coupled, the less variance.
      shape: the shape of the parameter, of n numbers.
    """

    constant: Any
    plus: Any
    minus: Any
    shape: tuple[int, ...]


class HasWeakDerivatives(Protocol):
    """A distribution for `measure_valued_jacobians`: a pytree of its parameters."""

    def weak_derivatives(self, key: jax.Array) -> Sequence[WeakDerivative]:
        """Returns one for each leaf of the distribution, in the order of the leaves."""
        ...


class Normal(NamedTuple):
    """Independent Gaussians.

    Attributes:
      mean: any shape.
      scale: standard deviations, of the same shape.

    Example:
      >>> import jax, jax.numpy as jnp
      >>> Normal(jnp.zeros(3), jnp.ones(3)).sample(jax.random.key(0)).shape
      (3,)

    References:
      Mohamed et al., 2020, [Monte Carlo Gradient
      Estimation](https://arxiv.org/abs/1906.10652), table 1, for the weak derivatives.
    """

    mean: jax.Array
    scale: jax.Array

    def sample(self, key: jax.Array) -> jax.Array:
        """Draws one sample of the shape of the mean."""
        noise = jax.random.normal(key, jnp.shape(self.mean), jnp.result_type(self.mean))
        return self.mean + self.scale * noise

    def log_prob(self, x: jax.Array) -> jax.Array:
        """Returns the logarithm of the joint density: a scalar."""
        return jnp.sum(jax.scipy.stats.norm.logpdf(x, self.mean, self.scale))

    def weak_derivatives(self, key: jax.Array) -> Sequence[WeakDerivative]:
        """By the mean: two Weibulls. By the scale: a two-sided Maxwell and a Normal."""
        rest_key, weibull_key, maxwell_key, uniform_key = jax.random.split(key, 4)
        shape, n = jnp.shape(self.mean), jnp.size(self.mean)
        x = self.sample(rest_key).reshape(n)
        mean, scale = jnp.reshape(self.mean, n), jnp.reshape(self.scale, n)

        def replaced(values: jax.Array) -> jax.Array:
            """The sample, n times, each with another of its numbers replaced."""
            return jnp.where(jnp.eye(n, dtype=bool), values, x).reshape(n, *shape)

        # A Weibull of shape 2 and scale sqrt(2) is a Rayleigh.
        rayleigh = jnp.sqrt(-2 * jnp.log1p(-jax.random.uniform(weibull_key, (n,))))
        # The length of three Gaussians is a Maxwell; with a random sign, two-sided.
        # Times a uniform number it is a Gaussian: the coupling.
        three = jax.random.normal(maxwell_key, (3, n))
        maxwell = jnp.sign(three[0]) * jnp.sqrt(jnp.sum(three**2, 0))
        gaussian = jax.random.uniform(uniform_key, (n,)) * maxwell
        return (
            WeakDerivative(
                1 / (scale * jnp.sqrt(2 * jnp.pi)),
                replaced(mean + scale * rayleigh),
                replaced(mean - scale * rayleigh),
                shape,
            ),
            WeakDerivative(
                1 / scale,
                replaced(mean + scale * maxwell),
                replaced(mean + scale * gaussian),
                shape,
            ),
        )

"""Gradients of an expectation whose parameters are those of the distribution.

d/d theta E[f(x)], x ~ p_theta, from samples. Three ways, one signature:

- `score_function_jacobians`: any f, any distribution with a differentiable log
  probability, discrete ones too; the largest variance.
- `pathwise_jacobians`: f and the sample must be differentiable.
- `measure_valued_jacobians`: any f; the distribution must know its weak derivatives;
  two values of f a parameter.

`control_variates_jacobians` takes any of them and lowers its variance.

References:
  Mohamed, Rosca, Figurnov, Mnih, 2020, [Monte Carlo Gradient Estimation in Machine
  Learning](https://arxiv.org/abs/1906.10652).
"""

from collections.abc import Callable
from typing import Any, Protocol

import jax

from optax_chains._checks import check_counts, check_key, scalar_of
from optax_chains._distributions import Distribution, HasWeakDerivatives


class Estimator(Protocol):
    """What the estimators are: samples of a gradient."""

    def __call__(
        self,
        function: Callable[[Any], Any],
        params: Any,
        dist_builder: Callable[[Any], Any],
        key: jax.Array,
        *,
        num_samples: int,
    ) -> Any:
        """Returns a tree like `params`, each leaf with a leading axis of samples."""
        ...


def score_function_jacobians(
    function: Callable[[Any], Any],
    params: Any,
    dist_builder: Callable[[Any], Distribution],
    key: jax.Array,
    *,
    num_samples: int,
) -> Any:
    """Samples of f(x) d log p(x) / d theta: REINFORCE.

    For functions that cannot be differentiated and for discrete distributions. Its
    variance grows with f's distance from zero; take a baseline off with
    `control_variates_jacobians`.

    Args:
      function: f, of one sample, to a scalar.
      params: theta, a pytree of arrays.
      dist_builder: theta -> a distribution with `sample(key)` and `log_prob(x)`.
      key: for the samples.
      num_samples: how many.

    Returns:
      A tree like `params`, each leaf [num_samples, *shape]. The mean over the first
      axis is the estimate; it is unbiased.

    Raises:
      ValueError: if f does not give a scalar, or `num_samples` is below 1.
      TypeError: if `num_samples` is no whole number, or `key` no key.

    Example:
      >>> import jax, jax.numpy as jnp
      >>> from optax_chains import Normal
      >>> jacobians = score_function_jacobians(
      ...     jnp.sum, jnp.zeros(2), lambda mean: Normal(mean, jnp.ones(2)),
      ...     jax.random.key(0), num_samples=5,
      ... )
      >>> jacobians.shape
      (5, 2)

    References:
      Williams, 1992, [Simple Statistical Gradient-Following
      Algorithms](https://doi.org/10.1007/BF00992696); Mohamed et al., 2020, [Monte
      Carlo Gradient Estimation](https://arxiv.org/abs/1906.10652), equation 13.
    """
    function = _checked("score_function_jacobians", function, key, num_samples)
    dist = dist_builder(params)

    def one(key: jax.Array) -> Any:
        x = jax.lax.stop_gradient(dist.sample(key))
        score = jax.grad(lambda theta: dist_builder(theta).log_prob(x))(params)
        value = function(x)
        return jax.tree.map(lambda s: (value * s).astype(s.dtype), score)

    return jax.vmap(one)(jax.random.split(key, num_samples))


def pathwise_jacobians(
    function: Callable[[Any], Any],
    params: Any,
    dist_builder: Callable[[Any], Distribution],
    key: jax.Array,
    *,
    num_samples: int,
) -> Any:
    """Samples of d f(x(theta)) / d theta: the reparameterisation.

    The first choice where f is differentiable and `sample` is a differentiable function
    of the parameters. For a discrete sample the answer is zero, and wrong.

    Args:
      function: f, of one sample, to a scalar.
      params: theta, a pytree of arrays.
      dist_builder: theta -> a distribution with a differentiable `sample(key)`.
      key: for the samples.
      num_samples: how many.

    Returns:
      A tree like `params`, each leaf [num_samples, *shape].

    Raises:
      ValueError: if f does not give a scalar, or `num_samples` is below 1.
      TypeError: if `num_samples` is no whole number, or `key` no key.

    Example:
      >>> import jax, jax.numpy as jnp
      >>> from optax_chains import Normal
      >>> jacobians = pathwise_jacobians(
      ...     jnp.sum, jnp.zeros(2), lambda mean: Normal(mean, jnp.ones(2)),
      ...     jax.random.key(0), num_samples=1,
      ... )
      >>> jacobians
      Array([[1., 1.]], dtype=float32)

    References:
      Kingma, Welling, 2014, [Auto-Encoding Variational
      Bayes](https://arxiv.org/abs/1312.6114), section 2.4; Mohamed et al., 2020, [Monte
      Carlo Gradient Estimation](https://arxiv.org/abs/1906.10652), equation 25.
    """
    function = _checked("pathwise_jacobians", function, key, num_samples)

    def one(key: jax.Array) -> Any:
        return jax.grad(lambda theta: function(dist_builder(theta).sample(key)))(params)

    return jax.vmap(one)(jax.random.split(key, num_samples))


def measure_valued_jacobians(
    function: Callable[[Any], Any],
    params: Any,
    dist_builder: Callable[[Any], HasWeakDerivatives],
    key: jax.Array,
    *,
    num_samples: int,
) -> Any:
    """Samples of c (f(x+) - f(x-)): the derivative of the distribution as a difference.

    The derivative of a density is a difference of two densities, times a constant;
    draw from both, for one number of the distribution at a time. For functions that
    cannot be differentiated, with far less variance than the score function, at the
    price of two values of f for every number of the distribution.

    Args:
      function: f, of one sample, to a scalar.
      params: theta, a pytree of arrays.
      dist_builder: theta -> a distribution that is a pytree of its own parameters and
        has `weak_derivatives(key)`; `Normal` is one.
      key: for the samples.
      num_samples: how many.

    Returns:
      A tree like `params`, each leaf [num_samples, *shape].

    Raises:
      ValueError: if f does not give a scalar, or `num_samples` is below 1.
      TypeError: if `num_samples` is no whole number, or `key` no key.

    Example:
      >>> import jax, jax.numpy as jnp
      >>> from optax_chains import Normal
      >>> jacobians = measure_valued_jacobians(
      ...     lambda x: jnp.sum(x > 0.0), jnp.zeros(2),
      ...     lambda mean: Normal(mean, jnp.ones(2)), jax.random.key(0), num_samples=5,
      ... )
      >>> jacobians.shape
      (5, 2)

    References:
      Pflug, 1989, [Sampling derivatives of
      probabilities](https://doi.org/10.1007/BF02243227); Mohamed et al., 2020, [Monte
      Carlo Gradient Estimation](https://arxiv.org/abs/1906.10652), section 6 and table
      1.
    """
    function = _checked("measure_valued_jacobians", function, key, num_samples)
    dist, to_params = jax.vjp(dist_builder, params)

    def one(key: jax.Array) -> Any:
        def difference(weak: Any) -> jax.Array:
            plus, minus = jax.vmap(function)(weak.plus), jax.vmap(function)(weak.minus)
            return (weak.constant * (plus - minus)).reshape(weak.shape)

        weak = dist.weak_derivatives(key)
        leaves = [
            difference(w).astype(p.dtype)
            for w, p in zip(weak, jax.tree.leaves(dist), strict=True)
        ]
        (jacobian,) = to_params(jax.tree.unflatten(jax.tree.structure(dist), leaves))
        return jacobian

    return jax.vmap(one)(jax.random.split(key, num_samples))


def _checked(
    where: str, function: Callable[[Any], Any], key: Any, num_samples: Any
) -> Callable[[Any], Any]:
    check_key(where, key)
    check_counts(where, num_samples=num_samples)
    return scalar_of(where, function)

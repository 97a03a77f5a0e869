"""Less variance in a gradient estimate, for the price of something known exactly."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp

from optax_chains._checks import (
    ANY,
    DECAY,
    check_counts,
    check_key,
    check_numbers,
    scalar_of,
)
from optax_chains._estimators import Estimator


class ControlVariate(NamedTuple):
    """A function h beside f, whose expectation is known.

    Attributes:
      init: `() -> state`.
      value: `(dist, x, state) -> h(x)`; h is the same for all samples, so what it
        takes from the distribution is a constant to it.
      expected: `(dist, frozen, state) -> E[h(x)]` for x from `dist`, where h is the
        one of the distribution `frozen`; differentiable by `dist`.
      update: `(state, f(x) of all samples) -> state`.
    """

    init: Callable[[], Any]
    value: Callable[[Any, Any, Any], jax.Array]
    expected: Callable[[Any, Any, Any], jax.Array]
    update: Callable[[Any, jax.Array], Any]


class BaselineState(NamedTuple):
    """State of `moving_average_baseline`.

    Attributes:
      total: float[], the weighted sum of the means of f.
      weight: float[], the sum of the weights.
    """

    total: jax.Array
    weight: jax.Array


class HasMean(Protocol):
    """A distribution that `delta_method` can expand around: `Normal` is one."""

    @property
    def mean(self) -> jax.Array:
        """The expectation of a sample."""
        ...

    @property
    def scale(self) -> jax.Array:
        """The standard deviations of a sample's independent numbers."""
        ...


def moving_average_baseline(*, decay: float = 0.99) -> ControlVariate:
    """The mean of f over past calls, for `score_function_jacobians`.

    Takes off what all values of f have in common; the first call has none yet. It is
    of earlier samples only, so the estimate stays unbiased.

    Args:
      decay: the share of the old mean that stays at each call.

    Returns:
      A control variate with a `BaselineState`.

    Raises:
      ValueError: if `decay` is not from 0 up to 1, and below it.
      TypeError: if it is no number.

    Example:
      >>> import jax.numpy as jnp
      >>> baseline = moving_average_baseline(decay=0.5)
      >>> state = baseline.update(baseline.init(), jnp.array([1.0, 3.0]))
      >>> float(baseline.value(None, None, state))
      2.0

    References:
      Williams, 1992, [Simple Statistical Gradient-Following
      Algorithms](https://doi.org/10.1007/BF00992696), "reinforcement baseline".
    """
    check_numbers("moving_average_baseline", DECAY, decay=decay)

    def init() -> BaselineState:
        return BaselineState(jnp.zeros(()), jnp.zeros(()))

    def value(dist: Any, x: Any, state: Any) -> jax.Array:
        del dist, x
        return state.total / jnp.where(state.weight == 0, 1, state.weight)

    def expected(dist: Any, frozen: Any, state: Any) -> jax.Array:
        return value(dist, frozen, state)

    def update(state: Any, values: jax.Array) -> BaselineState:
        return BaselineState(
            decay * state.total + (1 - decay) * jnp.mean(values),
            decay * state.weight + (1 - decay),
        )

    return ControlVariate(init, value, expected, update)


def delta_method(function: Callable[[jax.Array], Any]) -> ControlVariate:
    """The second-order Taylor expansion of f around the mean, for a Gaussian.

    Its expectation is f(mean) + sum(scale^2 diag(H)) / 2 in closed form. Good where f
    is smooth and the distribution narrow; it costs a Hessian of f, so for few
    dimensions.

    Args:
      function: f, twice differentiable, of a sample of the mean's shape.

    Returns:
      A control variate without state, for distributions with `mean` and `scale` and
      independent numbers.

    Raises:
      ValueError: when it runs, if f does not give a scalar.

    Example:
      >>> import jax.numpy as jnp
      >>> from optax_chains import Normal
      >>> square = delta_method(lambda x: jnp.sum(x**2))
      >>> dist = Normal(jnp.array([3.0]), jnp.array([2.0]))
      >>> float(square.expected(dist, dist, ()))
      13.0

    References:
      Paisley, Blei, Jordan, 2012, [Variational Bayesian Inference with Stochastic
      Search](https://arxiv.org/abs/1206.6430), section 3.2; Mohamed et al., 2020,
      [Monte Carlo Gradient Estimation](https://arxiv.org/abs/1906.10652), section
      7.4.2.
    """
    function = scalar_of("delta_method", function)

    def expansion(mean: jax.Array) -> tuple[Any, jax.Array, jax.Array]:
        n, flat = jnp.size(mean), jnp.reshape(mean, -1)

        def of_flat(x: jax.Array) -> Any:
            return function(x.reshape(jnp.shape(mean)))

        value, slope = jax.value_and_grad(of_flat)(flat)
        return value, slope, jax.hessian(of_flat)(flat).reshape(n, n)

    def value(dist: HasMean, x: Any, state: Any) -> jax.Array:
        del state
        at, slope, curvature = expansion(dist.mean)
        d = jnp.reshape(x - dist.mean, -1)
        return at + slope @ d + 0.5 * d @ curvature @ d

    def expected(dist: HasMean, frozen: HasMean, state: Any) -> jax.Array:
        del state
        at, slope, curvature = expansion(frozen.mean)
        d = jnp.reshape(dist.mean - frozen.mean, -1)
        variance = jnp.reshape(dist.scale, -1) ** 2
        spread = jnp.diag(curvature) @ variance
        return at + slope @ d + 0.5 * (d @ curvature @ d + spread)

    def update(state: Any, values: Any) -> Any:
        del values
        return state

    return ControlVariate(tuple, value, expected, update)


def control_variates_jacobians(
    function: Callable[[Any], Any],
    control_variate: ControlVariate,
    estimator: Estimator,
    params: Any,
    dist_builder: Callable[[Any], Any],
    *,
    key: jax.Array,
    num_samples: int,
    state: Any = None,
    coefficient: float | None = 1.0,
    coefficient_samples: int = 32,
) -> tuple[Any, Any]:
    """Samples of a gradient with a control variate taken off and its mean put back.

    jacobians(f) - c (jacobians(h) - d/d theta E[h]), on the same samples for f and h.
    Unbiased, since c is a constant or comes from samples of its own.

    Args:
      function: f, of one sample, to a scalar.
      control_variate: h, `moving_average_baseline` or `delta_method`, or your own.
      estimator: `score_function_jacobians`, `pathwise_jacobians` or
        `measure_valued_jacobians`.
      params: theta, a pytree of arrays.
      dist_builder: theta -> a distribution.
      key: for the samples.
      num_samples: how many.
      state: the control variate's, from the last call; None for a new one.
      coefficient: c; None for the one of least variance, cov(f, h) / var(h) for every
        number of theta, estimated on `coefficient_samples` samples more.
      coefficient_samples: how many to estimate it with, 2 or more.

    Returns:
      (jacobians, state): a tree like `params`, each leaf [num_samples, *shape], and
      the state for the next call.

    Raises:
      ValueError: if f does not give a scalar, or a number of samples is too low.
      TypeError: if one is no whole number, `coefficient` no number, or `key` no key.

    Example:
      >>> import jax, jax.numpy as jnp
      >>> from optax_chains import Normal, pathwise_jacobians
      >>> square = lambda x: jnp.sum(x**2)
      >>> jacobians, _ = control_variates_jacobians(
      ...     square, delta_method(square), pathwise_jacobians, jnp.array([3.0]),
      ...     lambda mean: Normal(mean, jnp.ones(1)), key=jax.random.key(0),
      ...     num_samples=2,
      ... )
      >>> [[round(float(j), 3) for j in row] for row in jacobians]  # no variance left
      [[6.0], [6.0]]

    References:
      Mohamed et al., 2020, [Monte Carlo Gradient
      Estimation](https://arxiv.org/abs/1906.10652), section 7.1, equations 49 and 52.
    """
    where = "control_variates_jacobians"
    check_key(where, key)
    check_counts(where, num_samples=num_samples)
    check_counts(where, low=2, coefficient_samples=coefficient_samples)
    if coefficient is not None:
        check_numbers(where, ANY, coefficient=coefficient)
    function = scalar_of(where, function)
    state = control_variate.init() if state is None else state
    frozen = jax.lax.stop_gradient(dist_builder(params))
    sample_key, coefficient_key = jax.random.split(key)

    def h(x: Any) -> jax.Array:
        return control_variate.value(frozen, x, state)

    def both(key: jax.Array, n: int) -> tuple[Any, Any]:
        of_f = estimator(function, params, dist_builder, key, num_samples=n)
        return of_f, estimator(h, params, dist_builder, key, num_samples=n)

    exact = jax.grad(
        lambda theta: control_variate.expected(dist_builder(theta), frozen, state)
    )(params)
    of_f, of_h = both(sample_key, num_samples)
    if coefficient is None:
        c = jax.tree.map(_regression, *both(coefficient_key, coefficient_samples))
    else:
        c = jax.tree.map(lambda leaf: jnp.asarray(coefficient, leaf.dtype), exact)
    jacobians = jax.tree.map(lambda f, h, e, c: f - c * (h - e), of_f, of_h, exact, c)
    samples = jax.vmap(frozen.sample)(jax.random.split(sample_key, num_samples))
    return jacobians, control_variate.update(state, jax.vmap(function)(samples))


def _regression(of_f: jax.Array, of_h: jax.Array) -> jax.Array:
    """The slope of f's jacobians on h's, number by number; 0 where h's are constant."""
    f, h = of_f - of_f.mean(0), of_h - of_h.mean(0)
    variance = jnp.sum(h * h, 0)
    return jnp.sum(f * h, 0) / jnp.where(variance == 0, 1, variance)

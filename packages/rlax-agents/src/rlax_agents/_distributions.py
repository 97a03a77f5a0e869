"""Policies: what a network's outputs say about actions.

A policy is a NamedTuple of arrays, hence a pytree. All but the last axis are those of
the states it is of. The losses ask for a `Policy`; any pytree with these methods is
one, such as a distribution of distrax.
"""

import math
from typing import Any, NamedTuple, Protocol, Self, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import erf

from rlax_agents._checks import (
    ArgumentError,
    check_actions,
    check_float,
    check_floats,
    check_range,
    check_shape,
)
from rlax_agents._mean import widen

_NARROW = 0.7


@runtime_checkable
class Policy(Protocol):
    """A distribution of actions in each of many states; a pytree of float arrays."""

    def log_prob(self, a: Any) -> jax.Array:
        """Log-probabilities, or log-densities, of one action in each state."""
        ...

    def entropy(self) -> jax.Array:
        """The entropy in each state."""
        ...

    def kl(self, other: Self) -> jax.Array:
        """The divergence in each state from this policy to another of its kind."""
        ...

    def sample(self, key: jax.Array) -> jax.Array:
        """One random action in each state."""
        ...

    def mode(self) -> jax.Array:
        """The most likely action in each state."""
        ...


class Categorical(NamedTuple):
    """One of n actions, by logits. Logits of -inf are actions that cannot be taken.

    Attributes:
      logits: float[..., actions], log-probabilities up to a constant for each state
        (and not probabilities: for those, take their logarithm).

    Example:
      >>> import jax.numpy as jnp
      >>> pi = Categorical(jnp.log(jnp.array([[0.25, 0.75], [1.0, 0.0]])))
      >>> jnp.exp(pi.log_prob(jnp.array([1, 0]))).tolist()
      [0.75, 1.0]
      >>> pi.mode().tolist(), pi.entropy().round(3).tolist()
      ([1, 0], [0.562, 0.0])
    """

    logits: Any

    def log_prob(self, a: Any) -> jax.Array:
        """Log-probabilities of actions, int[...]."""
        where = "Categorical.log_prob"
        logits = check_float(where, "logits", self.logits)
        *shape, n = logits.shape
        a = check_actions(where, "a", a, shape, n=n, like="the states")
        return jnp.take_along_axis(self._log_p(), a[..., None], -1).squeeze(-1)

    def entropy(self) -> jax.Array:
        """The entropy in each state, between 0 and log(actions)."""
        return -_expect(self._log_p(), self._log_p())

    def kl(self, other: "Categorical") -> jax.Array:
        """The divergence to a policy over the same actions."""
        log_p, log_q = self._log_p(), Categorical._log_p(other)
        check_shape("Categorical.kl", "other", log_q, log_p.shape, like="logits")
        return _expect(log_p, log_p) - _expect(log_p, log_q)

    def sample(self, key: jax.Array) -> jax.Array:
        """Random actions, int32[...]."""
        return jax.random.categorical(key, self.logits).astype(jnp.int32)

    def mode(self) -> jax.Array:
        """The most likely actions, int32[...]."""
        return jnp.argmax(self.logits, axis=-1).astype(jnp.int32)

    def _log_p(self) -> jax.Array:
        return jax.nn.log_softmax(check_float("Categorical", "logits", self.logits))


def _expect(log_p: jax.Array, values: jax.Array) -> jax.Array:
    """The mean of values; what has no probability has no part in it, not even -inf."""
    possible = log_p > -jnp.inf
    p = jnp.exp(jnp.where(possible, log_p, -jnp.inf))
    return (p * jnp.where(possible, values, 0)).sum(-1)


class DiagonalGaussian(NamedTuple):
    """Actions that are vectors of independent normal numbers.

    Attributes:
      mean: float[..., dimensions].
      scale: float like mean, standard deviations, above 0.

    Example:
      >>> import jax.numpy as jnp
      >>> pi = DiagonalGaussian(jnp.zeros((1, 2)), jnp.ones((1, 2)))
      >>> pi.log_prob(jnp.zeros((1, 2))).round(3).tolist()
      [-1.838]
      >>> pi.kl(pi._replace(mean=pi.mean + 1)).tolist()
      [1.0]
    """

    mean: Any
    scale: Any

    def log_prob(self, a: Any) -> jax.Array:
        """Log-densities of actions, float[..., dimensions]."""
        where = "DiagonalGaussian.log_prob"
        mean, scale, a = check_floats(where, mean=self.mean, scale=self.scale, a=a)
        check_scale(where, scale)
        z = (a - mean) / scale
        return -(z**2 / 2 + jnp.log(scale) + math.log(2 * math.pi) / 2).sum(-1)

    def entropy(self) -> jax.Array:
        """The differential entropy in each state."""
        _, scale = check_floats(
            "DiagonalGaussian.entropy", mean=self.mean, scale=self.scale
        )
        check_scale("DiagonalGaussian.entropy", scale)
        return (jnp.log(scale) + math.log(2 * math.pi * math.e) / 2).sum(-1)

    def kl(self, other: "DiagonalGaussian") -> jax.Array:
        """The divergence to another Gaussian."""
        return gaussian_kl(self, other).sum(-1)

    def sample(self, key: jax.Array) -> jax.Array:
        """Random actions, float[..., dimensions]; gradients flow to mean and scale."""
        mean, scale = check_floats(
            "DiagonalGaussian.sample", mean=self.mean, scale=self.scale
        )
        return mean + scale * jax.random.normal(key, mean.shape, mean.dtype)

    def mode(self) -> jax.Array:
        """The means."""
        return jnp.asarray(self.mean)


class TanhGaussian(NamedTuple):
    """Actions within (-1, 1): the tanh of those of a diagonal Gaussian.

    Attributes:
      mean: float[..., dimensions], before the tanh.
      scale: float like mean, standard deviations before the tanh, above 0.

    Example:
      >>> import jax, jax.numpy as jnp
      >>> pi = TanhGaussian(jnp.zeros((3, 1)), jnp.full((3, 1), 100.0))
      >>> bool(jnp.isfinite(pi.log_prob(pi.sample(jax.random.key(0)))).all())
      True

    References:
      Haarnoja et al., 2018, [Soft Actor-Critic](https://arxiv.org/abs/1801.01290),
      appendix C.
    """

    mean: Any
    scale: Any

    def log_prob(self, a: Any) -> jax.Array:
        """Log-densities of actions, float[..., dimensions] in [-1, 1].

        Floats round the tanh of large numbers to 1, where the density has no value;
        such actions count as the nearest float below.
        """
        a = check_float("TanhGaussian.log_prob", "a", a)
        check_range("TanhGaussian.log_prob", "a", a, -1.0, 1.0)
        inside = 1 - float(jnp.finfo(a.dtype).epsneg)
        x = jnp.arctanh(jnp.clip(a, -inside, inside))
        return self._gaussian().log_prob(x) - _log_slope(x).sum(-1)

    def entropy(self) -> jax.Array:
        """The differential entropy in each state, by quadrature.

        It has no closed form. Its error is below 1e-4, and no key is asked for.
        """
        where = "TanhGaussian.entropy"
        mean, scale = check_floats(where, mean=self.mean, scale=self.scale)
        entropy = DiagonalGaussian(mean, scale).entropy()
        shrinks = _expect_log_slope(widen(mean), widen(scale))
        return entropy + shrinks.astype(entropy.dtype)

    def kl(self, other: "TanhGaussian") -> jax.Array:
        """The divergence to another policy; the tanh does not change it."""
        return self._gaussian().kl(DiagonalGaussian(*other))

    def sample(self, key: jax.Array) -> jax.Array:
        """Random actions, float[..., dimensions]; gradients flow to mean and scale."""
        return jnp.tanh(self._gaussian().sample(key))

    def mode(self) -> jax.Array:
        """The tanh of the means: the median, and what is taken when not exploring."""
        return jnp.tanh(jnp.asarray(self.mean))

    def _gaussian(self) -> DiagonalGaussian:
        return DiagonalGaussian(self.mean, self.scale)


def _log_slope(x: jax.Array) -> jax.Array:
    """log(1 - tanh(x)^2), which rounds to -inf when it is spelled so."""
    return 2 * (math.log(2) - jnp.abs(x) - jax.nn.softplus(-2 * jnp.abs(x)))


def _expect_log_slope(mean: jax.Array, scale: jax.Array) -> jax.Array:
    """The mean of `_log_slope` under a Gaussian, to 1e-5.

    It is smooth but bends from one line to another within a few units. A narrow
    Gaussian sees a smooth function, which Gauss-Hermite nodes suit. For a wide one the
    lines are integrated exactly, and the bend, which dies away like exp(-2|x|), by
    Gauss-Laguerre nodes.
    """
    narrow = scale < _NARROW
    nodes, weights = np.polynomial.hermite_e.hermegauss(16)
    s = jnp.where(narrow, scale, _NARROW)[..., None]
    x = jnp.expand_dims(jnp.asarray(nodes, mean.dtype), range(mean.ndim))
    weights = jnp.asarray(weights / weights.sum(), mean.dtype)
    smooth = _log_slope(mean[..., None] + s * x) @ weights

    nodes, weights = np.polynomial.laguerre.laggauss(16)
    bend = np.log1p(np.exp(-nodes)) * np.exp(nodes) * weights
    s, m = jnp.where(narrow, _NARROW, scale), mean
    lines = s * math.sqrt(2 / math.pi) * jnp.exp(-((m / s) ** 2) / 2)
    lines += m * erf(m / (s * math.sqrt(2)))
    x = jnp.expand_dims(jnp.asarray(nodes / 2, mean.dtype), range(mean.ndim))
    density = _density(x, m[..., None], s[..., None])
    density += _density(-x, m[..., None], s[..., None])
    bent = 2 * math.log(2) - 2 * lines - density @ jnp.asarray(bend, mean.dtype)
    return jnp.where(narrow, smooth, bent).sum(-1)


def _density(x: jax.Array, mean: jax.Array, scale: jax.Array) -> jax.Array:
    z = (x - mean) / scale
    return jnp.exp(-(z**2) / 2) / (scale * math.sqrt(2 * math.pi))


def gaussian_kl(p: DiagonalGaussian, q: DiagonalGaussian) -> jax.Array:
    """The divergence from p to q by dimension: float[..., dimensions]."""
    where = "DiagonalGaussian.kl"
    mean, scale, q_mean, q_scale = check_floats(
        where, mean=p.mean, scale=p.scale, other_mean=q.mean, other_scale=q.scale
    )
    check_scale(where, scale)
    check_scale(where, q_scale)
    ratio = scale / q_scale
    shift = (q_mean - mean) / q_scale
    return (ratio**2 + shift**2 - 1) / 2 - jnp.log(ratio)


def check_scale(where: str, scale: jax.Array) -> None:
    """Raises if a known standard deviation is not above 0."""
    try:
        check_range(where, "scale", scale, float(jnp.finfo(scale.dtype).tiny))
    except ArgumentError as error:
        raise ArgumentError(
            f"{error}: a standard deviation is above 0; type jax.nn.softplus(scale)"
        ) from None

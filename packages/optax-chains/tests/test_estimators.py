from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from optax_chains import (
    Normal,
    measure_valued_jacobians,
    pathwise_jacobians,
    score_function_jacobians,
)
from optax_chains._distributions import WeakDerivative

N = 20_000
KEY = jax.random.key(0)
ESTIMATORS = {
    "score": score_function_jacobians,
    "pathwise": pathwise_jacobians,
    "measure": measure_valued_jacobians,
}
PARAMS = {"mean": jnp.array([0.7, -0.3]), "log_scale": jnp.array([-0.5, 0.2])}
MEAN, SCALE = np.array([0.7, -0.3]), np.exp([-0.5, 0.2])


def gaussian(params):
    return Normal(params["mean"], jnp.exp(params["log_scale"]))


# f, and the gradients of E f by the mean and by the logarithm of the scale.
FUNCTIONS = {
    "sum of squares": (lambda x: jnp.sum(x**2), 2 * MEAN, 2 * SCALE**2),
    "weighted cubes": (
        lambda x: jnp.sum(jnp.array([1.0, -2.0]) * x**3),
        np.array([1, -2]) * 3 * (MEAN**2 + SCALE**2),
        np.array([1, -2]) * 6 * MEAN * SCALE**2,
    ),
    "product": (lambda x: x[0] * x[1], MEAN[::-1], np.zeros(2)),
    "cosine": (
        lambda x: jnp.sum(jnp.cos(x)),
        -np.sin(MEAN) * np.exp(-(SCALE**2) / 2),
        -(SCALE**2) * np.cos(MEAN) * np.exp(-(SCALE**2) / 2),
    ),
}


def estimate(name, function, params=PARAMS, dist=gaussian):
    @jax.jit
    def jacobians(params):
        return ESTIMATORS[name](function, params, dist, KEY, num_samples=N)

    return jax.tree.map(np.asarray, jacobians(params))


def assert_is_mean(samples, wanted):
    """Within 4.5 standard errors, of numbers that are not all the same."""
    error = samples.std(0) / np.sqrt(len(samples))
    assert (np.abs(samples.mean(0) - wanted) <= 4.5 * error + 1e-5).all()


@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimates_are_unbiased_on_closed_forms(name):
    @jax.jit
    def jacobians(params):
        return {
            function: ESTIMATORS[name](f, params, gaussian, KEY, num_samples=N)
            for function, (f, _, _) in FUNCTIONS.items()
        }

    found = jax.tree.map(np.asarray, jacobians(PARAMS))
    for function, (_, by_mean, by_log_scale) in FUNCTIONS.items():
        assert found[function]["mean"].shape == (N, 2)
        assert_is_mean(found[function]["mean"], by_mean)
        assert_is_mean(found[function]["log_scale"], by_log_scale)


@pytest.mark.parametrize("name", ["score", "measure"])
def test_a_step_is_differentiated_where_no_path_is(name):
    """E[x > 0] of one Gaussian: its density at 0, times the inner derivative."""
    params = jnp.array([0.4])
    found = estimate(
        name,
        lambda x: jnp.sum(x > 0),
        params,
        lambda mean: Normal(mean, jnp.array([2.0])),
    )
    density = np.exp(-0.5 * (0.4 / 2) ** 2) / (2 * np.sqrt(2 * np.pi))
    assert_is_mean(found, [density])
    assert found.std() > 0


def test_variances_have_the_known_order():
    """Of x^2 by the mean: by the path 4 scale^2; by two Weibulls W with one W for
    both, 16 mean^2 var(W) / (2 pi); by the score far more.
    """
    f = FUNCTIONS["sum of squares"][0]
    spread = {name: estimate(name, f)["mean"].var(0).mean() for name in ESTIMATORS}
    np.testing.assert_allclose(spread["pathwise"], 4 * np.mean(SCALE**2), rtol=0.05)
    by_weibull = 16 * np.mean(MEAN**2) * (2 - np.pi / 2) / (2 * np.pi)
    np.testing.assert_allclose(spread["measure"], by_weibull, rtol=0.05)
    assert spread["score"] > 2 * max(spread["pathwise"], spread["measure"])


class Bernoulli(NamedTuple):
    """Somebody else's distribution: `sample` and `log_prob`, and weak derivatives."""

    prob: jax.Array

    def sample(self, key):
        return jax.random.bernoulli(key, self.prob).astype(jnp.float32)

    def log_prob(self, x):
        return jnp.sum(x * jnp.log(self.prob) + (1 - x) * jnp.log1p(-self.prob))

    def weak_derivatives(self, key):
        n = self.prob.size
        x = jnp.broadcast_to(self.sample(key), (n, n))
        own = jnp.eye(n, dtype=bool)
        return (
            WeakDerivative(
                1.0, jnp.where(own, 1.0, x), jnp.where(own, 0.0, x), self.prob.shape
            ),
        )


@pytest.mark.parametrize("name", ["score", "measure"])
def test_any_distribution_will_do(name):
    """E[x0 x1 + x0] of two coins, by their logits."""
    logits = jnp.array([0.3, -1.0])
    found = estimate(
        name,
        lambda x: x[0] * x[1] + x[0],
        logits,
        lambda logits: Bernoulli(jax.nn.sigmoid(logits)),
    )
    p = 1 / (1 + np.exp(-np.array([0.3, -1.0])))
    slope = p * (1 - p)
    assert_is_mean(found, [slope[0] * (p[1] + 1), slope[1] * p[0]])


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (lambda x: x**2, r"\(2,\)"),
        (lambda x: jnp.sum(x)[None], r"\(1,\)"),
        (lambda x: (x[0], x[1]), r"\(\), \(\)"),
        (lambda x: (x[0],), r"\(\)"),
        (lambda x: None, "nothing"),
    ],
)
def test_a_function_that_gives_no_scalar_is_refused(name, function, shapes):
    method = ESTIMATORS[name]
    wanted = rf"{method.__name__}: function gives {shapes} for one .* wanted a scalar"
    with pytest.raises(ValueError, match=wanted):
        method(function, PARAMS, gaussian, KEY, num_samples=2)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_key_that_is_none_is_refused(name):
    with pytest.raises(TypeError, match="key is 0, wanted one key"):
        ESTIMATORS[name](jnp.sum, PARAMS, gaussian, 0, num_samples=2)

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from optax_chains import (
    Normal,
    control_variates_jacobians,
    delta_method,
    measure_valued_jacobians,
    moving_average_baseline,
    pathwise_jacobians,
    score_function_jacobians,
)

N = 10_000
KEY = jax.random.key(0)
PARAMS = {"mean": jnp.array([0.7, -0.3]), "scale": jnp.array([0.3, 0.2])}
MEAN, SCALE = np.array([0.7, -0.3]), np.array([0.3, 0.2])


def gaussian(params):
    return Normal(params["mean"], params["scale"])


def cosine(x):
    return jnp.sum(jnp.cos(x)) + 10.0


WANTED = {
    "mean": -np.sin(MEAN) * np.exp(-(SCALE**2) / 2),
    "scale": -SCALE * np.cos(MEAN) * np.exp(-(SCALE**2) / 2),
}


def assert_is_mean(samples, wanted):
    error = samples.std(0) / np.sqrt(len(samples))
    assert (np.abs(samples.mean(0) - wanted) <= 4.5 * error + 1e-5).all()


@pytest.mark.parametrize(
    ("estimator", "coefficient"),
    [
        (score_function_jacobians, 1.0),
        (score_function_jacobians, 0.5),
        (pathwise_jacobians, None),
        (measure_valued_jacobians, 1.0),
    ],
)
def test_the_delta_method_is_unbiased_and_lowers_the_variance(estimator, coefficient):
    plain = estimator(cosine, PARAMS, gaussian, KEY, num_samples=N)

    @jax.jit
    def jacobians(params):
        return control_variates_jacobians(
            cosine,
            delta_method(cosine),
            estimator,
            params,
            gaussian,
            key=KEY,
            num_samples=N,
            coefficient=coefficient,
        )

    found, _ = jacobians(PARAMS)
    for name, wanted in WANTED.items():
        assert_is_mean(np.asarray(found[name]), wanted)
        # c = 1/2 leaves a quarter, where h is f up to the third order.
        share = 0.55 if coefficient == 0.5 else 0.35
        assert np.all(found[name].var(0) < share * plain[name].var(0))


def test_the_best_coefficient_is_the_regression():
    """Of f = h + noise that h does not know: cov / var, against NumPy."""

    def f(x):
        return 3 * x[0] + x[1] ** 3

    half = delta_method(lambda x: 1.5 * x[0])  # h is half of f's first part
    options = {"num_samples": N, "coefficient_samples": N}
    found, _ = control_variates_jacobians(
        f, half, score_function_jacobians, PARAMS, gaussian, key=KEY,
        coefficient=None, **options,
    )  # fmt: skip
    for c in (0.0, 1.0, 4.0):
        other, _ = control_variates_jacobians(
            f, half, score_function_jacobians, PARAMS, gaussian, key=KEY,
            coefficient=c, **options,
        )  # fmt: skip
        assert np.all(found["mean"].var(0) <= 1.05 * other["mean"].var(0))


def test_a_quadratic_leaves_no_variance():
    def f(x):
        return x[0] ** 2 + 3 * x[0] * x[1] - x[1]

    found, _ = control_variates_jacobians(
        f, delta_method(f), score_function_jacobians, PARAMS, gaussian, key=KEY,
        num_samples=7,
    )  # fmt: skip
    by_mean = [2 * MEAN[0] + 3 * MEAN[1], 3 * MEAN[0] - 1]
    np.testing.assert_allclose(found["mean"], np.tile(by_mean, (7, 1)), atol=1e-4)
    by_scale = [2 * SCALE[0], 0.0]
    np.testing.assert_allclose(found["scale"], np.tile(by_scale, (7, 1)), atol=1e-4)


def test_the_baseline_is_the_moving_average_and_helps_the_score():
    baseline = moving_average_baseline(decay=0.8)
    state, means, spread = None, [], []
    for i in range(4):
        key = jax.random.key(i)
        found, state = control_variates_jacobians(
            cosine, baseline, score_function_jacobians, PARAMS, gaussian, key=key,
            num_samples=N, state=state,
        )  # fmt: skip
        for name, wanted in WANTED.items():
            assert_is_mean(np.asarray(found[name]), wanted)
        spread.append(float(found["mean"].var(0).mean()))
        samples = jax.vmap(gaussian(PARAMS).sample)(
            jax.random.split(jax.random.split(key)[0], N)
        )
        means.append(float(jax.vmap(cosine)(samples).mean()))
        weights = 0.8 ** np.arange(i, -1, -1)
        wanted = np.average(means, weights=weights)
        np.testing.assert_allclose(baseline.value(None, None, state), wanted, rtol=1e-5)
    assert max(spread[1:]) < 0.02 * spread[0]  # E f is 11.6, and its square matters


@pytest.mark.parametrize("control", [moving_average_baseline(), delta_method(cosine)])
def test_a_function_that_gives_no_scalar_is_refused(control):
    wanted = r"control_variates_jacobians: function gives \(2,\) .* wanted a scalar"
    with pytest.raises(ValueError, match=wanted):
        control_variates_jacobians(
            jnp.cos,
            control,
            score_function_jacobians,
            PARAMS,
            gaussian,
            key=KEY,
            num_samples=2,
        )
    with pytest.raises(ValueError, match=r"delta_method: function gives \(2,\)"):
        delta_method(jnp.cos).value(gaussian(PARAMS), jnp.ones(2), ())

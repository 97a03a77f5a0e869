import jax
import jax.numpy as jnp
import numpy as np
from scipy import stats

from optax_chains import Normal

DIST = Normal(jnp.array([[1.0, -2.0]]), jnp.array([[0.5, 3.0]]))


def test_samples_and_densities_are_scipys():
    keys = jax.random.split(jax.random.key(0), 20_000)
    x = np.asarray(jax.vmap(DIST.sample)(keys))
    for i in range(2):
        law = stats.norm(DIST.mean[0, i], DIST.scale[0, i])
        assert stats.kstest(x[:, 0, i], law.cdf).pvalue > 1e-3
    wanted = stats.norm.logpdf(x[0], DIST.mean, DIST.scale).sum()
    np.testing.assert_allclose(DIST.log_prob(x[0]), wanted, rtol=1e-5)


def test_the_samples_of_weak_derivatives_have_the_laws_of_table_1():
    keys = jax.random.split(jax.random.key(0), 20_000)
    by_mean, by_scale = jax.vmap(DIST.weak_derivatives)(keys)
    maxwell, weibull = stats.maxwell().cdf, stats.weibull_min(2, scale=2**0.5).cdf
    laws = {
        "plus of the mean": (by_mean.plus, weibull, 1),
        "minus of the mean": (
            by_mean.minus,
            stats.weibull_min(2, scale=2**0.5).cdf,
            -1,
        ),
        "minus of the scale": (by_scale.minus, stats.norm().cdf, 1),
        "plus of the scale": (
            by_scale.plus,
            lambda x: 0.5 + np.sign(x) * 0.5 * maxwell(np.abs(x)),
            1,
        ),
    }
    for name, (samples, law, sign) in laws.items():
        assert samples.shape == (20_000, 2, 1, 2)
        z = (np.asarray(samples) - DIST.mean) / DIST.scale
        for i in range(2):
            assert stats.kstest(sign * z[:, i, 0, i], law).pvalue > 1e-3, name
            other = z[:, i, 0, 1 - i]  # the rest of the sample is as it would be
            assert stats.kstest(other, stats.norm().cdf).pvalue > 1e-3, name

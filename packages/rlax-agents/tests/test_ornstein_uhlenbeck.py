import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rlax_agents import ArgumentError, OrnsteinUhlenbeck


def walk(noise, shape, steps, x=None):
    keys = jax.random.split(jax.random.key(0), steps)
    x = noise.init(shape) if x is None else x

    def step(x, key):
        x = noise.step(key, x)
        return x, x

    return np.asarray(jax.lax.scan(step, x, keys)[1])


@pytest.mark.parametrize("dt", [0.05, 1.0, 4.0])
def test_variance_and_memory_do_not_depend_on_the_step(dt):
    noise = OrnsteinUhlenbeck(theta=0.5, sigma=0.3, mean=1.0, dt=dt)
    steps = int(30 / dt)
    xs = walk(noise, (4000,), steps)
    for k in (0, steps // 2, steps - 1):  # from the start to the long run
        t = (k + 1) * dt
        variance = 0.3**2 / (2 * 0.5) * (1 - np.exp(-2 * 0.5 * t))
        np.testing.assert_allclose(xs[k].var(), variance, rtol=0.1)
        np.testing.assert_allclose(xs[k].mean(), 1.0, atol=0.02)
    a, b = xs[-2], xs[-1]
    np.testing.assert_allclose(np.corrcoef(a, b)[0, 1], np.exp(-0.5 * dt), atol=0.04)


def test_without_noise_it_decays_to_the_mean():
    noise = OrnsteinUhlenbeck(theta=0.5, sigma=0.0, mean=1.0, dt=0.1)
    xs = walk(noise, (1,), 20, x=jnp.array([3.0]))[:, 0]
    t = 0.1 * np.arange(1, 21)
    np.testing.assert_allclose(xs, 1 + 2 * np.exp(-0.5 * t), rtol=1e-5)


def test_shape_and_dtype_are_kept():
    noise = OrnsteinUhlenbeck()
    x = noise.init((2, 3), jnp.bfloat16)
    after = jax.jit(noise.step)(jax.random.key(0), x)
    assert (after.shape, after.dtype) == ((2, 3), jnp.bfloat16)


@pytest.mark.parametrize(
    "options", [{"theta": 0.0}, {"sigma": -1.0}, {"dt": 0.0}, {"mean": float("nan")}]
)
def test_bad_options_raise(options):
    with pytest.raises(
        ArgumentError, match="wanted finite numbers, theta and dt above 0"
    ):
        OrnsteinUhlenbeck(**options)

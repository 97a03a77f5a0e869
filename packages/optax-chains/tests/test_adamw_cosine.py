import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from optax_chains import adamw_cosine


def test_it_is_algorithm_2_with_warm_up_and_cosine():
    """Against AdamW written out in NumPy; the bias does not decay."""
    peak, steps, warmup, end, decay = 0.1, 12, 3, 0.01, 0.3
    chain = adamw_cosine(
        peak, steps=steps, warmup_steps=warmup, end=end, weight_decay=decay
    )
    rng = np.random.default_rng(0)
    params = {"w": rng.normal(size=(2, 3)), "b": rng.normal(size=3)}
    m = {k: np.zeros_like(p) for k, p in params.items()}
    v = {k: np.zeros_like(p) for k, p in params.items()}
    state = chain.init({k: jnp.float32(p) for k, p in params.items()})
    for t in range(steps + 2):
        grads = {k: rng.normal(size=p.shape) for k, p in params.items()}
        updates, state = chain.update(
            {k: jnp.float32(g) for k, g in grads.items()},
            state,
            {k: jnp.float32(p) for k, p in params.items()},
        )
        if t < warmup:
            rate = peak * t / warmup
        else:
            done = min(1.0, (t - warmup) / (steps - warmup))
            rate = end + (peak - end) * 0.5 * (1 + math.cos(math.pi * done))
        for k, g in grads.items():
            m[k] = 0.9 * m[k] + 0.1 * g
            v[k] = 0.999 * v[k] + 0.001 * g**2
            step = (m[k] / (1 - 0.9 ** (t + 1))) / (
                np.sqrt(v[k] / (1 - 0.999 ** (t + 1))) + 1e-8
            )
            wanted = -rate * (step + (decay * params[k] if k == "w" else 0))
            np.testing.assert_allclose(updates[k], wanted, rtol=2e-4, atol=1e-7)
            params[k] = params[k] + wanted


def test_without_warm_up_the_first_step_has_the_peak_rate():
    chain = adamw_cosine(0.5, steps=10)
    assert float(chain.init(jnp.ones(2))[-1].learning_rate) == 0.5


def test_a_warm_up_as_long_as_the_run_is_refused():
    with pytest.raises(
        ValueError, match=r"warmup_steps is 10 and steps is 10; .* type"
    ):
        adamw_cosine(steps=10, warmup_steps=10)


def test_its_rates_may_be_traced():
    def rates(peak, end, weight_decay):
        chain = adamw_cosine(
            peak, steps=5, warmup_steps=2, end=end, weight_decay=weight_decay
        )
        state, found = chain.init(jnp.ones(2)), []
        for _ in range(6):
            _, state = chain.update(jnp.ones(2), state, jnp.ones(2))
            found.append(state[-1].learning_rate)
        return jnp.stack(found)

    wanted = [0.0, 0.25, 0.5, 0.4, 0.2, 0.1]  # by hand
    np.testing.assert_allclose(rates(0.5, 0.1, 0.1), wanted, rtol=1e-5)
    np.testing.assert_allclose(jax.jit(rates)(0.5, 0.1, 0.1), wanted, rtol=1e-5)

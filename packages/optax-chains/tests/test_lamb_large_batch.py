import jax
import jax.numpy as jnp
import numpy as np
import pytest

from optax_chains import lamb_large_batch


def rates(chain, steps):
    params = {"w": jnp.ones((1, 1))}
    state, found = chain.init(params), []
    for _ in range(steps):
        _, state = chain.update(params, state, params)
        found.append(float(state[-1].learning_rate))
    return found


@pytest.mark.parametrize("doublings", [0, 1, 3, 6])
def test_rate_and_warm_up_are_those_of_table_4(doublings):
    """5 / (2^(3 - k/2) 10^3) and a warm-up of 2^k / 320 at batch 512 2^k."""
    steps = 40
    base = {"base_batch_size": 512, "batch_size": 512 * 2**doublings}
    found = rates(lamb_large_batch(steps=steps, **base), steps)
    warmup = round(steps * 2**doublings / 320)
    assert int(np.argmax(found)) == warmup
    wanted = 5 / (2 ** (3 - doublings / 2) * 10**3)
    np.testing.assert_allclose(max(found), wanted, rtol=1e-6)
    np.testing.assert_allclose(found[-1], wanted / (steps - warmup), rtol=1e-5)


def test_one_step_is_algorithm_2():
    """In NumPy; the bias has neither decay nor trust ratio."""
    w, g = np.array([[3.0, -4.0]]), np.array([[1.0, 2.0]])
    params = {"w": jnp.float32(w), "b": jnp.float32(w[0])}
    chain = lamb_large_batch(
        1.0, batch_size=512, steps=1, base_warmup=0.0, weight_decay=0.1
    )
    grads = {"w": jnp.float32(g), "b": jnp.float32(g[0])}
    updates, _ = chain.update(grads, chain.init(params), params)
    r = g / (np.abs(g) + 1e-6)
    u = r + 0.1 * w
    wanted = -u * np.linalg.norm(w) / np.linalg.norm(u)
    np.testing.assert_allclose(updates["w"], wanted, rtol=1e-5)
    np.testing.assert_allclose(updates["b"], -r[0], rtol=1e-5)


def test_after_the_last_step_the_rate_is_zero_and_not_below():
    chain = lamb_large_batch(batch_size=1, steps=3)
    params = {"w": jnp.ones((1, 1))}
    state, update = chain.init(params), jax.jit(chain.update)
    for _ in range(5):
        _, state = update(params, state, params)
    assert float(state[-1].learning_rate) == 0.0


def test_an_empty_batch_is_refused():
    with pytest.raises(ValueError, match="batch_size is 0; type 1 or more"):
        lamb_large_batch(batch_size=0, steps=5)

import jax.numpy as jnp
import numpy as np
import pytest

from optax_chains import sgd_momentum


@pytest.mark.parametrize("nesterov", [False, True])
def test_it_is_the_loop_with_decay_in_the_gradient(nesterov):
    rng = np.random.default_rng(0)
    chain = sgd_momentum(
        lambda step: 0.1 / (step + 1), nesterov=nesterov, weight_decay=0.2
    )
    params = {"w": rng.normal(size=(2, 2)), "b": rng.normal(size=2)}
    velocity = {k: np.zeros_like(p) for k, p in params.items()}
    state = chain.init({k: jnp.float32(p) for k, p in params.items()})
    for t in range(6):
        grads = {k: rng.normal(size=p.shape) for k, p in params.items()}
        updates, state = chain.update(
            {k: jnp.float32(g) for k, g in grads.items()},
            state,
            {k: jnp.float32(p) for k, p in params.items()},
        )
        for k, g in grads.items():
            total = g + (0.2 * params[k] if k == "w" else 0)
            velocity[k] = total + 0.9 * velocity[k]
            step = total + 0.9 * velocity[k] if nesterov else velocity[k]
            wanted = -0.1 / (t + 1) * step
            np.testing.assert_allclose(updates[k], wanted, rtol=1e-4, atol=1e-6)
            params[k] = params[k] + wanted

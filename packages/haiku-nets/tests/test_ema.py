"""Averages against a loop in NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haiku_nets import ema_init, ema_params, ema_update


@pytest.mark.parametrize("decay", [0.0, 0.5, 0.999])
def test_it_is_the_weighted_mean_of_a_loop(decay):
    steps = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)
    ema = ema_init({"w": steps[0]})
    for w in steps:
        ema = jax.jit(ema_update)(ema, {"w": w}, decay=decay)
    weights = decay ** np.arange(5, -1, -1)
    wanted = (weights[:, None] * steps).sum(0) / weights.sum()
    found = ema_params(ema, like={"w": steps[0]})["w"]
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)


def test_a_decay_that_changes_is_still_a_mean():
    ema = ema_init(jnp.float32(0))
    for step, decay in enumerate((0.1, 0.9, 0.5)):
        ema = ema_update(ema, jnp.float32(7), decay=decay)
        found = ema_params(ema, like=jnp.float32(0))
        np.testing.assert_allclose(found, 7, rtol=1e-6, err_msg=str(step))


def test_before_any_update_it_is_the_parameters():
    params = {"w": jnp.arange(3.0)}
    np.testing.assert_array_equal(
        ema_params(ema_init(params), like=params)["w"], params["w"]
    )


def test_small_steps_are_not_lost_in_half_precision():
    params = jnp.ones((), jnp.bfloat16)
    ema = ema_init(params)
    assert ema.total.dtype == jnp.float32
    for _ in range(2000):
        ema = ema_update(ema, params, decay=0.999)
    found = ema_params(ema, like=params)
    assert (found.dtype, float(found)) == (jnp.bfloat16, 1.0)
    assert abs(float(ema.total) - (1 - 0.999**2000)) < 1e-3

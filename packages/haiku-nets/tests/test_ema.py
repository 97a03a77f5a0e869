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


@pytest.mark.parametrize("decay", [0.5, 0.9])
def test_of_integers_and_bools_it_is_the_latest(decay):
    params = {"n": jnp.arange(3), "on": jnp.ones(2, bool), "small": jnp.int8(3)}
    ema = ema_init(params)
    assert ema_params(ema, like=params)["n"].tolist() == [0, 1, 2]
    for n in ([9, 9, 9], [5, 6, 7]):
        params = {"n": jnp.array(n), "on": jnp.arange(2) > 0, "small": jnp.int8(7)}
        ema = jax.jit(ema_update)(ema, params, decay=decay)
    found = ema_params(ema, like=params)
    assert jax.tree.map(lambda x: (x.dtype, x.tolist()), found) == {
        "n": (jnp.int32, [5, 6, 7]),
        "on": (jnp.bool_, [False, True]),
        "small": (jnp.int8, 7),
    }


def test_numbers_of_python_and_numpy_are_averaged_too():
    params = {"a": 2.0, "b": np.full(2, 3.0)}  # float64, which jax narrows
    ema = ema_update(ema_init(params), params, decay=0.5)
    found = ema_params(ema, like=params)
    assert (float(found["a"]), found["b"].tolist()) == (2.0, [3.0, 3.0])


@pytest.mark.parametrize(
    ("params", "complaint"),
    [
        ({"m": {"w": jnp.ones((3, 2))}}, r"found 'm/w' of shape \(3, 2\), the a"),
        (
            {"m": {"w": jnp.ones(())}},
            r"found 'm/w' of shape \(\), the av",
        ),
        ({"m": {}}, r"found no 'm/w', the average has 'm/w' of shape \(2,"),
        ({"m": {"w": jnp.ones(2), "b": jnp.ones(2)}}, "found 'm/b' .* has no 'm/b'"),
    ],
)
def test_parameters_of_another_shape_are_refused(params, complaint):
    ema = ema_init({"m": {"w": jnp.ones(2)}})
    with pytest.raises(ValueError, match=f"ema_update {complaint}"):
        ema_update(ema, params, decay=0.9)
    with pytest.raises(ValueError, match=f"ema_params {complaint}"):
        ema_params(ema, like=params)


@pytest.mark.parametrize("decay", [-0.5, 1.0, 1.5, np.nan, True])
def test_a_decay_of_no_average_is_refused(decay):
    ema = ema_init(jnp.ones(2))
    with pytest.raises((TypeError, ValueError), match=f"found decay={decay}, wanted"):
        ema_update(ema, jnp.ones(2), decay=decay)

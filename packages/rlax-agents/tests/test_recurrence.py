import jax.numpy as jnp
import numpy as np
import pytest

from rlax_agents._recurrence import _SMALL, find_steps, next_step, solve_backwards


@pytest.mark.parametrize("method", ["scan", "associative_scan"])
@pytest.mark.parametrize("time_axis", [0, 1])
@pytest.mark.parametrize("steps", [1, 2, 9])
def test_the_recurrence_is_solved(steps, time_axis, method):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, steps, 3))
    init = rng.normal(size=3)
    want = np.zeros((steps + 1, 3))
    want[-1] = init
    for t in reversed(range(steps)):
        want[t] = a[t] + b[t] * want[t + 1]
    arrays = [jnp.asarray(np.moveaxis(x, 0, time_axis), jnp.float32) for x in (a, b)]
    found = solve_backwards(
        lambda a, b, none: (a, b) if none is None else None,
        [*arrays, None],
        jnp.asarray(init, jnp.float32),
        time_axis=time_axis,
        method=method,
    )
    np.testing.assert_allclose(
        np.moveaxis(found, time_axis, 0), want[:-1], rtol=1e-5, atol=1e-6
    )


def test_large_arrays_with_time_behind_are_those_with_time_first():
    rng = np.random.default_rng(1)
    a, b = (jnp.asarray(x, jnp.float32) for x in rng.uniform(size=(2, 300, 400)))
    assert a.size > _SMALL
    found, want = (
        solve_backwards(
            lambda a, b: (a, b),
            [jnp.moveaxis(x, 0, axis) for x in (a, b)],
            a[0],
            time_axis=axis,
            method="scan",
        )
        for axis in (1, 0)
    )
    np.testing.assert_allclose(found.T, want, rtol=1e-6)


def test_what_follows_the_last_step():
    x = jnp.arange(6.0).reshape(3, 2)
    assert next_step(x, x[0], time_axis=0).tolist() == [[2, 3], [4, 5], [0, 1]]
    assert next_step(x, x[:, 0], time_axis=1).tolist() == [[1, 0], [3, 2], [5, 4]]


def test_a_step_leads_on_unless_it_is_cut_or_the_next_one_is_masked():
    r_t = jnp.zeros((4, 1))
    truncated_t = jnp.asarray([[True], [False], [False], [False]])
    mask_t = jnp.asarray([[True], [True], [False], [True]])
    steps = find_steps("f", r_t, truncated_t=truncated_t, mask_t=mask_t, time_axis=-2)
    assert steps.time_axis == 0
    assert steps.continues_t[:, 0].tolist() == [False, False, True, True]
    plain = find_steps("f", r_t, truncated_t=None, mask_t=None, time_axis=0)
    assert plain.continues_t is None

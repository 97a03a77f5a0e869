import jax.numpy as jnp
import numpy as np
import pytest

from rlax_agents import ArgumentError
from rlax_agents._mean import check_weights, mean_of_steps, variance_of_steps, widen

X = jnp.asarray([1.0, jnp.nan, 4.0])
MASK = jnp.asarray([True, False, True])


def test_the_mean_is_over_the_steps_that_count():
    assert mean_of_steps(X, MASK) == 2.5
    assert mean_of_steps(X[jnp.asarray([0, 2])]) == 2.5


def test_weights_are_factors_and_no_shares():
    weights = jnp.asarray([2.0, jnp.nan, 1.0])
    assert mean_of_steps(X, MASK, weights) == 3.0


def test_nothing_has_the_mean_nought():
    assert mean_of_steps(X, jnp.zeros(3, bool)) == 0
    assert mean_of_steps(jnp.zeros(0)) == 0
    assert variance_of_steps(X, jnp.zeros(3, bool)) == 0


def test_the_variance_is_over_the_steps_that_count():
    assert variance_of_steps(X, MASK) == np.var([1, 4])


def test_many_small_numbers_of_16_bits_add_up():
    assert mean_of_steps(jnp.full(1000, 0.1, jnp.bfloat16)).dtype == jnp.float32
    np.testing.assert_allclose(
        mean_of_steps(jnp.full(1000, 0.1, jnp.bfloat16)), 0.1, rtol=2e-3
    )


def test_widening_keeps_what_is_wide():
    assert widen(jnp.zeros(1, jnp.float16)).dtype == jnp.float32
    assert widen(jnp.zeros(1, bool)).dtype == jnp.float32


def test_weights_have_the_shape_of_the_rewards():
    message = r"f: weights has shape \(3, 1\), wanted \(3,\) like r_t; .*\[\.\.\., 0\]"
    with pytest.raises(ArgumentError, match=message):
        check_weights("f", jnp.ones((3, 1)), (3,), mask_t=None)


def test_masked_weights_may_be_anything():
    weights = check_weights("f", jnp.asarray([1.0, -1.0, 2.0]), (3,), mask_t=MASK)
    assert weights.tolist() == [1, 0, 2]

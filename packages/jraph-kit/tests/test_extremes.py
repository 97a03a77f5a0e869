"""Values and gradients of extremes are tested with the other segment operations."""

import jax.numpy as jnp
import numpy as np
import pytest

import jraph_kit as jk


def test_softmax_of_segments_with_nothing_finite_is_zero():
    logits = jnp.array([-jnp.inf, -jnp.inf, 1.0, -jnp.inf])
    found = jk.segment_softmax(logits, np.array([0, 0, 1, 1]), 2)
    assert found.tolist() == [0, 0, 1, 0]


def test_softmax_and_logsumexp_do_not_overflow():
    logits = jnp.array([1e4, 1e4, -1e4])
    ids = np.array([0, 0, 1])
    assert jk.segment_softmax(logits, ids, 2).tolist() == [0.5, 0.5, 1]
    found = jk.segment_logsumexp(logits, ids, 3)
    np.testing.assert_allclose(found, [1e4 + np.log(2), -1e4, -np.inf], rtol=1e-6)


def test_extremes_of_integers_are_exact():
    data = np.array([2**31 - 1, -(2**31), 5], np.int32)
    ids = np.array([0, 0, 2])
    assert jk.segment_max(data, ids, 3).tolist() == [2**31 - 1, 0, 5]
    assert jk.segment_min(data, ids, 3).tolist() == [-(2**31), 0, 5]


def test_empty_segments_take_what_the_dtype_holds():
    with pytest.raises(jk.GraphsError, match="empty is -inf, and data is int32"):
        jk.segment_max([1], [0], 2, empty=-np.inf)
    with pytest.raises(jk.GraphsError, match="empty is -1, and data is uint8"):
        jk.segment_max_or_constant(np.ones(1, "uint8"), [0], 2, constant=-1)

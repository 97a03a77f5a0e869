import jax
import jax.numpy as jnp
import numpy as np
import pytest

from chex_harness import assert_trees_close


@pytest.mark.parametrize(
    ("dtype", "near", "far"),
    [("float32", 1e-6, 1e-4), ("bfloat16", 1e-2, 1e-1), ("float16", 2e-3, 1e-2)],
)
def test_the_tolerance_follows_the_dtype(dtype, near, far):
    one = jnp.ones(2, dtype)
    assert_trees_close(one, (one + near).astype(dtype))
    with pytest.raises(AssertionError, match="2 of 2 elements"):
        assert_trees_close(one, (one + far).astype(dtype))


def test_every_leaf_that_differs_is_listed():
    a = {"a": jnp.zeros(2), "b": jnp.ones(1), "c": jnp.arange(3)}
    b = {"a": jnp.ones(2), "b": jnp.ones(1), "c": jnp.array([0, 1, 7])}
    with pytest.raises(AssertionError) as caught:
        assert_trees_close(a, b)
    assert "2 of 3 leaves differ" in str(caught.value)
    assert "['a']: 2 of 2 elements, worst at [0]: 0.0 against 1.0" in str(caught.value)
    assert "['c']: 1 of 3 elements, worst at [2]: 2 against 7" in str(caught.value)


def test_dtypes_and_shapes_must_agree():
    with pytest.raises(AssertionError, match=r"float32\[2\] against int32\[2\]"):
        assert_trees_close(jnp.zeros(2), jnp.zeros(2, int))
    with pytest.raises(AssertionError, match=r"float32\[2\] against float32\[3\]"):
        assert_trees_close(jnp.zeros(2), jnp.zeros(3))


def test_structures_must_agree():
    with pytest.raises(AssertionError, match="differ in structure"):
        assert_trees_close({"a": 1}, {"b": 1})


def test_keys_compare():
    assert_trees_close(jax.random.key(1), jax.random.key(1))
    with pytest.raises(AssertionError, match="wanted exactly"):
        assert_trees_close(jax.random.key(1), jax.random.key(2))


def test_nan_equals_nan_and_nothing_else():
    nan = np.array([np.nan, 1], np.float32)
    assert_trees_close(nan, nan)
    with pytest.raises(AssertionError, match=r"worst at \[0\]: nan against 1\.0"):
        assert_trees_close(nan, np.ones(2, np.float32))

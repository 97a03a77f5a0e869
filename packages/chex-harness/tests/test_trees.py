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


def test_keys_are_those_of_one_implementation():
    rbg, unsafe = (jax.random.key(0, impl=impl) for impl in ("rbg", "unsafe_rbg"))
    with pytest.raises(AssertionError, match=r"key<rbg>\[\] against key<urbg>\[\]"):
        assert_trees_close(rbg, unsafe)
    with pytest.raises(AssertionError, match=r"key<rbg>\[\] against uint32\[4\]"):
        assert_trees_close(rbg, jax.random.key_data(rbg))
    keys = jax.random.split(rbg, 3)
    assert_trees_close(keys, keys)
    with pytest.raises(AssertionError, match=r"key<rbg>\[3\] against key<rbg>\[\]"):
        assert_trees_close(keys, keys[0])


@pytest.mark.parametrize(
    ("dtype", "near", "far"), [("complex64", 1e-6, 1e-4), ("complex128", 1e-13, 1e-10)]
)
def test_complex_numbers_are_as_close_as_their_parts(dtype, near, far):
    one = np.array([1 + 1j, 2, -3j], dtype)
    assert_trees_close(one, one + one.dtype.type(near * 1j))
    with pytest.raises(AssertionError, match="3 of 3 elements"):
        assert_trees_close(one, one + one.dtype.type(far * 1j))


def test_the_worst_complex_element_is_that_of_the_largest_difference():
    zero = jnp.zeros(3, "complex64")
    with pytest.raises(AssertionError, match=r"worst at \[1\]: 0j against 5j"):
        assert_trees_close(zero, jnp.array([1, 5j, 2], "complex64"))


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2", "float16"])
def test_nan_equals_nan_in_narrow_floats(dtype):
    nan = jnp.array([np.nan, 1], dtype)
    assert_trees_close(nan, nan)
    with pytest.raises(AssertionError, match=r"1 of 2 .* \[0\]: nan against 1"):
        assert_trees_close(nan, jnp.ones(2, dtype))
    with pytest.raises(AssertionError, match=r"worst at \[1\]: 1(\.0)? against 2"):
        assert_trees_close(nan, nan.at[1].set(2))


def test_integers_are_compared_exactly():
    big = np.array([2**62, 1])
    with pytest.raises(AssertionError, match=r"1 of 2 elements.* exactly"):
        assert_trees_close(big, big + np.array([1, 0]))


@pytest.mark.parametrize(
    "leaf", ["adam", b"adam", object(), np.array(["a"]), np.zeros(1, [("a", "f4")])]
)
def test_what_is_no_number_is_refused_with_its_path(leaf):
    with pytest.raises(TypeError, match=r"^\['name'\] is .*compare it with =="):
        assert_trees_close({"name": leaf}, {"name": leaf})

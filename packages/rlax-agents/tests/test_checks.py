import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rlax_agents._checks import (
    ArgumentError,
    check_actions,
    check_floats,
    check_probabilities,
    check_range,
    check_rank,
)


def test_the_error_is_of_both_kinds():
    assert issubclass(ArgumentError, ValueError)
    assert issubclass(ArgumentError, TypeError)


def test_floats_of_several_widths_take_the_widest():
    wide, narrow = check_floats(
        "f", x=np.ones(2, np.float32), y=jnp.ones(2, jnp.bfloat16)
    )
    assert wide.dtype == narrow.dtype == jnp.float32


def test_unknown_values_pass_while_tracing():
    def f(x):
        check_range("f", "x", x, 0, 1)
        check_probabilities("f", "x", x)
        check_actions("f", "x", x.astype(jnp.int32), x.shape, n=1, like="x")
        return x

    assert jax.jit(f)(jnp.full(2, 7.0)).tolist() == [7, 7]


def test_known_values_under_a_mask_that_is_not():
    values = np.asarray([5.0, 0.0])

    def f(mask):
        check_range("f", "x", values, 0, 1, mask=mask)
        return mask

    jax.jit(f)(jnp.asarray([False, True]))
    with pytest.raises(ArgumentError, match=r"f: x is 5 at \[0\], wanted \[0, 1\]"):
        f(jnp.asarray([True, True]))


def test_the_rank_in_words():
    with pytest.raises(ArgumentError, match=r"f: x has shape \(2,\), wanted rank 2"):
        check_rank("f", "x", np.ones(2), 2, axes="[time, batch]")


def test_shapes_that_hold_as_many():
    with pytest.raises(ArgumentError, match=r"type y.reshape\(6,\) if that is what"):
        check_floats("f", x=np.ones(6), y=np.ones((2, 3)))


def test_nan_is_no_probability():
    with pytest.raises(ArgumentError, match=r"f: p is nan at \[0, 1\]"):
        check_probabilities("f", "p", np.asarray([[1.0, np.nan]]))


def test_actions_out_of_range_are_clipped_where_they_are_not_known():
    def f(a):
        return check_actions("f", "a", a, a.shape, n=3, like="x")

    assert jax.jit(f)(jnp.asarray([-1, 1, 9])).tolist() == [0, 1, 2]
    assert jax.jit(f)(jnp.asarray([0, 1, 255], jnp.uint8)).tolist() == [0, 1, 2]
    with pytest.raises(ArgumentError, match=r"f: a is -1 at \[0\], wanted \[0, 2\]"):
        f(jnp.asarray([-1, 1]))

import jax
import jax.numpy as jnp
import pytest

from chex_harness import assert_compiles


def test_one_shape_is_one_compilation():
    step = jax.jit(lambda x: x * 2)
    x, y = jnp.ones(3), jnp.zeros(3)
    with assert_compiles(1):
        step(x), step(y)
    with assert_compiles(0):
        step(x)


def test_another_shape_compiles_again_and_the_message_lists_both():
    def doubled(x):
        return x * 2

    step, x, y = jax.jit(doubled), jnp.ones(3), jnp.ones(4)
    wanted = pytest.raises(AssertionError, match=r"wanted 1 .*counted 2")
    with wanted as caught, assert_compiles(1):
        step(x), step(y)
    assert str(caught.value).count("doubled") == 2


def test_an_error_in_the_block_is_not_hidden():
    with pytest.raises(ZeroDivisionError), assert_compiles(1):
        1 / 0  # noqa: B018


def test_the_listener_is_gone_afterwards():
    with pytest.raises(AssertionError), assert_compiles(5):
        pass
    step, x = jax.jit(lambda x: x * 3), jnp.ones(2)
    with assert_compiles(1):
        step(x)

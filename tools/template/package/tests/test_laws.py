"""Laws that every public function obeys, over a table of them all."""

import jax
import jax.numpy as jnp
import pytest

import @MODULE@
from chex_harness import assert_compiles, assert_trees_close

TABLE = {"double": @MODULE@.double}
law = pytest.mark.parametrize("function", TABLE.values(), ids=TABLE)


@law
def test_jit_equals_eager(function):
    x = jnp.linspace(-1, 1, 8)
    assert_trees_close(jax.jit(function)(x), function(x))


@law
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8"])
def test_the_dtype_is_kept(function, dtype):
    assert function(jnp.ones(3, dtype)).dtype == dtype


@law
def test_a_second_call_does_not_compile(function):
    x, y = jnp.ones(5), jnp.zeros(5)
    jitted = jax.jit(lambda x: function(x))  # noqa: PLW0108  (a cache of its own)
    with assert_compiles(1):
        jitted(x), jitted(y)

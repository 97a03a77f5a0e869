import jax
import jax.numpy as jnp
import numpy as np
import pytest

from chex_harness import assert_trees_close, fake_pmap

X = jnp.arange(24.0).reshape(4, 2, 3)
CASES = {
    "plain": ({}, lambda x: x * 2),
    "out_axes": ({"out_axes": 1}, lambda x: x * 2),
    "in_axes": ({"in_axes": 1, "out_axes": 2}, lambda x: x.sum(0, keepdims=True) + x),
    "psum": ({"axis_name": "i"}, lambda x: jax.lax.psum(2 * x, "i")),
    "index": ({"axis_name": "i"}, lambda x: x + jax.lax.axis_index("i")),
    "pmap's gradient": (
        {"axis_name": "i"},
        jax.grad(lambda x: jax.lax.psum(jnp.sum(x**2), "i")),
    ),
}


@pytest.mark.devices(8)
@pytest.mark.parametrize("name", CASES)
def test_it_is_what_pmap_gives(name, devices):
    options, fn = CASES[name]
    wanted = jax.pmap(fn, **options)(X)
    with fake_pmap(devices=8):
        found = jax.pmap(fn, **options)(X)
    assert_trees_close(found, np.asarray(wanted))
    assert len(found.sharding.device_set) == 1


def test_static_and_broadcast_arguments():
    def f(x, n, y):
        return x * n + y

    options = {"in_axes": (0, None, None), "static_broadcasted_argnums": 1}
    wanted = jax.pmap(f, **options)(X, 3, 1.0)
    with fake_pmap():
        assert_trees_close(jax.pmap(f, **options)(X, 3, 1.0), np.asarray(wanted))


def test_what_pmap_refuses_is_refused():
    with fake_pmap(devices=2):
        with pytest.raises(ValueError, match=r"needs 4 devices, and .* has 2"):
            jax.pmap(jnp.sin)(X)
        with pytest.raises(ValueError, match="was given 1 devices"):
            jax.pmap(jnp.sin, devices=jax.devices()[:1])(X[:2])
        with pytest.raises(ValueError, match="at least one argument"):
            jax.pmap(jnp.sin, in_axes=None)(X)

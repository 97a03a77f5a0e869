import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding, PartitionSpec

from chex_harness import assert_donated


def test_a_state_that_is_taken_over_passes_and_can_be_used_afterwards():
    state = {"w": jnp.ones((3, 2)), "n": jnp.zeros((), int)}
    step = jax.jit(lambda s, x: jax.tree.map(lambda y: y + 1, s), donate_argnums=0)
    assert_donated(step, state, jnp.ones(3))
    assert_donated(step, jax.tree.map(np.asarray, state), 2.0)
    assert state["w"].sum() == 6


def test_a_buffer_that_fits_nothing_is_named():
    step = jax.jit(lambda s: (s["w"] * 2, s["m"].sum()), donate_argnums=0)
    with pytest.raises(AssertionError) as caught:
        assert_donated(step, {"w": jnp.ones(3), "m": jnp.ones(5)})
    assert "1 donated buffers are kept:\n  args[0]['m']: float32[5]" in str(
        caught.value
    )
    assert "outputs: float32[3], float32[]" in str(caught.value)


def test_nothing_donated_is_not_enough():
    with pytest.raises(AssertionError, match="nothing is donated"):
        assert_donated(jax.jit(lambda x: x), jnp.ones(3))
    with pytest.raises(TypeError, match="is not jitted"):
        assert_donated(lambda x: x, jnp.ones(3))


@pytest.mark.devices(8)
def test_sharded_states_count(mesh):
    x = jax.device_put(jnp.ones(8), NamedSharding(mesh, PartitionSpec("data")))
    assert_donated(jax.jit(lambda x: x + 1, donate_argnums=0), x)
    copies = NamedSharding(mesh, PartitionSpec())
    step = jax.jit(lambda x: x + 1, donate_argnums=0, out_shardings=copies)
    with pytest.raises(AssertionError, match=r"args\[0\]: float32\[8\]"):
        assert_donated(step, x)


def test_static_arguments_are_left_as_they_are():
    def step(how, state, k, n, extra):
        return state * n + k if how == "mul" else (state + extra)[:1]

    jitted = jax.jit(step, static_argnums=(0, 3), donate_argnums=1)
    state = jnp.ones(3)
    assert_donated(jitted, "mul", state, 2, 3, 1.0)
    assert not state.is_deleted()
    with pytest.raises(AssertionError, match=r"kept:\n  args\[1\]: float32\[3\]"):
        assert_donated(jitted, "add", state, 2, 3, 1.0)
    named = jax.jit(step, static_argnames=("how", "n"), donate_argnames="state")
    assert_donated(named, "mul", np.ones(3, "f"), 2, 3, 1.0)

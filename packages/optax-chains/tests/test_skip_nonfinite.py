import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from chex_harness import assert_trees_close
from optax_chains import adamw_cosine, skip_nonfinite


def bits(tree):
    return [np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(tree)]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_bad_steps_leave_every_bit_and_the_others_are_as_without_them(bad):
    chain = adamw_cosine(0.1, steps=20)
    safe = skip_nonfinite(chain)
    params = plain = {"w": jnp.array([[-0.0, 1.0]]), "b": jnp.array([2.0])}
    state, plain_state = safe.init(params), chain.init(params)
    step = jax.jit(safe.update)
    counts = []
    for t in range(6):
        grads = jax.tree.map(lambda p: jnp.sin(p + t), plain)  # noqa: B023
        if t in (2, 3):
            grads["b"] = grads["b"].at[0].set(bad)
            updates, after = step(grads, state, params)
            assert bits(after.inner_state) == bits(state.inner_state)
            assert bits(optax.apply_updates(params, updates)) == bits(params)
            state = after
        else:
            updates, state = step(grads, state, params)
            params = optax.apply_updates(params, updates)
            updates, plain_state = chain.update(grads, plain_state, plain)
            plain = optax.apply_updates(plain, updates)
        counts.append((int(state.skipped), int(state.in_a_row)))
    assert counts == [(0, 0), (0, 0), (1, 1), (2, 2), (2, 0), (2, 0)]
    assert_trees_close(params, plain, atol=1e-6)
    assert_trees_close(state.inner_state, plain_state, atol=1e-6)


def test_finite_gradients_whose_update_is_infinite_are_skipped():
    safe = skip_nonfinite(optax.scale(1e30))
    updates, state = safe.update(jnp.float32(1e30), safe.init(jnp.float32(0)))
    assert (float(updates), int(state.skipped)) == (0.0, 1)


def test_frozen_everything_is_finite():
    safe = skip_nonfinite(optax.identity())
    _, state = safe.update({}, safe.init({}))
    assert int(state.skipped) == 0

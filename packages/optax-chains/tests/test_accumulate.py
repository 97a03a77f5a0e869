import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from optax_chains import accumulate, by_path, freeze, gan_adam


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_small_batches_are_the_big_batch(dtype):
    """The mean of all, rounded once; float32 sums of what bfloat16 would swallow."""
    rng = np.random.default_rng(0)
    params = jnp.asarray(rng.normal(size=4), dtype)
    grads = np.asarray(jnp.asarray(1 + 0.01 * rng.normal(size=(384, 4)), dtype))
    chain = accumulate(optax.sgd(1.0), every=384)
    step = jax.jit(chain.update)
    state = chain.init(params)
    for i, g in enumerate(grads[:-1]):
        updates, state = step(g, state, params)
        if i % 100 == 0:
            still = optax.apply_updates(params, updates)
            assert np.asarray(still).tobytes() == np.asarray(params).tobytes()
    updates, state = step(grads[-1], state, params)
    wanted = np.asarray(grads, np.float64).mean(0).astype(np.float32)
    rtol = {"float32": 1e-6, "bfloat16": 0.0}[dtype]
    found = -np.asarray(updates, np.float32)
    np.testing.assert_allclose(found, jnp.asarray(wanted, dtype), rtol=rtol)
    if dtype == "bfloat16":  # a sum in bfloat16 would have lost up to a sixth
        total = sum(grads, np.zeros(4, grads.dtype))
        swallowed = np.asarray(total / 384, np.float32)
        assert np.all(swallowed < found)


def test_the_chain_sees_big_steps_only():
    params = jnp.ones(3)
    chain = accumulate(gan_adam(0.1), every=3)
    alone = gan_adam(0.1)
    state, alone_state = chain.init(params), alone.init(params)
    for t in range(9):
        updates, state = chain.update(params * t, state, params)
        if t % 3 == 2:
            wanted, alone_state = alone.update(params * (t - 1), alone_state)
            np.testing.assert_allclose(updates, wanted, rtol=1e-6)
    assert int(state.inner_state[0].count) == 3


def test_the_state_costs_one_float32_tree_and_the_inner_chains():
    params = {"w": jnp.ones((64, 64), jnp.bfloat16)}
    chain, inner = accumulate(gan_adam(), every=4), gan_adam()

    def size(tree):
        return sum(x.nbytes for x in jax.tree.leaves(tree))

    extra = size(chain.init(params)) - size(inner.init(params))
    assert extra == 64 * 64 * 4 + 4


def test_steps_that_wait_do_not_run_the_chain():
    ran = []

    def counted(updates, state, params=None):
        jax.debug.callback(lambda: ran.append(1))
        return updates, state

    chain = accumulate(
        optax.GradientTransformation(optax.init_empty_state, counted), every=4
    )
    state, step = chain.init(jnp.ones(1)), jax.jit(chain.update)
    for _ in range(8):
        _, state = step(jnp.ones(1), state)
    jax.effects_barrier()
    assert len(ran) == 2


def test_nothing_to_wait_for_is_refused():
    with pytest.raises(ValueError, match="every is 0; type 1 or more"):
        accumulate(optax.sgd(1.0), every=0)


def test_an_infinity_spoils_no_step_but_its_own():
    chain = accumulate(optax.sgd(1.0), every=2)
    state = chain.init(jnp.float32(0))
    for g, wanted in ((jnp.inf, -0.0), (1.0, -jnp.inf), (1.0, -0.0), (3.0, -2.0)):
        updates, state = chain.update(jnp.float32(g), state)
        assert float(updates) == wanted


@pytest.mark.parametrize(
    ("updates", "message"),
    [
        (
            {"a": jnp.ones(3)},
            r"updates has 'a' of shape \(3,\), params has 'a' of",
        ),
        ({"a": jnp.ones(())}, r"accumulate: updates has 'a' of shape \(\), params has"),
        ({"a": None}, r"updates has no 'a', params has 'a' of shape \(2,\); add it to"),
        (
            {"a": jnp.ones(2), "b": jnp.ones(2)},
            "has 'b' of shape .*, params has no 'b'; take it out of updates",
        ),
    ],
)
def test_gradients_of_another_shape_are_refused(updates, message):
    chain = accumulate(optax.sgd(1.0), every=2)
    with pytest.raises(ValueError, match=message):
        chain.update(updates, chain.init({"a": jnp.ones(2)}))


def test_integers_that_the_chain_would_turn_into_floats_are_refused():
    params = {"n": jnp.arange(3), "w": jnp.ones(3)}
    chain = accumulate(optax.sgd(1.0), every=2)
    wanted = "turned 'n' from int32 into float32, .* by_path with freeze"
    with pytest.raises(TypeError, match=wanted):
        chain.update(params, chain.init(params))
    inside = by_path({"n": freeze(), "w": optax.sgd(1.0)})
    chain = accumulate(inside, every=1)
    updates, _ = chain.update(params, chain.init(params))
    assert (updates["n"].tolist(), updates["w"].tolist()) == ([0] * 3, [-1.0] * 3)


def test_floats_that_the_chain_widens_are_cast_first():
    widened = optax.stateless(
        lambda u, p: jax.tree.map(lambda x: x * jnp.float32(2), u)
    )
    params = {"w": jnp.ones(3, jnp.bfloat16)}
    chain = accumulate(widened, every=1)
    wanted = (
        "turned 'w' from bfloat16 into float32, .*; cast the gradients of that path"
    )
    with pytest.raises(TypeError, match=f"{wanted} to float32"):
        chain.update(params, chain.init(params))
    wide = jax.tree.map(lambda g: g.astype(jnp.float32), params)
    updates, _ = chain.update(wide, chain.init(params))
    assert updates["w"].tolist() == [2.0] * 3


def test_how_many_may_be_traced():
    @jax.jit
    def run(every):
        chain = accumulate(optax.sgd(1.0), every=every)
        state, seen = chain.init(jnp.float32(0)), []
        for g in (1.0, 3.0, 5.0):
            updates, state = chain.update(jnp.float32(g), state)
            seen.append(updates)
        return seen

    assert [float(u) for u in run(2)] == [-0.0, -2.0, -0.0]
    assert [float(u) for u in run(3)] == [-0.0, -0.0, -3.0]

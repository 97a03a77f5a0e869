import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rlax_agents import ArgumentError, PrioritisedReplay


def filled(replay, n, priorities=None):
    state = replay.add(replay.init(jnp.int32(0)), jnp.arange(n, dtype=jnp.int32))
    if priorities is None:
        return state
    rows = jnp.arange(len(priorities), dtype=jnp.int32)
    return replay.update_priorities(state, rows, jnp.float32(priorities))


@pytest.mark.parametrize("alpha", [0.0, 0.6])
def test_probabilities_and_weights_are_those_of_the_paper(alpha):
    replay = PrioritisedReplay(8, alpha=alpha)
    priorities = np.array([0.5, 0.0, 3.0, 1.0, 2.0])
    state = filled(replay, 5, priorities)
    powers = (priorities + 1e-6) ** alpha
    probabilities = powers / powers.sum()
    draw = jax.jit(lambda key: replay.sample(state, key, 10, beta=0.7))
    sample = jax.vmap(draw)(jax.random.split(jax.random.key(0), 1000))
    counts = np.bincount(np.ravel(sample.indices), minlength=8)
    assert (counts[5:] == 0).all()
    expected = probabilities * 10_000
    some = expected > 5
    assert ((counts[:5] - expected)[some] ** 2 / expected[some]).sum() < 18.5
    weights = (5 * probabilities[np.asarray(sample.indices)]) ** -0.7
    weights /= weights.max(1, keepdims=True)
    np.testing.assert_allclose(sample.weights, weights, rtol=1e-4)


def test_weights_undo_the_priorities_with_beta_one():
    replay = PrioritisedReplay(16, alpha=1.0)
    values = np.random.default_rng(0).uniform(0.2, 2, 16)
    state = filled(replay, 16, values)
    sample = replay.sample(state, jax.random.key(0), 40_000, beta=1.0)
    weighted = np.bincount(sample.indices, sample.weights, 16)
    np.testing.assert_allclose(weighted / weighted.sum(), 1 / 16, rtol=0.02)


def test_new_items_have_the_highest_priority_so_far():
    replay = PrioritisedReplay(4, alpha=1.0)
    state = filled(replay, 3, [1.0, 5.0, 2.0])
    state = replay.add(state, jnp.array([7, 8], jnp.int32))  # rows 3 and 0
    np.testing.assert_allclose(state.tree[4:], [5, 5, 2, 5], rtol=1e-5)
    assert float(state.greatest) == 5
    assert int(state.size) == 4


def test_bad_priorities_raise_where_they_are_known_and_are_mended_under_jit():
    replay = PrioritisedReplay(4, alpha=1.0)
    state, rows = filled(replay, 4, [3.0] * 4), jnp.arange(4)
    for bad in (-1.0, jnp.nan, jnp.inf):
        with pytest.raises(ArgumentError, match=r"priorities is \S+ at \[1\], wanted"):
            replay.update_priorities(state, rows, jnp.array([1.0, bad, 1.0, 1.0]))
    mended = jax.jit(replay.update_priorities)(
        state, rows, jnp.array([-1.0, jnp.nan, jnp.inf, 2.0])
    )
    np.testing.assert_allclose(mended.tree[4:], [1e-6, 3, 1e10, 2], rtol=1e-5)
    assert float(mended.greatest) == np.float32(1e10)


def test_rows_that_are_not_filled_are_never_drawn():
    replay = PrioritisedReplay(8)
    state = filled(replay, 2)
    state = replay.update_priorities(state, jnp.array([1, 6]), jnp.array([1.0, 99.0]))
    sample = replay.sample(state, jax.random.key(0), 100, beta=0.5)
    assert set(sample.indices.tolist()) == {0, 1}
    assert np.isfinite(sample.weights).all()


def test_a_loop_of_learning_compiles_once_and_holds_under_64_bits():
    replay = PrioritisedReplay(32)

    def learn(state, key):
        state = replay.add(state, jax.random.randint(key, (4,), 0, 9, jnp.int32))
        sample = replay.sample(state, key, 8, beta=0.4)
        errors = sample.items.astype(jnp.float32)
        return replay.update_priorities(state, sample.indices, errors), errors.sum()

    def run():
        keys = jax.random.split(jax.random.key(0), 20)
        return jax.lax.scan(learn, replay.init(jnp.int32(0)), keys)

    state, _ = jax.jit(run)()
    np.testing.assert_allclose(state.tree[1], state.tree[32:].sum(), rtol=1e-5)
    with jax.enable_x64(True):  # noqa: FBT003 (jax's own signature)
        wide = jax.eval_shape(run)
    assert wide[0].tree.dtype == jnp.float32


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda r, s: PrioritisedReplay(0), "PrioritisedReplay: capacity is 0"),
        (
            lambda r, s: PrioritisedReplay(3, alpha=-1.0),
            r"alpha is -1, wanted \[0, 2\]",
        ),
        (lambda r, s: PrioritisedReplay(3, epsilon=0.0), "epsilon is 0, wanted 1e-15"),
        (
            lambda r, s: r.sample(s, jax.random.key(0), 2, beta=2.0),
            r"beta is 2, wanted",
        ),
        (
            lambda r, s: r.update_priorities(s, jnp.arange(2), jnp.ones(3)),
            r"indices has shape \(2,\), wanted \(3,\) like priorities",
        ),
        (
            lambda r, s: r.update_priorities(s, jnp.array([9]), jnp.ones(1)),
            r"indices is 9 at \[0\], wanted \[0, 3\]",
        ),
        (
            lambda r, s: r.update_priorities(s, jnp.arange(2), jnp.ones((2, 1))),
            r"priorities has shape \(2, 1\), wanted \(batch,\)",
        ),
    ],
)
def test_bad_arguments_raise(call, text):
    replay = PrioritisedReplay(4)
    with pytest.raises(ArgumentError, match=text):
        call(replay, filled(replay, 4))


@pytest.mark.parametrize("alpha", [0.0, 2.0])
def test_the_greatest_priorities_have_a_finite_sum(alpha):
    replay = PrioritisedReplay(4, alpha=alpha, epsilon=1e-15)
    state = replay.add(replay.init(jnp.float32(0)), jnp.arange(4.0))
    for priorities in ([1e30] * 4, [0.0] * 4):
        given = jnp.asarray(priorities, jnp.float32)
        state = replay.update_priorities(state, jnp.arange(4), given)
        sample = replay.sample(state, jax.random.key(0), 64, beta=1.0)
        assert len(set(sample.indices.tolist())) == 4
        assert jnp.isfinite(sample.weights).all()
    none = jnp.zeros(0, jnp.int32)
    same = replay.update_priorities(state, none, none.astype(jnp.float32))
    assert same is state

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from chex_harness import assert_compiles, assert_trees_close
from rlax_agents import ArgumentError, EpisodicMemory

T, B, D = 14, 3, 2
MEMORY = EpisodicMemory(capacity=5, neighbours=3)
RNG = np.random.default_rng(0)
X = RNG.normal(size=(T, B, D))
X[6, 0] = X[5, 0]  # a state that was seen just before
FIRST = RNG.uniform(size=(T, B)) < 0.15
FIRST[0] = True
MASK = RNG.uniform(size=(T, B)) > 0.15
GIVEN = jnp.asarray(X, jnp.float32), jnp.asarray(FIRST), jnp.asarray(MASK)


@jax.jit
def roll(state, x, first, mask):
    def step(state, now):
        reward, state = MEMORY.step(state, now[0], first=now[1], mask=now[2])
        return state, reward

    return jax.lax.scan(step, state, (x, first, mask))


def in_a_loop(x, first, mask):
    """Algorithm 1 of the paper for one environment, with lists."""
    seen, distances, rewards = [], [], []
    for now, begins, counts in zip(x, first, mask, strict=True):
        if not counts:
            rewards.append(0.0)
            continue
        seen = [] if begins else seen
        near = sorted(((now - other) ** 2).sum() for other in seen[-5:])[:3]
        distances += near
        if not near:
            rewards.append(0.0)
        else:
            d = np.asarray(near) / (np.mean(distances) or 1.0)
            kernel = 1e-3 / (np.maximum(d - 8e-3, 0) + 1e-3)
            s = np.sqrt(kernel.sum()) + 1e-3
            rewards.append(0.0 if s > 8 else 1 / s)
        seen.append(now)
    return rewards


def test_rewards_are_those_of_the_algorithm_of_the_paper():
    state, rewards = roll(MEMORY.init(batch=B, dimensions=D), *GIVEN)
    want = np.stack([in_a_loop(X[:, b], FIRST[:, b], MASK[:, b]) for b in range(B)], 1)
    np.testing.assert_allclose(rewards, want, rtol=1e-4)
    assert (want > 0).sum() > 20
    assert np.isfinite(state.embeddings).all()


def test_one_step_eager_is_that_of_jit():
    state = MEMORY.init(batch=B, dimensions=D)
    for t in range(3):
        now = [x[t] for x in GIVEN]
        eager = MEMORY.step(state, now[0], first=now[1], mask=now[2])
        state = eager[1]
    rolled = roll(MEMORY.init(batch=B, dimensions=D), *(x[:3] for x in GIVEN))
    assert_trees_close(eager[0], rolled[1][2], rtol=1e-5)
    assert_trees_close(state, rolled[0], rtol=1e-5)


def test_stepping_compiles_once():
    step = jax.jit(MEMORY.step)
    state = MEMORY.init(batch=B, dimensions=D)
    _, state = step(state, GIVEN[0][0])
    with assert_compiles(0):
        step(state, GIVEN[0][1])


def test_embeddings_of_any_size_have_finite_rewards():
    for scale in (0.0, 1e-25, 1e25, 3e38):
        state, rewards = roll(
            MEMORY.init(batch=B, dimensions=D), scale * GIVEN[0], *GIVEN[1:]
        )
        assert np.isfinite(rewards).all()
        assert np.isfinite(state.distance).all()


def test_the_order_of_environments_does_not_matter():
    order = np.asarray([2, 0, 1])
    start = MEMORY.init(batch=B, dimensions=D)
    state, rewards = roll(start, *GIVEN)
    found = roll(start, *(x[:, order] for x in GIVEN))
    want = jax.tree.map(lambda x: x[order], state), rewards[:, order]
    assert_trees_close(found, want, rtol=1e-5)


def test_masked_steps_never_matter():
    start, (x, first, mask) = MEMORY.init(batch=B, dimensions=D), GIVEN
    spoilt = jnp.where(mask[..., None], x, jnp.nan)
    begins = jnp.where(mask, first, ~first)
    want = roll(start, *GIVEN)
    assert_trees_close(roll(start, spoilt, begins, mask), want, rtol=0)
    assert not np.asarray(want[1])[~MASK].any()


def test_what_was_seen_often_has_no_reward():
    memory = EpisodicMemory(capacity=100, neighbours=80)
    state, x = memory.init(batch=1, dimensions=D), jnp.ones((1, D))
    step, rewards = jax.jit(memory.step), []
    for _ in range(70):
        reward, state = step(state, x)
        rewards.append(float(reward[0]))
    assert rewards[0] == 0
    np.testing.assert_allclose(
        rewards[1:60], 1 / (np.sqrt(np.arange(1, 60)) + 1e-3), rtol=1e-5
    )
    assert rewards[66] == 0  # a similarity above 8


def test_an_episode_forgets_the_one_before():
    step, start = jax.jit(MEMORY.step), MEMORY.init(batch=1, dimensions=D)
    _, state = step(start, jnp.ones((1, D)))
    again, _ = step(state, jnp.ones((1, D)))
    assert again[0] > 0
    fresh, state = step(state, jnp.ones((1, D)), first=jnp.asarray([True]))
    assert fresh[0] == 0
    assert state.count[0] == 1


def test_no_gradient_flows_through_rewards():
    _, state = MEMORY.step(MEMORY.init(batch=B, dimensions=D), GIVEN[0][0])
    slope = jax.jit(jax.grad(lambda x: MEMORY.step(state, x)[0].sum()))(GIVEN[0][1])
    assert not np.asarray(slope).any()


def test_mistakes_are_named():
    state = MEMORY.init(batch=B, dimensions=D)
    cases = [
        (
            lambda: EpisodicMemory(capacity=3),
            r"neighbours is 10, wanted at most",
        ),
        (lambda: EpisodicMemory(neighbours=0), r"neighbours is 0, wanted 1 or more"),
        (lambda: EpisodicMemory(epsilon=0.0), r"epsilon is 0, wanted"),
        (lambda: MEMORY.init(batch=0, dimensions=2), r"batch is 0, wanted 1 or more"),
        (
            lambda: MEMORY.step(state, jnp.ones((D, B))),
            r"embedding has shape \(2, 3\), wanted \(3, 2\) like the memory; time",
        ),
        (
            lambda: MEMORY.step(state, jnp.ones((B, D), int)),
            r"embedding has dtype int32",
        ),
        (
            lambda: MEMORY.step(state, GIVEN[0][0], first=jnp.ones(B)),
            r"first has dtype float32, wanted bool",
        ),
    ]
    for call, message in cases:
        with pytest.raises(ArgumentError, match=message):
            call()

from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rlax_agents import ArgumentError, CountBonus, simhash


def test_equals_a_loop_with_a_dict():
    counter, seen = CountBonus(20, beta=0.5), Counter()
    counts, update = counter.init(), jax.jit(counter.update)
    rng = np.random.default_rng(0)
    for _ in range(5):
        states = rng.integers(0, 20, (4, 6))
        mask = rng.random((4, 6)) < 0.7
        seen.update(states[mask].tolist())
        counts, bonus = update(counts, states, mask_t=mask)
        expected = [0.5 / np.sqrt(seen[s]) if s in seen else 0 for s in states.ravel()]
        np.testing.assert_allclose(
            bonus, np.where(mask, np.reshape(expected, (4, 6)), 0), rtol=1e-6
        )
    assert counts.n.tolist() == [seen[s] for s in range(20)]


def test_states_out_of_range_raise_or_are_clipped():
    counter = CountBonus(4)
    with pytest.raises(ArgumentError, match=r"s_t is 4 at \[1\], wanted \[0, 3\]"):
        counter.update(counter.init(), jnp.array([0, 4]))
    counts, _ = jax.jit(counter.update)(counter.init(), jnp.array([-3, 9, 9]))
    assert counts.n.tolist() == [1, 0, 0, 2]
    mask = jnp.array([True, False])
    counter.update(counter.init(), jnp.array([0, 4]), mask_t=mask)


def test_like_observations_share_a_number():
    rng = np.random.default_rng(0)
    far = rng.normal(size=(64, 8)).astype(np.float32)
    numbers = simhash(far, bits=20)
    assert len(set(numbers.tolist())) > 60
    assert (simhash(far * 2, bits=20) == numbers).all()
    near = far + 1e-3 * rng.normal(size=(64, 8)).astype(np.float32)
    assert (simhash(near, bits=8) == simhash(far, bits=8)).mean() > 0.9
    assert (simhash(far, bits=20, seed=1) != numbers).any()


def test_numbers_are_bits_of_projections():
    x = np.random.default_rng(0).normal(size=(3, 2, 4)).astype(np.float32)
    directions = np.asarray(jax.random.normal(jax.random.key(5), (8, 6)))
    bits = x.reshape(3, 8) @ directions > 0
    expected = [sum(int(b) << i for i, b in enumerate(row)) for row in bits]
    found = simhash(x, bits=6, ndim=2, seed=5)
    assert (found.tolist(), found.dtype) == (expected, jnp.int32)
    assert simhash(x[0, 0], bits=3).shape == ()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: CountBonus(0), "CountBonus: size is 0, wanted 1 or more"),
        (lambda: CountBonus(3, beta=-1.0), "CountBonus: beta is -1, wanted 0 or more"),
        (
            lambda: simhash(jnp.zeros(3), bits=31),
            r"simhash: bits is 31, wanted \[1, 30\]",
        ),
        (
            lambda: simhash(jnp.zeros(3), bits=3, ndim=2),
            r"shape \(3,\), wanted 2 axes or",
        ),
        (lambda: simhash(jnp.zeros(3, int), bits=3), "observation has dtype int32"),
    ],
)
def test_bad_arguments_raise(call, text):
    with pytest.raises(ArgumentError, match=text):
        call()

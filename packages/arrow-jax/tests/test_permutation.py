import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arrow_jax._permutation import mix, permute, round_keys


def order(n, seed=0, epoch=0):
    return permute(np.arange(n), n=n, seed=seed, epoch=epoch)


WORD = 2**64
GOLDEN = 0x9E3779B97F4A7C15  # 2^64 over the golden ratio


def plain_mix(x):
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
        x = (x ^ (x >> shift)) * factor % WORD
    return x


def plain_keys(seed, epoch):
    state = plain_mix((seed % WORD + GOLDEN) % WORD)
    state = plain_mix(state ^ plain_mix(2 * epoch + 1))
    return [plain_mix((state + k * GOLDEN) % WORD) for k in range(1, 7)]


def plain_permute(x, n, seed, epoch):
    sizes = [max(math.isqrt(n - 1) + 1, 2)]
    sizes.append(max(math.ceil(n / sizes[0]), 2))
    while True:
        halves = [x % sizes[0], x // sizes[0]]
        for number, key in enumerate(plain_keys(seed, epoch)):
            turn = number % 2
            hashed = plain_mix(halves[1 - turn] ^ key) >> 32
            halves[turn] += hashed * sizes[turn] >> 32
            halves[turn] %= sizes[turn]
        x = halves[1] * sizes[0] + halves[0]
        if x < n:
            return x


def test_mixing_is_that_of_the_paper():
    # The stream that SplitMix64 gives for the seed 1234567.
    steps = np.arange(1, 4, dtype=np.uint64) * np.uint64(GOLDEN)
    assert mix(np.uint64(1234567) + steps).tolist() == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
    ]


@given(
    st.integers(1, 2**40),
    st.integers(-(2**70), 2**70),
    st.integers(0, 2**33),
    st.data(),
)
def test_against_integers_without_a_limit(n, seed, epoch, data):
    assert round_keys(seed, epoch).ravel().tolist() == plain_keys(seed, epoch)
    some = data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=4))
    found = permute(np.array(some), n=n, seed=seed, epoch=epoch)
    assert found.tolist() == [plain_permute(x, n, seed, epoch) for x in some]


def test_a_run_can_go_on_with_any_later_release():
    # A saved state holds a position and not the order, so these can never change.
    assert order(10, seed=3, epoch=2).tolist() == [3, 5, 4, 2, 9, 7, 0, 1, 6, 8]
    # Some of these pairs land outside of 10 rows, and go round again by their own keys.
    at, epochs = np.tile(np.arange(10), 3), np.repeat(np.arange(3), 10)
    rows = permute(at, n=10, seed=3, epoch=epochs)
    assert rows.tolist() == [row for epoch in range(3) for row in order(10, 3, epoch)]


@given(st.integers(1, 3000), st.integers(-(2**70), 2**70), st.integers(0, 2**33))
def test_every_row_once(n, seed, epoch):
    assert np.array_equal(np.sort(order(n, seed, epoch)), np.arange(n))


@pytest.mark.parametrize("n", [2**20 - 1, 2**20, 2**20 + 1, 1000 * 1000])
def test_every_row_once_for_large_n(n):
    assert np.array_equal(np.sort(order(n)), np.arange(n))


@given(st.integers(2**31, 2**62), st.integers(0, 2**64))
def test_rows_of_huge_data_stay_inside_and_differ(n, seed):
    rows = permute(np.arange(n - 64, n), n=n, seed=seed)
    assert rows.min() >= 0
    assert rows.max() < n
    assert len(set(rows.tolist())) == 64


@given(st.integers(1, 500), st.data())
def test_a_position_has_its_row_whatever_else_is_asked(n, data):
    some = np.array(data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=9)))
    assert np.array_equal(permute(some, n=n, seed=5), order(n, 5)[some])


def test_seeds_and_epochs_give_other_orders():
    orders = [order(50, s, e).tolist() for s in range(-3, 9) for e in range(9)]
    assert len({tuple(o) for o in orders}) == len(orders)


def test_mixing_changes_half_the_bits():
    x = np.arange(2000, dtype=np.uint64) * np.uint64(0x123456789)
    for bit in range(64):
        flipped = mix(x) ^ mix(x ^ np.uint64(1 << bit))
        changed = np.unpackbits(flipped.view(np.uint8)).mean()
        assert abs(changed - 0.5) < 0.01


@pytest.mark.parametrize("n", [1000, 4096, 60_000])
def test_rank_correlations_are_those_of_chance(n):
    # A correlation of independent orders has a deviation of 1 / sqrt(n).
    steps = np.arange(n)
    for seed in range(20):
        rows, other = order(n, seed), order(n, seed, 1)
        for a, b in ((steps, rows), (rows[:-1], rows[1:]), (rows, other)):
            assert abs(np.corrcoef(a, b)[0, 1]) * np.sqrt(n) < 4.5


@pytest.mark.parametrize("n", [2, 3, 5, 12, 37])
def test_each_row_is_at_each_position_equally_often(n):
    runs = 4000
    counts = np.zeros((n, n))
    for seed in range(runs):
        counts[np.arange(n), order(n, seed)] += 1
    expected = runs / n
    chi2 = ((counts - expected) ** 2 / expected).sum()
    freedom = (n - 1) ** 2
    assert chi2 < freedom + 5 * np.sqrt(2 * freedom)


def test_small_orders_are_all_found_equally_often():
    runs = 6000
    seen = [tuple(order(4, seed).tolist()) for seed in range(runs)]
    _, counts = np.unique(seen, axis=0, return_counts=True)
    assert len(counts) == 24
    chi2 = ((counts - runs / 24) ** 2 / (runs / 24)).sum()
    assert chi2 < 23 + 5 * np.sqrt(46)


def test_a_batch_draws_from_all_over():
    n, batch = 10_000, 50
    rows = order(n, 1).reshape(-1, batch)
    files = [len(set((r // 100).tolist())) for r in rows]
    # 50 draws from 100 files hit 39.5 of them by chance.
    assert 38.5 < np.mean(files) < 40.5
    assert min(files) > 25

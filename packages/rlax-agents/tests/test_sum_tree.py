import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rlax_agents._sum_tree import find_in_tree, init_tree, write_tree


@pytest.mark.parametrize("size", [1, 5, 8, 100])
def test_sums_and_searches_equal_numpy(size):
    rng = np.random.default_rng(0)
    tree, values = init_tree(size), np.zeros(size)
    write, find = jax.jit(write_tree), jax.jit(find_in_tree)
    for _ in range(6):
        indices = rng.permutation(size)[: max(size // 2, 1)].astype(np.int32)
        new = rng.integers(0, 5, len(indices)).astype(np.float32)
        tree, values[indices] = write(tree, indices, new), new
        n = len(tree) // 2
        assert tree[n : n + size].tolist() == values.tolist()
        for node in range(1, n):
            assert tree[node] == tree[2 * node] + tree[2 * node + 1]
        if values.sum():
            targets = np.arange(values.sum(), dtype=np.float32)
            expected = np.searchsorted(np.cumsum(values), targets, side="right")
            assert find(tree, targets).tolist() == expected.tolist()


def test_it_never_finds_a_zero():
    rng = np.random.default_rng(1)
    values = np.where(rng.random(64) < 0.3, rng.random(64), 0).astype(np.float32)
    tree = write_tree(init_tree(64), jnp.arange(64), values)
    top = tree[1]
    targets = jnp.concatenate([jnp.linspace(0, top, 5000), jnp.full(3, top * 1.001)])
    assert (values[find_in_tree(tree, targets)] > 0).all()


def test_writing_an_index_twice_keeps_the_sums_right():
    tree = write_tree(init_tree(4), jnp.array([1, 1, 3]), jnp.array([2.0, 2.0, 5.0]))
    assert tree.tolist() == [0, 7, 2, 5, 0, 2, 0, 5]

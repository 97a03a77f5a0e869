import jax
import numpy as np
import pytest

import jraph_kit


@pytest.fixture(autouse=True)
def _strict():
    with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
        yield


@pytest.fixture(autouse=True)
def no_mesh_is_left_behind():
    yield
    assert jax.sharding.get_abstract_mesh().empty


@pytest.fixture
def some_graphs():
    """Makes n graphs of 0 to `most` nodes with every kind of field."""

    def make(n, *, most=6, seed=0, width=3):
        rng = np.random.default_rng(seed)
        n_node = rng.integers(0, most + 1, n)
        n_edge = np.where(n_node > 0, rng.integers(0, 2 * most, n), 0)

        def ends():
            values = [
                rng.integers(0, nodes, edges)
                for nodes, edges in zip(n_node, n_edge, strict=True)
            ]
            return np.concatenate([np.zeros(0, int), *values]), n_edge

        nodes, edges = int(n_node.sum()), int(n_edge.sum())
        return jraph_kit.from_columns(
            nodes=(rng.normal(size=(nodes, width)).astype("float32"), n_node),
            edges={
                "length": (rng.normal(size=(edges, 1)).astype("float32"), n_edge),
                "kind": (rng.integers(0, 4, edges), n_edge),
            },
            senders=ends(),
            receivers=ends(),
            globals=rng.normal(size=(n, 2)).astype("float32"),
        )

    return make


@pytest.fixture
def assert_same():
    """Two trees are equal: structure, dtypes, shapes and every value."""

    def check(found, wanted):
        assert jax.tree.structure(found) == jax.tree.structure(wanted)
        for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
            assert (a.dtype, a.shape) == (b.dtype, b.shape)
            np.testing.assert_array_equal(a, b)

    return check

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from optax_chains._conjugate_gradient import conjugate_gradient, inner

OPTIONS = {"iterations": 30, "tolerance": 1e-6}


def system(n, seed=0):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, n))
    return root @ root.T / n + 0.5 * np.eye(n), rng.normal(size=n)


@pytest.mark.parametrize("seed", range(3))
def test_it_solves_as_numpy_does(seed):
    a, b = system(6, seed)
    found = conjugate_gradient(lambda v: jnp.float32(a) @ v, jnp.float32(b), **OPTIONS)
    np.testing.assert_allclose(found, np.linalg.solve(a, b), rtol=1e-3, atol=1e-4)


def test_n_iterations_on_a_tree_are_those_of_jax():
    a, b = system(6)

    def product(v):
        flat = jnp.float32(a) @ jnp.concatenate([v["x"], v["y"]])
        return {"x": flat[:2], "y": flat[2:]}

    tree = {"x": jnp.float32(b[:2]), "y": jnp.float32(b[2:])}
    for n in (0, 1, 3):
        found = conjugate_gradient(product, tree, iterations=n, tolerance=0.0)
        wanted, _ = jax.scipy.sparse.linalg.cg(product, tree, maxiter=n, tol=0.0)
        for k, w in wanted.items():
            np.testing.assert_allclose(found[k], w, rtol=1e-4, atol=1e-5)


def test_zero_and_flat_directions_give_no_nan():
    zero = conjugate_gradient(lambda v: v, jnp.zeros(2), **OPTIONS)
    np.testing.assert_array_equal(zero, np.zeros(2))
    flat = conjugate_gradient(lambda v: 0 * v, jnp.ones(2), **OPTIONS)
    np.testing.assert_array_equal(flat, np.zeros(2))


@pytest.mark.parametrize("size", [1e-30, 1e-20, 1.0, 1e20, 1e37])
def test_it_solves_for_large_and_small_numbers(size):
    a, b = system(6)
    found = conjugate_gradient(
        lambda v: jnp.float32(a) @ v, jnp.float32(size * b), **OPTIONS
    )
    np.testing.assert_allclose(
        np.float64(found) / size, np.linalg.solve(a, b), rtol=1e-3, atol=1e-4
    )


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_stays_visible(bad):
    found = conjugate_gradient(lambda v: v, jnp.float32([1.0, bad]), **OPTIONS)
    assert not np.isfinite(found).any()


def test_a_curvature_of_nan_stays_visible():
    found = conjugate_gradient(lambda v: np.nan * v, jnp.ones(2), **OPTIONS)
    assert np.isnan(found).all()


def test_inner_products_are_float32():
    ones = jnp.ones(10_000, jnp.bfloat16)
    assert float(inner({"a": ones}, {"a": ones})) == 10_000.0

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import optax_chains as oc

RNG = np.random.default_rng(0)
X = RNG.normal(size=(7, 3))
Y = RNG.normal(size=(7, 2))
PARAMS = {"b": np.array([0.1, -0.2]), "w": 0.5 * RNG.normal(size=(3, 2))}
V = {"b": np.array([0.3, 0.9]), "w": RNG.normal(size=(3, 2))}


def float32(tree):
    return jax.tree.map(jnp.float32, tree)


def model(params, x=X):
    return jnp.tanh(jnp.float32(x) @ params["w"] + params["b"])


def loss(params, scale=1.0):
    return scale * loss_of(model(params))


def loss_of(outputs):
    return jnp.mean(jnp.sum((outputs - jnp.float32(Y)) ** 4, -1))


def by_hand(flat):
    """The loss in NumPy's float64, of b and then w row by row."""
    outputs = np.tanh(X @ flat[2:].reshape(3, 2) + flat[:2])
    return np.mean(np.sum((outputs - Y) ** 4, -1))


def flat(tree):
    return np.concatenate([np.ravel(tree["b"]), np.ravel(tree["w"])])


def differences():
    """The Hessian by central differences of the loss in float64."""
    at, h, n = flat(PARAMS), 1e-4, 8
    e = h * np.eye(n)
    return np.array(
        [
            [
                by_hand(at + e[i] + e[j])
                - by_hand(at + e[i] - e[j])
                - by_hand(at - e[i] + e[j])
                + by_hand(at - e[i] - e[j])
                for j in range(n)
            ]
            for i in range(n)
        ]
    ) / (4 * h**2)


HESSIAN = differences()


def test_the_matrix_is_that_of_finite_differences():
    found = oc.hessian_matrix(loss, float32(PARAMS))
    np.testing.assert_allclose(found, HESSIAN, atol=2e-4)
    np.testing.assert_allclose(
        oc.hessian_matrix(loss, float32(PARAMS), 2.0), 2 * HESSIAN, atol=4e-4
    )


def test_the_tree_of_trees_is_the_matrix_in_blocks():
    found = oc.hessian(loss, float32(PARAMS))
    assert found["w"]["b"].shape == (3, 2, 2)
    np.testing.assert_allclose(
        found["w"]["b"].reshape(6, 2), HESSIAN[2:, :2], atol=2e-4
    )
    np.testing.assert_allclose(
        found["b"]["w"].reshape(2, 6), HESSIAN[:2, 2:], atol=2e-4
    )


def test_products_and_diagonals_are_those_of_the_matrix():
    found = oc.hvp(loss, float32(PARAMS), float32(V))
    np.testing.assert_allclose(flat(found), HESSIAN @ flat(V), atol=1e-3)
    for at_once in (3, 100):
        found = oc.hessian_diag(loss, float32(PARAMS), at_once=at_once)
        np.testing.assert_allclose(flat(found), np.diag(HESSIAN), atol=2e-4)


def test_hutchinsons_estimate_is_unbiased_with_the_known_variance():
    n, repeats = 4, 500

    @jax.jit
    @jax.vmap
    def estimate(key):
        return oc.hessian_diag_hutchinson(loss, float32(PARAMS), key=key, num_samples=n)

    found = estimate(jax.random.split(jax.random.key(0), repeats))
    found = np.concatenate([found["b"], found["w"].reshape(repeats, 6)], 1)
    rest = np.sum(HESSIAN**2, 1) - np.diag(HESSIAN) ** 2
    np.testing.assert_allclose(found.var(0), rest / n, rtol=0.25)
    error = np.sqrt(rest / n / repeats)
    assert np.all(np.abs(found.mean(0) - np.diag(HESSIAN)) < 4.5 * error)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_hutchinsons_sum_does_not_stall_in_half_precision(dtype):
    found = oc.hessian_diag_hutchinson(
        lambda p: 0.5 * jnp.sum(p**2),
        jnp.ones(2, dtype),
        key=jax.random.key(0),
        num_samples=3000,
    )
    assert found.dtype == dtype
    np.testing.assert_array_equal(found.astype(float), np.ones(2))


def test_hutchinsons_estimate_wants_a_sample():
    with pytest.raises(ValueError, match="num_samples is 0; type 1 or more"):
        oc.hessian_diag_hutchinson(
            jnp.sum, jnp.ones(2), key=jax.random.key(0), num_samples=0
        )


def jacobian():
    """Of the model, 7 examples x 2 outputs, by hand in float64: [7, 2, 8]."""
    slope = 1 - np.tanh(X @ PARAMS["w"] + PARAMS["b"]) ** 2
    j = np.zeros((7, 2, 8))
    for o in range(2):
        j[:, o, o] = slope[:, o]
        j[:, o, 2 + o :: 2] = slope[:, o, None] * X
    return j


def test_the_gauss_newton_product_is_that_of_the_matrix():
    outputs = np.tanh(X @ PARAMS["w"] + PARAMS["b"])
    j = jacobian().reshape(14, 8)
    g = j.T @ np.diag(12 * np.ravel(outputs - Y) ** 2 / 7) @ j
    found = oc.gauss_newton_vp(model, loss_of, float32(PARAMS), float32(V))
    np.testing.assert_allclose(flat(found), g @ flat(V), rtol=2e-3)


@pytest.mark.parametrize("microbatch_size", [None, 1, 7])
def test_the_empirical_fisher_is_the_mean_of_squares(microbatch_size):
    def nll(params, example):
        x, y = example
        return 0.5 * jnp.sum((model(params, x) - y) ** 2)

    residual = np.tanh(X @ PARAMS["w"] + PARAMS["b"]) - Y
    grads = np.einsum("no,nop->np", residual, jacobian())
    found = oc.fisher_diag(
        nll, float32(PARAMS), float32((X, Y)), microbatch_size=microbatch_size
    )
    np.testing.assert_allclose(flat(found), np.mean(grads**2, 0), rtol=1e-4)
    assert not np.allclose(flat(found), grads.mean(0) ** 2, rtol=0.1)


def test_a_diagonal_of_no_parameters_has_none():
    assert oc.hessian_diag(lambda params: jnp.float32(1), {}) == {}

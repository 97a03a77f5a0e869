import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import optax_chains as oc

RNG = np.random.default_rng(0)
X = RNG.normal(size=(20, 4))
Y = RNG.normal(size=20)
LABELS = (RNG.random(20) < 0.5).astype(float)
W = {"a": 0.3 * RNG.normal(size=3), "b": np.array(-0.2)}


def float32(tree):
    return jax.tree.map(jnp.float32, tree)


def model(params):
    return jnp.float32(X[:, :3]) @ params["a"] + jnp.float32(X[:, 3]) * params["b"]


def flat(tree):
    return np.append(np.asarray(tree["a"]), tree["b"])


def half_square(outputs):
    return 0.5 * jnp.mean((outputs - jnp.float32(Y)) ** 2)


def gaussian_kl(old, new):
    return 0.5 * jnp.mean((new - old) ** 2)


def logistic(outputs):
    return jnp.mean(optax.sigmoid_binary_cross_entropy(outputs, jnp.float32(LABELS)))


def bernoulli_kl(old, new):
    p = jax.nn.sigmoid(old)
    return jnp.mean(
        p * (jax.nn.log_sigmoid(old) - jax.nn.log_sigmoid(new))
        + (1 - p) * (jax.nn.log_sigmoid(-old) - jax.nn.log_sigmoid(-new))
    )


def step(chain, loss, /, **extra):
    params = float32(W)
    grads = jax.grad(lambda p: loss(model(p)))(params)
    update = jax.jit(lambda g, s, p: chain.update(g, s, p, model=model, **extra))
    return update(grads, chain.init(params), params)[0]


EXACT = {"damping": 0.0, "iterations": 10, "tolerance": 1e-7}


def test_on_least_squares_one_step_is_the_solution():
    solution, *_ = np.linalg.lstsq(X, Y, rcond=None)
    wanted = solution - flat(W)
    found = step(oc.gauss_newton_cg(**EXACT), half_square, loss=half_square)
    np.testing.assert_allclose(flat(found), wanted, rtol=1e-3, atol=1e-4)
    found = step(oc.natural_gradient(**EXACT), half_square, kl=gaussian_kl)
    np.testing.assert_allclose(flat(found), wanted, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("damping", [0.0, 0.3, 30.0])
@pytest.mark.parametrize("name", ["gauss_newton_cg", "natural_gradient"])
def test_on_a_logistic_model_both_are_the_damped_newton_step(name, damping):
    """F = G = H = X^T diag(p (1 - p)) X / n for a loss in its natural parameters."""
    p = 1 / (1 + np.exp(-X @ flat(W)))
    curvature = X.T @ np.diag(p * (1 - p)) @ X / 20 + damping * np.eye(4)
    wanted = -0.5 * np.linalg.solve(curvature, X.T @ (p - LABELS) / 20)
    extra = {
        "gauss_newton_cg": {"loss": logistic},
        "natural_gradient": {"kl": bernoulli_kl},
    }
    chain = getattr(oc, name)(0.5, **(EXACT | {"damping": damping}))
    found = step(chain, logistic, **extra[name])
    np.testing.assert_allclose(flat(found), wanted, rtol=2e-3, atol=1e-5)


@pytest.mark.parametrize("max_kl", [1e-3, 1e6])
def test_the_step_makes_no_more_divergence_than_allowed(max_kl):
    free = step(oc.natural_gradient(**EXACT), half_square, kl=gaussian_kl)
    found = step(
        oc.natural_gradient(**EXACT, max_kl=max_kl), half_square, kl=gaussian_kl
    )
    divergence = 0.5 * np.mean((X @ flat(free)) ** 2)
    factor = min(1.0, np.sqrt(max_kl / divergence))
    np.testing.assert_allclose(flat(found), factor * flat(free), rtol=1e-3, atol=1e-6)
    old = model(float32(W))
    new = model(optax.apply_updates(float32(W), found))
    assert float(gaussian_kl(old, new)) <= 1.001 * min(max_kl, divergence)


def test_the_natural_gradient_does_not_care_how_parameters_are_written():
    """A model of other parameters, p = M q, moves to the same outputs."""
    m = np.eye(3) + 0.5 * RNG.normal(size=(3, 3))

    def other(params):
        return model(params | {"a": jnp.float32(m) @ params["a"]})

    chain, params = oc.natural_gradient(**EXACT), float32(W)
    written = float32(W | {"a": np.linalg.solve(m, W["a"])})

    def moved(model, params):
        grads = jax.grad(lambda p: half_square(model(p)))(params)
        updates, _ = chain.update(
            grads, chain.init(params), params, model=model, kl=gaussian_kl
        )
        return model(optax.apply_updates(params, updates))

    np.testing.assert_allclose(
        moved(other, written), moved(model, params), rtol=2e-3, atol=1e-3
    )


def test_the_rate_is_read_from_the_state_and_extra_arguments_pass_wrappers():
    chain = oc.skip_nonfinite(oc.report(oc.gauss_newton_cg(0.5, **EXACT)))
    params = float32(W)
    grads = jax.grad(lambda p: half_square(model(p)))(params)
    updates, state = chain.update(
        grads, chain.init(params), params, model=model, loss=half_square
    )
    assert float(oc.read_report(state)["learning_rate"]) == 0.5
    solution, *_ = np.linalg.lstsq(X, Y, rcond=None)
    wanted = 0.5 * (solution - flat(W))
    np.testing.assert_allclose(flat(updates), wanted, rtol=1e-3, atol=1e-4)


def identity_step(chain, grads):
    """The step of a model whose curvature is the identity matrix."""
    grads = jnp.float32(grads)
    updates, _ = chain.update(
        grads,
        chain.init(grads),
        jnp.zeros_like(grads),
        model=lambda params: params,
        loss=lambda outputs: 0.5 * jnp.sum(outputs**2),
        kl=lambda old, new: 0.5 * jnp.sum((new - old) ** 2),
    )
    return np.asarray(updates)


CHAINS = [
    oc.gauss_newton_cg(damping=0.0),
    oc.natural_gradient(damping=0.0),
    oc.natural_gradient(damping=0.0, max_kl=0.5),
]


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_gradients_that_are_not_finite_give_no_zero_step(chain, bad):
    assert not np.isfinite(identity_step(chain, [1.0, bad])).any()


@pytest.mark.parametrize("size", [0.0, 1e-20, 1e20])
def test_the_size_of_the_gradient_does_not_matter(size):
    grads = size * np.array([3.0, -4.0])
    for chain in CHAINS:
        shorter = 5 * size if chain is CHAINS[2] else 0.0  # max_kl: norm 1 at most
        wanted = -grads / max(shorter, 1.0)
        np.testing.assert_allclose(identity_step(chain, grads), wanted, rtol=1e-5)


@pytest.mark.parametrize("max_kl", [0.0, -1.0, np.nan])
def test_a_limit_that_is_none_is_refused(max_kl):
    with pytest.raises(ValueError, match=f"max_kl is {max_kl}; type a number above 0"):
        oc.natural_gradient(max_kl=max_kl)


def test_what_is_missing_is_asked_for():
    chain, x = oc.gauss_newton_cg(), jnp.ones(1)
    wanted = r"got no model, loss; type update\(grads, state, params, model=model, loss"
    with pytest.raises(TypeError, match=wanted):
        chain.update(x, chain.init(x), x)
    chain = oc.natural_gradient()
    with pytest.raises(TypeError, match="natural_gradient: update got no params, kl;"):
        chain.update(x, chain.init(x), model=model)


def test_a_limit_may_be_traced():
    def step(max_kl):
        chain = oc.natural_gradient(damping=0.0, max_kl=max_kl)
        grads = jax.grad(lambda p: half_square(model(p)))(float32(W))
        return chain.update(
            grads,
            chain.init(grads),
            float32(W),
            model=model,
            kl=lambda old, new: 0.5 * jnp.mean((new - old) ** 2),
        )[0]

    np.testing.assert_allclose(flat(jax.jit(step)(0.01)), flat(step(0.01)), rtol=1e-4)


def test_where_the_loss_is_concave_the_step_is_zero_as_is_said():
    chain, params = oc.gauss_newton_cg(damping=0.0), jnp.ones(2)
    updates, _ = chain.update(
        -params,
        chain.init(params),
        params,
        model=lambda p: p,
        loss=lambda y: -jnp.sum(y**2),
    )
    np.testing.assert_array_equal(updates, 0)

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from rlax_agents import (
    ArgumentError,
    Categorical,
    DiagonalGaussian,
    MPODuals,
    TanhGaussian,
    init_duals,
    project_duals,
)
from rlax_agents._duals import decouple, penalties

OLD = DiagonalGaussian(jnp.zeros((3, 2)), jnp.ones((3, 2)))
NEW = DiagonalGaussian(jnp.full((3, 2), 0.5), jnp.full((3, 2), 2.0))


def test_gaussians_have_two_constraints_and_others_one():
    assert set(init_duals(Categorical).log_alphas) == {"policy"}
    for kind in (DiagonalGaussian, TanhGaussian):
        assert set(init_duals(kind).log_alphas) == {"mean", "scale"}
    duals = init_duals(
        DiagonalGaussian, dimensions=2, alpha={"mean": 1.0, "scale": 3.0}
    )
    np.testing.assert_allclose(np.exp(duals.log_alphas["scale"]), [3, 3], rtol=1e-6)
    assert duals.log_temperature.dtype == jnp.float32


def test_projections_keep_duals_positive_and_finite():
    far = MPODuals(jnp.float32(-500), {"policy": jnp.float32(500)})
    near = jax.jit(project_duals)(far)
    np.testing.assert_allclose(np.exp(near.log_temperature), 1e-8, rtol=1e-5)
    np.testing.assert_allclose(np.exp(near.log_alphas["policy"]), 1e8, rtol=1e-5)
    within = init_duals(Categorical)
    assert project_duals(within) == within


def test_duals_are_state_of_an_optimiser():
    duals, chain = init_duals(DiagonalGaussian, dimensions=2), optax.sgd(0.1)

    def step(duals, state):
        def loss(duals):
            return penalties("f", duals, OLD, decouple(OLD, NEW), epsilons=0.01)[1]

        updates, state = chain.update(jax.grad(loss)(duals), state)
        return project_duals(optax.apply_updates(duals, updates)), state

    moved, _ = jax.jit(step)(duals, chain.init(duals))
    for name, before in duals.log_alphas.items():
        assert (moved.log_alphas[name] > before).all()  # both bounds are broken


def test_multipliers_rise_where_a_bound_is_broken_and_fall_where_it_holds():
    duals = init_duals(DiagonalGaussian)
    epsilons = {"mean": 1e-3, "scale": 10.0}
    slopes = jax.grad(
        lambda d: penalties("f", d, OLD, decouple(OLD, NEW), epsilons=epsilons)[1]
    )(duals).log_alphas
    assert slopes["mean"] < 0 < slopes["scale"]


def test_parts_of_a_gaussian_diverge_apart():
    parts = decouple(OLD, NEW)
    np.testing.assert_allclose(OLD.kl(parts["mean"]), 2 * 0.5**2 / 2, rtol=1e-6)
    wide = 2 * (np.log(2) + (1 / 4 - 1) / 2)
    np.testing.assert_allclose(OLD.kl(parts["scale"]), wide, rtol=1e-6)
    assert decouple(0, 1) == {"policy": 1}


def test_constraints_of_dimensions_add_up_to_that_of_all():
    parts = decouple(OLD, NEW)
    together = penalties("f", init_duals(DiagonalGaussian), OLD, parts, epsilons=0.02)
    duals = init_duals(DiagonalGaussian, dimensions=2)
    apart = penalties("f", duals, OLD, parts, epsilons=0.01)
    np.testing.assert_allclose(apart[0], together[0], rtol=1e-6)
    np.testing.assert_allclose(apart[1], together[1], rtol=1e-6)
    np.testing.assert_allclose(apart[2]["kl_mean"], together[2]["kl_mean"], rtol=1e-6)


def test_mistakes_are_named():
    parts = decouple(OLD, NEW)
    cases = [
        (lambda: init_duals(Categorical, temperature=0.0), "temperature is 0, wanted"),
        (lambda: init_duals(Categorical, alpha=-1.0), "alpha of 'policy' is -1"),
        (
            lambda: init_duals(DiagonalGaussian, alpha={"mean": 1.0}),
            r"alpha has \['mean'\], wanted \['mean', 'scale'\] too: 'scale' is missing",
        ),
        (
            lambda: init_duals(DiagonalGaussian, dimensions=0),
            "dimensions is 0, wanted 1",
        ),
        (
            lambda: penalties("f", init_duals(Categorical), OLD, parts, epsilons=1.0),
            r"f: duals are for \['policy'\], .*type init_duals\(DiagonalGaussian\)",
        ),
        (
            lambda: penalties(
                "f",
                init_duals(DiagonalGaussian, dimensions=3),
                OLD,
                parts,
                epsilons=1.0,
            ),
            r"alphas of shape \(3,\) for 'mean', wanted \(2,\); .*dimensions=2",
        ),
    ]
    for call, message in cases:
        with pytest.raises(ArgumentError, match=message):
            call()

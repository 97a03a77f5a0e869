import jax.numpy as jnp
import numpy as np
import pytest
import return_oracle as oracle
import rlax
from return_cases import by_rlax, floats

import rlax_agents as ra
from chex_harness import assert_trees_close
from rlax_agents import ArgumentError

NAMES = "v_tm1", "v_t", "r_t", "discount_t", "rho_tm1"


@pytest.mark.parametrize("method", ["scan", "associative_scan"])
@pytest.mark.parametrize(("lambda_", "clip"), [(1.0, 1.0), (0.7, 0.5), (0.0, 3.0)])
def test_targets_are_the_sum_in_the_paper(lambda_, clip, method):
    batch = oracle.batch()
    keep = {n: jnp.asarray(batch[n]) for n in ("truncated_t", "mask_t")}
    found = ra.vtrace(
        *floats(batch, *NAMES), lambda_=lambda_, clip_rho=clip, method=method, **keep
    )
    arrays = [batch[n] for n in ("r_t", "discount_t", "v_tm1", "v_t", "rho_tm1")]
    want = oracle.v_trace_target(
        batch["truncated_t"], batch["mask_t"], *arrays, lambda_=lambda_, clip=clip
    )
    np.testing.assert_allclose(found.targets, want, rtol=1e-5, atol=1e-5)
    v_tm1 = np.where(batch["mask_t"], batch["v_tm1"], 0)
    np.testing.assert_allclose(found.errors, want - v_tm1, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("lambda_", [0.0, 0.7, 1.0])
def test_equal_to_rlax_under_vmap(lambda_):
    batch = oracle.batch(1, ends=False)
    arrays = floats(batch, *NAMES)
    # rlax takes v_tm1 of the next step for v_t in q: here they are the same.
    arrays[1] = jnp.concatenate([arrays[0][1:], arrays[1][-1:]])

    def of_rlax(v_tm1, v_t, r_t, discount_t, rho_tm1):
        return rlax.vtrace_td_error_and_advantage(
            v_tm1, v_t, r_t, discount_t, rho_tm1, lambda_, clip_pg_rho_threshold=0.8
        )

    want = by_rlax(of_rlax, *arrays)
    found = ra.vtrace(*arrays, lambda_=lambda_, clip_pg_rho=0.8)
    assert_trees_close(found.errors, want.errors, atol=1e-5)
    assert_trees_close(found.q_estimates, want.q_estimate, atol=1e-5)
    assert_trees_close(found.advantages, want.pg_advantage, atol=1e-5)


def test_on_policy_it_is_the_lambda_return():
    batch = oracle.batch(2)
    v_tm1, _, r_t, discount_t, _ = floats(batch, *NAMES)
    v_t = jnp.concatenate([v_tm1[1:], v_tm1[:1]])
    ones = jnp.ones_like(r_t)
    found = ra.vtrace(v_tm1, v_t, r_t, discount_t, ones, lambda_=0.9)
    want = ra.lambda_returns(r_t, discount_t, v_t, lambda_=0.9)
    assert_trees_close(found.targets, want, atol=1e-5)
    assert_trees_close(found.q_estimates, want, atol=1e-5)


def test_a_cut_step_bootstraps_from_its_own_value():
    shape = (3, 1)
    v_tm1, r_t, rho = jnp.zeros(shape), jnp.ones(shape), jnp.ones(shape)
    v_t = jnp.asarray([[1.0], [8.0], [1.0]])
    truncated_t = jnp.asarray([[False], [True], [False]])
    found = ra.vtrace(
        v_tm1, v_t, r_t, jnp.full(shape, 0.5), rho, truncated_t=truncated_t
    )
    assert found.targets[1].tolist() == [5.0]
    assert found.advantages[1].tolist() == [5.0]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"rho_tm1": -1.0}, "vtrace: rho_tm1 is -1 at [0, 0], wanted 0 or more"),
        ({"clip_rho": -1.0}, "vtrace: clip_rho is -1, wanted 0 or more; correct it"),
        ({"clip_pg_rho": -2.0}, "vtrace: clip_pg_rho is -2, wanted 0 or more"),
        ({"discount_t": float("nan")}, "vtrace: discount_t is nan at [0, 0]"),
    ],
)
def test_mistakes_are_named(change, says):
    arrays = dict(zip(NAMES, floats(oracle.batch(0), *NAMES), strict=True))
    for name, value in change.items():
        wide = name in arrays
        arrays[name] = jnp.full_like(arrays["r_t"], value) if wide else value
    with pytest.raises(ArgumentError) as error:
        ra.vtrace(**arrays)
    assert str(error.value).startswith(says)

"""Returns on policy against their definitions and against rlax."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import return_oracle as oracle
import rlax
from return_cases import floats

import rlax_agents as ra
from chex_harness import assert_trees_close
from rlax_agents import ArgumentError

methods = pytest.mark.parametrize("method", ["scan", "associative_scan"])


def flags(batch):
    return {name: jnp.asarray(batch[name]) for name in ("truncated_t", "mask_t")}


def truth(rule, batch, *names, **options):
    arrays = [batch[name] for name in names]
    return rule(batch["truncated_t"], batch["mask_t"], *arrays, **options)


@methods
@pytest.mark.parametrize("lambda_", [0.0, 0.7, 1.0])
def test_lambda_returns_are_those_of_the_definition(lambda_, method):
    batch = oracle.batch()
    names = "r_t", "discount_t", "v_t"
    found = ra.lambda_returns(
        *floats(batch, *names), lambda_=lambda_, method=method, **flags(batch)
    )
    want = truth(oracle.lambda_return, batch, *names, lambda_=lambda_)
    np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-5)


@methods
def test_discounted_returns_are_lambda_returns_at_one(method):
    batch = oracle.batch(1)
    names = "r_t", "discount_t", "v_t"
    found = ra.discounted_returns(*floats(batch, *names), method=method, **flags(batch))
    want = truth(oracle.lambda_return, batch, *names, lambda_=1.0)
    np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("n", [1, 2, 3, 20])
def test_n_step_returns_are_those_of_the_definition(n):
    batch = oracle.batch(2)
    names = "r_t", "discount_t", "v_t"
    found = ra.n_step_returns(*floats(batch, *names), n=n, **flags(batch))
    want = truth(oracle.n_step_return, batch, *names, n=n)
    np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-5)


@methods
@pytest.mark.parametrize("lambda_", [0.0, 0.95, 1.0])
def test_advantages_are_sums_of_errors(lambda_, method):
    batch = oracle.batch(3)
    names = "r_t", "discount_t", "v_tm1", "v_t"
    found = ra.gae(
        *floats(batch, *names), lambda_=lambda_, method=method, **flags(batch)
    )
    want = truth(oracle.advantage, batch, *names, lambda_=lambda_)
    np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-5)


def test_a_lambda_of_each_step():
    batch = oracle.batch(4, ends=False)
    r_t, discount_t, v_t = floats(batch, "r_t", "discount_t", "v_t")
    lambda_ = jnp.asarray(batch["mask_t"] * 0.5, jnp.float32).at[3].set(1.0)
    want = jax.vmap(rlax.lambda_returns, (1, 1, 1, 1), 1)(r_t, discount_t, v_t, lambda_)
    assert_trees_close(
        ra.lambda_returns(r_t, discount_t, v_t, lambda_=lambda_), want, atol=1e-6
    )


def test_advantages_and_values_make_lambda_returns():
    batch = oracle.batch(5)
    r_t, discount_t, v_tm1, v_t = floats(batch, "r_t", "discount_t", "v_tm1", "v_t")
    keep = flags(batch)
    advantages = ra.gae(r_t, discount_t, v_tm1, v_t, lambda_=0.8, **keep)
    # The identity asks that the value of a state is one, wherever it is asked for.
    same = jnp.concatenate([v_tm1[1:], v_t[-1:]])
    no_cuts = {"mask_t": keep["mask_t"]}
    advantages = ra.gae(r_t, discount_t, v_tm1, same, lambda_=0.8, **no_cuts)
    returns = ra.lambda_returns(r_t, discount_t, same, lambda_=0.8, **no_cuts)
    want = jnp.where(keep["mask_t"], returns - v_tm1, 0.0)
    assert_trees_close(advantages, want, atol=1e-5)


@methods
def test_equal_to_rlax_under_vmap(method):
    batch = oracle.batch(6, ends=False)
    r_t, discount_t, v_t = floats(batch, "r_t", "discount_t", "v_t")
    columns = {"in_axes": 1, "out_axes": 1}
    for lambda_ in (0.0, 0.6, 1.0):
        assert_trees_close(
            ra.lambda_returns(r_t, discount_t, v_t, lambda_=lambda_, method=method),
            jax.vmap(
                lambda r, d, v, mix=lambda_: rlax.lambda_returns(r, d, v, mix),
                **columns,
            )(r_t, discount_t, v_t),
            atol=1e-5,
        )
    assert_trees_close(
        ra.discounted_returns(r_t, discount_t, v_t, method=method),
        jax.vmap(rlax.discounted_returns, **columns)(r_t, discount_t, v_t),
        atol=1e-5,
    )
    assert_trees_close(
        ra.n_step_returns(r_t, discount_t, v_t, n=3),
        jax.vmap(
            lambda r, d, v: rlax.n_step_bootstrapped_returns(r, d, v, n=3), **columns
        )(r_t, discount_t, v_t),
        atol=1e-5,
    )
    values = jnp.concatenate([jnp.asarray(batch["v_tm1"][:1], jnp.float32), v_t])
    assert_trees_close(
        ra.gae(r_t, discount_t, values[:-1], v_t, lambda_=0.9, method=method),
        jax.vmap(
            lambda r, d, v: rlax.truncated_generalized_advantage_estimation(
                r, d, 0.9, v
            ),
            **columns,
        )(r_t, discount_t, values),
        atol=1e-5,
    )


def test_rlax_takes_flags_of_truncation_for_advantages_with_the_same_result():
    batch = oracle.batch(7)
    r_t, discount_t, v_tm1, v_t = floats(batch, "r_t", "discount_t", "v_tm1", "v_t")
    truncated_t = jnp.asarray(batch["truncated_t"])
    found = ra.gae(r_t, discount_t, v_tm1, v_t, truncated_t=truncated_t)
    # A step that is cut off bootstraps from v_t[k]: no other sequence's value.
    other = ra.gae(
        jnp.where(truncated_t, r_t + discount_t * v_t, r_t),
        jnp.where(truncated_t, 0.0, discount_t),
        v_tm1,
        v_t,
    )
    assert_trees_close(found, other, atol=1e-6)


def test_a_truncated_step_takes_nothing_from_the_next_trajectory():
    r_t, discount_t = jnp.ones((4, 1)), jnp.full((4, 1), 0.5)
    v_t = jnp.asarray([[1.0], [8.0], [1.0], [1.0]])
    truncated_t = jnp.asarray([[False], [True], [False], [False]])
    returns = ra.discounted_returns(r_t, discount_t, v_t, truncated_t=truncated_t)
    assert returns[1].tolist() == [1 + 0.5 * 8]
    assert returns[0].tolist() == [1 + 0.5 * 5]
    far = ra.discounted_returns(
        r_t.at[2:].set(1e6), discount_t, v_t, truncated_t=truncated_t
    )
    assert_trees_close(far[:2], returns[:2])


def test_one_value_to_bootstrap_from():
    r_t, discount_t = jnp.ones(3), jnp.full(3, 0.5)
    assert ra.discounted_returns(r_t, discount_t, 8.0).tolist() == [2.75, 3.5, 5.0]


def test_long_sums_of_16_bit_floats_do_not_stall():
    r_t = jnp.ones((3000, 1), jnp.bfloat16)
    discount_t = jnp.ones_like(r_t)
    returns = ra.discounted_returns(r_t, discount_t, jnp.zeros_like(r_t))
    assert returns.dtype == jnp.bfloat16
    assert float(returns[0, 0]) == 3008  # 3000, as near as bfloat16 has it
    n_step = ra.n_step_returns(r_t, discount_t, jnp.zeros_like(r_t), n=1000)
    assert float(n_step[0, 0]) == 1000


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            {"r_t": np.ones((7, 5), np.int32)},
            (
                "lambda_returns: r_t has dtype int32, wanted a float; "
                "type r_t.astype(jnp.float32)"
            ),
        ),
        (
            {"v_t": np.ones((5, 7), np.float32)},
            (
                "lambda_returns: v_t has shape (5, 7), wanted (7, 5) like r_t; time "
                "and batch are swapped: type jnp.swapaxes(v_t, 0, 1)"
            ),
        ),
        (
            {"v_t": np.ones((7, 5, 1), np.float32)},
            (
                "lambda_returns: v_t has shape (7, 5, 1), wanted (7, 5) like r_t; "
                "type v_t[..., 0]"
            ),
        ),
        (
            {"v_t": np.ones((8, 5), np.float32)},
            (
                "lambda_returns: v_t has shape (8, 5), wanted (7, 5) like r_t; it has "
                "one step more: type v_t[:-1] or v_t[1:]"
            ),
        ),
        (
            {"discount_t": np.full((7, 5), 1.5, np.float32)},
            (
                "lambda_returns: discount_t is 1.5 at [0, 0], wanted [0, 1]; correct "
                "it, or mask it out"
            ),
        ),
        (
            {"lambda_": 1.01},
            "lambda_returns: lambda_ is 1.01, wanted [0, 1]; correct it",
        ),
        (
            {"truncated_t": np.ones((7, 5), np.float32)},
            (
                "lambda_returns: truncated_t has dtype float32, wanted bool; "
                "type truncated_t != 0"
            ),
        ),
        (
            {"mask_t": np.ones(7, bool)},
            (
                "lambda_returns: mask_t has shape (7,), wanted (7, 5) like r_t; both "
                "have to be of the same steps"
            ),
        ),
        (
            {"time_axis": 2},
            (
                "lambda_returns: r_t has shape (7, 5), which has no axis time_axis=2; "
                "type time_axis=0 if the first axis is time"
            ),
        ),
        (
            {"method": "loop"},
            "method is 'loop', wanted 'scan' or 'associative_scan'",
        ),
        (
            {"v_t": "values"},
            "lambda_returns: v_t is a str that is no array",
        ),
    ],
)
def test_mistakes_are_named(change, says):
    batch = oracle.batch(0, ends=False)
    names = ("r_t", "discount_t", "v_t")
    arguments = dict(zip(names, floats(batch, *names), strict=True)) | change
    with pytest.raises(ArgumentError) as error:
        ra.lambda_returns(**arguments)
    assert str(error.value).startswith(says)


def test_no_steps_and_no_numbers_of_steps():
    empty = jnp.ones((0, 2))
    with pytest.raises(ArgumentError, match=r"r_t has shape \(0, 2\), wanted 1 step"):
        ra.gae(empty, empty, empty, empty)
    ones = jnp.ones(3)
    with pytest.raises(ArgumentError, match="n_step_returns: n is 0, wanted 1 or more"):
        ra.n_step_returns(ones, ones, ones, n=0)
    with pytest.raises(ArgumentError, match=r"n_step_returns: n is 1.5, wanted an int"):
        ra.n_step_returns(ones, ones, ones, n=1.5)


def test_what_is_masked_may_be_out_of_range():
    batch = oracle.batch(0)
    r_t, discount_t, v_t = floats(batch, "r_t", "discount_t", "v_t")
    mask_t = jnp.asarray(batch["mask_t"])
    bad = jnp.where(mask_t, discount_t, jnp.nan)
    assert_trees_close(
        ra.lambda_returns(r_t, bad, v_t, mask_t=mask_t),
        ra.lambda_returns(r_t, discount_t, v_t, mask_t=mask_t),
    )
    with pytest.raises(ArgumentError, match="discount_t is nan at"):
        ra.lambda_returns(r_t, bad, v_t)

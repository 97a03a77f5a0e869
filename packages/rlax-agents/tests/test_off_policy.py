import jax
import jax.numpy as jnp
import numpy as np
import pytest
import return_oracle as oracle
import rlax
from return_cases import CASES, N_ACTIONS, arrays_of, by_rlax

import rlax_agents as ra
from chex_harness import assert_trees_close
from rlax_agents import ArgumentError

methods = pytest.mark.parametrize("method", ["scan", "associative_scan"])


def pick(values, a):
    return np.take_along_axis(values, np.asarray(a)[..., None], -1)[..., 0]


@methods
def test_general_returns_are_those_of_the_paper(method):
    arrays, flags = arrays_of(CASES["general"])
    q_t, v_t, r_t, discount_t, c_t = arrays
    found = ra.general_off_policy_returns(*arrays, method=method, **flags)
    want = oracle.trace_return(
        *(np.asarray(flags[n]) for n in ("truncated_t", "mask_t")),
        *(np.asarray(x, np.float64) for x in (r_t, discount_t, q_t, v_t, c_t)),
    )
    np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-5)


@methods
def test_retrace_errors_are_those_of_the_paper(method):
    arrays, flags = arrays_of(CASES["retrace"], seed=1)
    q_tm1, q_t, a_tm1, a_t, r_t, discount_t, pi_t, mu_t = map(np.asarray, arrays)
    found = ra.retrace(*arrays, lambda_=0.8, method=method, **flags)
    truncated_t, mask_t = (np.asarray(flags[n]) for n in ("truncated_t", "mask_t"))
    c_t = 0.8 * np.minimum(1, pick(pi_t, a_t) / mu_t)
    v_t = (pi_t * q_t).sum(-1)
    targets = oracle.trace_return(
        truncated_t, mask_t, r_t, discount_t, pick(q_t, a_t), v_t, c_t
    )
    want = np.where(mask_t, targets - pick(q_tm1, a_tm1), 0)
    np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-5)


@methods
def test_q_lambda_errors_take_the_greedy_value(method):
    arrays, flags = arrays_of(CASES["q_lambda"], seed=2)
    q_tm1, a_tm1, r_t, discount_t, q_t = map(np.asarray, arrays)
    found = ra.q_lambda(*arrays, lambda_=0.8, method=method, **flags)
    truncated_t, mask_t = (np.asarray(flags[n]) for n in ("truncated_t", "mask_t"))
    targets = oracle.lambda_return(
        truncated_t, mask_t, r_t, discount_t, q_t.max(-1), lambda_=0.8
    )
    want = np.where(mask_t, targets - pick(q_tm1, a_tm1), 0)
    np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-5)


def test_equal_to_rlax_under_vmap():
    arrays, _ = arrays_of(CASES["retrace"], ends=False)
    want = by_rlax(lambda *xs: rlax.retrace(*xs, 0.9), *arrays)
    assert_trees_close(ra.retrace(*arrays, lambda_=0.9), want, atol=1e-5)
    arrays, _ = arrays_of(CASES["q_lambda"], ends=False)
    want = by_rlax(lambda *xs: rlax.q_lambda(*xs, 0.9), *arrays)
    assert_trees_close(ra.q_lambda(*arrays, lambda_=0.9), want, atol=1e-5)
    arrays, _ = arrays_of(CASES["general"], ends=False)
    q_t, v_t, r_t, discount_t, c_t = arrays
    want = by_rlax(
        rlax.general_off_policy_returns_from_q_and_v,
        q_t[:-1],
        v_t,
        r_t,
        discount_t,
        c_t[:-1],
    )
    assert_trees_close(ra.general_off_policy_returns(*arrays), want, atol=1e-5)


@methods
def test_the_last_trace_leads_nowhere(method):
    arrays, _ = arrays_of(CASES["general"], ends=False)
    found = ra.general_off_policy_returns(*arrays, method=method)
    other = [x.at[-1].set(jnp.nan) if i in (0, 4) else x for i, x in enumerate(arrays)]
    again = ra.general_off_policy_returns(*other, method=method)
    assert_trees_close(again, found)


def test_an_action_that_was_never_taken_cuts_the_trace():
    arrays, _ = arrays_of(CASES["retrace"], ends=False)
    q_tm1, q_t, a_tm1, a_t, r_t, discount_t, _, mu_t = arrays
    nothing = jnp.zeros_like(mu_t)
    sure = jax.nn.one_hot((a_t + 1) % N_ACTIONS, N_ACTIONS)
    found = ra.retrace(q_tm1, q_t, a_tm1, a_t, r_t, discount_t, sure, nothing)
    cut = ra.retrace(q_tm1, q_t, a_tm1, a_t, r_t, discount_t, sure, mu_t, lambda_=0.0)
    assert_trees_close(found, cut, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        ("a_t", lambda x: x + 9, "retrace: a_t is 10 at [0, 0], wanted [0, 2]"),
        (
            "a_t",
            lambda x: x.astype(jnp.float32),
            (
                "retrace: a_t has dtype float32, wanted an integer; "
                "type a_t.astype(jnp.int32)"
            ),
        ),
        (
            "pi_t",
            lambda x: x * 0 + 0.2,
            (
                "retrace: pi_t sums to 0.6 over its last axis at [0, 0], wanted 1; "
                "type jax.nn.softmax(pi_t) if it holds logits"
            ),
        ),
        ("pi_t", lambda x: x - 2, "retrace: pi_t is -"),
        ("mu_t", lambda x: x + 1, "retrace: mu_t is 1."),
        (
            "r_t",
            lambda x: x.T,
            "retrace: discount_t has shape (7, 5), wanted (5, 7) like r_t",
        ),
        (
            "q_t",
            lambda x: x[..., :2],
            "retrace: q_t has shape (7, 5, 2), wanted (7, 5, 3) like q_tm1",
        ),
    ],
)
def test_mistakes_are_named(name, change, says):
    case = CASES["retrace"]
    arrays = dict(zip(case.names, arrays_of(case, ends=False)[0], strict=True))
    arrays["a_t"] = arrays["a_t"].at[0, 0].set(1)
    arrays[name] = change(arrays[name])
    with pytest.raises(ArgumentError) as error:
        ra.retrace(**arrays)
    assert str(error.value).startswith(says)


def test_values_without_an_axis_of_actions():
    ones, a = jnp.ones(4), jnp.zeros(4, jnp.int32)
    with pytest.raises(ArgumentError, match=r"q_tm1 has shape \(4,\), wanted \[time"):
        ra.q_lambda(ones, a, ones, ones, ones)

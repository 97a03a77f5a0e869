import pickle

import jax
import jax.numpy as jnp
import loss_oracle as oracle
import numpy as np
import pytest
import rlax
from hypothesis import given, settings
from hypothesis import strategies as st

from chex_harness import assert_compiles
from rlax_agents import (
    ArgumentError,
    ValueTransform,
    muzero,
    n_step_returns,
    signed_hyperbolic,
    two_hot,
)

finite = st.floats(-1e5, 1e5, width=32)
BINS = np.linspace(-30, 30, 61)


@pytest.mark.parametrize("eps", [0.0, 1e-3, 0.1])
@settings(deadline=None, max_examples=30)
@given(values=st.lists(finite, min_size=5, max_size=5))
def test_the_inverse_of_the_squash_is_exact(eps, values):
    tx, x = signed_hyperbolic(eps), jnp.asarray(values, jnp.float32)
    np.testing.assert_allclose(tx.inverse(tx.apply(x)), x, rtol=2e-6, atol=1e-30)


@settings(deadline=None, max_examples=30)
@given(values=st.lists(st.floats(-30, 30, width=32), min_size=5, max_size=5))
def test_the_inverse_of_two_hot_is_exact_within_the_bins(values):
    tx, x = two_hot(BINS), jnp.asarray(values, jnp.float32)
    p = tx.apply(x)
    np.testing.assert_allclose(tx.inverse(p), x, atol=1e-5)
    np.testing.assert_allclose(p.sum(-1), 1, atol=1e-6)
    assert (p >= 0).all()
    assert ((p > 0).sum(-1) <= 2).all()


@settings(deadline=None, max_examples=30)
@given(values=st.lists(st.floats(-900, 900, width=32), min_size=5, max_size=5))
def test_the_inverse_of_the_pair_of_muzero_is_exact(values):
    tx, x = muzero(BINS), jnp.asarray(values, jnp.float32)
    np.testing.assert_allclose(tx.inverse(tx.apply(x)), x, rtol=1e-5, atol=1e-5)


def test_the_squash_is_that_of_the_paper():
    x = np.linspace(-50, 50, 101)
    for eps in (1e-3, 1e-2):
        tx = signed_hyperbolic(eps)
        np.testing.assert_allclose(
            tx.apply(jnp.asarray(x, jnp.float32)), oracle.squash(x, eps), rtol=1e-5
        )
        np.testing.assert_allclose(
            tx.inverse(jnp.asarray(x, jnp.float32)), oracle.expand(x, eps), rtol=1e-4
        )


def test_near_zero_the_inverse_is_more_exact_than_that_of_rlax():
    y = jnp.asarray([1e-4, 1e-3, 1e-2], jnp.float32)
    truth = oracle.expand(np.asarray(y, np.float64))
    ours = np.abs(signed_hyperbolic().inverse(y) / truth - 1).max()
    theirs = np.abs(rlax.SIGNED_HYPERBOLIC_PAIR.apply_inv(y) / truth - 1).max()
    assert ours < 1e-6
    assert theirs > 100 * ours


def test_two_hot_and_muzero_are_those_of_rlax_but_for_its_added_constant():
    x = jnp.asarray([-7.3, 0.0, 2.5, 40.0])
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        split = rlax.twohot_pair(-30.0, 30.0, 61).apply(x)
        pair = rlax.muzero_pair(-30.0, 30.0, 61, rlax.SIGNED_HYPERBOLIC_PAIR).apply(x)
    np.testing.assert_allclose(two_hot(BINS).apply(x), split, atol=1e-4)
    np.testing.assert_allclose(muzero(BINS).apply(x), pair, atol=1e-4)


def test_bins_may_have_any_spacing():
    bins = [-3.0, -1.0, 0.5, 10.0]
    x = np.asarray([-9.0, -3.0, -2.0, 0.5, 5.0, 11.0])
    want = [oracle.project([z], [1.0], bins) for z in x]
    np.testing.assert_allclose(
        two_hot(bins).apply(jnp.asarray(x, jnp.float32)), want, atol=1e-6
    )


def test_targets_of_n_steps_are_those_of_rlax():
    rng = np.random.default_rng(0)
    q_tm1, q_t = jnp.asarray(rng.normal(size=(2, 6, 3)), jnp.float32)
    r_t, discount_t = jnp.asarray(rng.uniform(size=(2, 6)), jnp.float32)
    a_tm1, a_t = jnp.asarray(rng.integers(0, 3, (2, 6)))
    tx = signed_hyperbolic()
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        want = rlax.transformed_n_step_q_learning(
            *(q_tm1, a_tm1, q_t, a_t, r_t, discount_t),
            2,
            tx_pair=rlax.SIGNED_HYPERBOLIC_PAIR,
        )
    v_t = jnp.take_along_axis(tx.inverse(q_t), a_t[:, None], 1)[:, 0]
    target = tx.apply(n_step_returns(r_t, discount_t, v_t, n=2))
    found = target - jnp.take_along_axis(q_tm1, a_tm1[:, None], 1)[:, 0]
    np.testing.assert_allclose(found, want, atol=2e-4)  # rlax's inverse loses digits


def test_gradients_are_finite_at_nought_and_far_off():
    tx = signed_hyperbolic()
    for way in (tx.apply, tx.inverse):
        slopes = jax.jit(jax.vmap(jax.grad(way)))(jnp.asarray([0.0, 1e-20, -1e6, 1e6]))
        assert (slopes > 0).all()
        assert np.isfinite(slopes).all()
    there, back = (jax.jit(jax.grad(way))(0.0) for way in (tx.apply, tx.inverse))
    np.testing.assert_allclose(back, 1 / there)


@pytest.mark.parametrize("tx", [signed_hyperbolic(), two_hot(BINS), muzero(BINS)])
def test_dtypes_are_kept_and_transforms_pickle(tx):
    x = jnp.asarray([1.0, 2.0], jnp.bfloat16)
    assert tx.apply(x).dtype == tx.inverse(tx.apply(x)).dtype == jnp.bfloat16
    again = pickle.loads(pickle.dumps(tx))
    np.testing.assert_array_equal(again.apply(x), tx.apply(x))


def test_equal_transforms_are_one_static_argument():
    step = jax.jit(lambda x, tx: tx.apply(x), static_argnums=1)
    x = jnp.ones(2)
    step(x, muzero(BINS))
    with assert_compiles(0):
        step(x, muzero(BINS.tolist(), eps=1e-3))


def test_a_transform_of_ones_own_is_a_pair():
    double = ValueTransform(lambda x: 2 * x, lambda y: y / 2)
    assert double.bins is None
    assert double.inverse(double.apply(jnp.ones(()))) == 1


def test_mistakes_are_named():
    with pytest.raises(ArgumentError, match=r"signed_hyperbolic: eps is -1, wanted 0"):
        signed_hyperbolic(-1.0)
    with pytest.raises(ArgumentError, match=r"x has dtype int32, wanted a float"):
        signed_hyperbolic().apply(jnp.arange(3))
    with pytest.raises(
        ArgumentError,
        match=r"bins of shape \(3,\) is \[0.0, 2.0, 1.0\], .*type np.unique",
    ):
        two_hot([0.0, 2.0, 1.0])
    with pytest.raises(
        ArgumentError, match=r"p has shape \(3,\), wanted a last axis of 61"
    ):
        two_hot(BINS).inverse(jnp.ones(3))
    with pytest.raises(ArgumentError, match=r"bins is traced, wanted numbers"):
        jax.jit(lambda bins: two_hot(bins).apply(jnp.ones(2)))(jnp.arange(3.0))

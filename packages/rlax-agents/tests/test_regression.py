import jax
import jax.numpy as jnp
import loss_oracle as oracle
import numpy as np
import pytest
import rlax
from loss_cases import batch

from rlax_agents import ArgumentError, error_loss, q_lambda, td_loss, two_hot
from rlax_agents._regression import check_transitions, decode, take

B = batch()


@pytest.mark.parametrize("delta", [None, 0.5, 1.0])
def test_the_loss_of_errors_is_that_of_a_loop(delta):
    errors = jnp.asarray(B["r_t"], jnp.float32)
    loss, metrics = error_loss(
        errors,
        huber=delta,
        weights=jnp.asarray(B["weights"], jnp.float32),
        mask_t=jnp.asarray(B["mask_t"]),
    )
    want = oracle.mean_over(
        B["mask_t"], lambda at: B["weights"][at] * oracle.huber(B["r_t"][at], delta)
    )
    np.testing.assert_allclose(loss, want, rtol=1e-5)
    size = oracle.mean_over(B["mask_t"], lambda at: abs(B["r_t"][at]))
    np.testing.assert_allclose(metrics["td_error"], size, rtol=1e-5)


def test_the_loss_of_errors_is_that_of_rlax():
    errors = jnp.asarray(B["r_t"], jnp.float32)
    np.testing.assert_allclose(
        error_loss(errors)[0], rlax.l2_loss(errors).mean(), rtol=1e-6
    )
    np.testing.assert_allclose(
        error_loss(errors, huber=0.7)[0], rlax.huber_loss(errors, 0.7).mean(), rtol=1e-6
    )


def test_a_large_huber_is_none():
    errors = jnp.asarray(B["r_t"], jnp.float32)
    assert error_loss(errors, huber=100.0)[0] == error_loss(errors)[0]


def test_errors_of_sequences_have_a_loss():
    names = "q_tm1", "a_tm1", "r_t", "discount_t", "q_t"
    arrays = [
        jnp.asarray(B[n], jnp.int32 if n == "a_tm1" else jnp.float32) for n in names
    ]

    def loss(q):
        return error_loss(q_lambda(q, *arrays[1:], lambda_=0.5))[0]

    assert np.asarray(jax.grad(loss)(arrays[0])).any()


def test_mistakes_are_named():
    with pytest.raises(
        ArgumentError, match=r"error_loss: huber is 0, wanted above 0; type huber=None"
    ):
        error_loss(jnp.ones(3), huber=0)
    with pytest.raises(
        ArgumentError, match=r"mask_t has shape \(3, 1\), wanted \(3,\) like errors_t"
    ):
        error_loss(jnp.ones(3), mask_t=jnp.ones((3, 1), bool))
    with pytest.raises(ArgumentError, match=r"mask_t has dtype float32, wanted bool"):
        error_loss(jnp.ones(3), mask_t=jnp.ones(3))
    logits, one = jnp.zeros((2, 3)), jnp.ones(2)
    with pytest.raises(
        ArgumentError, match=r"td_loss: huber is 1.0, but the transform has 3 bins"
    ):
        td_loss(logits, one, one, logits, huber=1.0, transform=two_hot([0.0, 1.0, 2.0]))


def test_what_a_value_lacks_is_said_in_words():
    steps = check_transitions("f", jnp.ones(2), jnp.ones(2), None)
    with pytest.raises(
        ArgumentError,
        match=r"q has shape \(2,\), wanted rank 2: those of r_t \(2,\), then act",
    ):
        steps.check("q", jnp.ones(2), "actions")
    with pytest.raises(
        ArgumentError, match=r"b has shape \(2, 4\), wanted \(2, 3\) like a"
    ):
        steps.check_pair("actions", a=jnp.ones((2, 3)), b=jnp.ones((2, 4)))
    with pytest.raises(ArgumentError, match=r"a_t is 3 at \[1\], wanted \[0, 2\]"):
        steps.check_taken("a_t", jnp.asarray([0, 3]), jnp.ones((2, 3)))


def test_discounts_above_one_raise_unless_masked():
    discount_t, mask_t = jnp.asarray([1.0, 1.5]), jnp.asarray([True, False])
    with pytest.raises(
        ArgumentError, match=r"discount_t is 1.5 at \[1\], wanted \[0, 1\]"
    ):
        check_transitions("f", jnp.ones(2), discount_t, None)
    check_transitions("f", jnp.ones(2), discount_t, mask_t)


def test_taking_is_indexing():
    values = jnp.arange(24.0).reshape(2, 3, 4)
    a = jnp.asarray([2, 0])
    assert take(values, a).tolist() == [values[0, 2].tolist(), values[1, 0].tolist()]
    assert take(values[..., 0], a).tolist() == [8, 12]


def test_logits_are_decoded_by_their_probabilities():
    tx = two_hot([0.0, 1.0])
    np.testing.assert_allclose(decode(jnp.zeros((3, 2)), tx), 0.5)

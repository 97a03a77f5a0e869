import jax
import jax.numpy as jnp
import loss_oracle as oracle
import numpy as np
import pytest
import rlax
from loss_cases import ATOMS, arrays, batch, by_rlax

import rlax_agents as ra
from chex_harness import assert_trees_close

B, F = batch(2), arrays(2)
Q = [F[n] for n in ("q_tm1", "a_tm1", "r_t", "discount_t", "q_t")]
SELECTOR = F["q_t_selector"]
OPTIONS = {"weights": F["weights"], "mask_t": F["mask_t"]}


def error(at, *, double, squashed):
    values = oracle.expand(B["q_t"][at]) if squashed else B["q_t"][at]
    best = np.argmax(B["q_t_selector"][at] if double else values)
    target = B["r_t"][at] + B["discount_t"][at] * values[best]
    return (oracle.squash(target) if squashed else target) - B["q_tm1"][at][
        B["a_tm1"][at]
    ]


@pytest.mark.parametrize("tx", [None, ra.signed_hyperbolic()], ids=["true", "squashed"])
@pytest.mark.parametrize("double", [False, True])
def test_losses_and_errors_are_those_of_a_loop(double, tx):
    loss, errors, given = ra.q_loss, ra.q_td_errors, Q
    if double:
        loss, errors, given = ra.double_q_loss, ra.double_q_td_errors, [*Q, SELECTOR]
    of = {"double": double, "squashed": tx is not None}
    found, metrics = loss(*given, huber=1.0, transform=tx, **OPTIONS)
    want = oracle.mean_over(
        B["mask_t"], lambda at: B["weights"][at] * oracle.huber(error(at, **of), 1.0)
    )
    np.testing.assert_allclose(found, want, rtol=1e-5)
    true = oracle.expand if tx is not None else float
    taken = oracle.mean_over(
        B["mask_t"], lambda at: true(B["q_tm1"][at][B["a_tm1"][at]])
    )
    np.testing.assert_allclose(metrics["value"], taken, rtol=1e-4)
    by_step = errors(*given, transform=tx, mask_t=OPTIONS["mask_t"])
    for at in oracle.steps(B["mask_t"]):
        np.testing.assert_allclose(by_step[at], error(at, **of), rtol=1e-4, atol=1e-6)


def test_errors_are_those_of_rlax():
    assert_trees_close(ra.q_td_errors(*Q), by_rlax(rlax.q_learning, *Q), atol=1e-6)
    want = by_rlax(rlax.double_q_learning, *Q, SELECTOR)
    assert_trees_close(ra.double_q_td_errors(*Q, SELECTOR), want, atol=1e-6)


def test_one_network_alone_makes_double_q_learning_single():
    assert_trees_close(ra.double_q_loss(*Q, Q[4]), ra.q_loss(*Q), atol=0)


def test_choosing_by_others_never_raises_the_target():
    assert (ra.double_q_td_errors(*Q, SELECTOR) <= ra.q_td_errors(*Q)).all()


def test_values_in_bins_are_learned_by_cross_entropy():
    tx = ra.muzero(ATOMS)
    given = [F["q_logits_tm1"], *Q[1:4], F["q_logits_t"]]
    loss, _ = ra.q_loss(*given, transform=tx, mask_t=F["mask_t"])
    atoms = np.asarray(ATOMS)

    def step(at):
        values = oracle.expand(oracle.softmax(B["q_logits_t"][at]) @ atoms)
        target = B["r_t"][at] + B["discount_t"][at] * values.max()
        p = oracle.project([oracle.squash(target)], [1.0], atoms)
        logits = B["q_logits_tm1"][at][B["a_tm1"][at]]
        return -(p @ oracle.log_softmax(logits))

    np.testing.assert_allclose(loss, oracle.mean_over(B["mask_t"], step), rtol=1e-5)


def test_what_is_learned_in_bins_is_the_target():
    tx, a, one = ra.muzero(np.linspace(-5, 5, 21)), jnp.zeros(1, jnp.int32), jnp.ones(1)

    def loss(logits):
        return ra.q_loss(logits, a, 7.3 * one, 0 * one, logits, transform=tx)[0]

    logits, step = jnp.zeros((1, 1, 21)), jax.jit(jax.grad(loss))
    for _ in range(200):
        logits -= 2.0 * step(logits)
    np.testing.assert_allclose(tx.inverse(jax.nn.softmax(logits))[0, 0], 7.3, rtol=2e-2)


def test_actions_that_are_none_raise():
    q, one = jnp.zeros((2, 3)), jnp.ones(2)
    with pytest.raises(
        ra.ArgumentError, match=r"q_loss: a_tm1 has dtype float32, wanted an integer"
    ):
        ra.q_loss(q, one, one, one, q)
    with pytest.raises(ra.ArgumentError, match=r"a_tm1 is 3 at \[0\], wanted \[0, 2\]"):
        ra.q_loss(q, jnp.asarray([3, 0]), one, one, q)
    with pytest.raises(
        ra.ArgumentError,
        match=r"a_tm1 has shape \(2, 1\), .*; type a_tm1\[\.\.\., 0\]",
    ):
        ra.q_loss(q, jnp.zeros((2, 1), jnp.int32), one, one, q)
    with pytest.raises(
        ra.ArgumentError,
        match=r"q_t_selector has shape \(2, 4\), wanted \(2, 3\) like q_t",
    ):
        ra.double_q_loss(q, jnp.zeros(2, jnp.int32), one, one, q, jnp.zeros((2, 4)))

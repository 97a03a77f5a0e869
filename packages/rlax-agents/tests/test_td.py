import jax.numpy as jnp
import loss_oracle as oracle
import numpy as np
import pytest
import rlax
from loss_cases import ATOMS, arrays, batch, by_rlax

import rlax_agents as ra
from chex_harness import assert_trees_close

B, F = batch(1), arrays(1)
TD = [F[n] for n in ("v_tm1", "r_t", "discount_t", "v_t")]
Q = [F[n] for n in ("q_tm1", "a_tm1", "r_t", "discount_t", "q_t")]
OPTIONS = {"weights": F["weights"], "mask_t": F["mask_t"]}
TX = ra.signed_hyperbolic()


def next_value(name, at, values):
    """What a rule bootstraps from, of true action values there."""
    if name == "td":
        return values
    if name == "sarsa":
        return values[B["a_t"][at]]
    return B["pi_t"][at] @ values


def error(name, at, *, squashed):
    before, after = ("v_tm1", "v_t") if name == "td" else ("q_tm1", "q_t")
    values = oracle.expand(B[after][at]) if squashed else B[after][at]
    target = B["r_t"][at] + B["discount_t"][at] * next_value(name, at, values)
    now = B[before][at] if name == "td" else B[before][at][B["a_tm1"][at]]
    return (oracle.squash(target) if squashed else target) - now


CALLS = {
    "td": (ra.td_loss, ra.td_errors, TD),
    "sarsa": (ra.sarsa_loss, ra.sarsa_td_errors, [*Q, F["a_t"]]),
    "expected": (ra.expected_sarsa_loss, ra.expected_sarsa_td_errors, [*Q, F["pi_t"]]),
}


@pytest.mark.parametrize("tx", [None, TX], ids=["true", "squashed"])
@pytest.mark.parametrize("name", CALLS)
def test_losses_and_errors_are_those_of_a_loop(name, tx):
    loss, errors, given = CALLS[name]
    found, metrics = loss(*given, huber=0.7, transform=tx, **OPTIONS)
    squashed = tx is not None
    want = oracle.mean_over(
        B["mask_t"],
        lambda at: (
            B["weights"][at] * oracle.huber(error(name, at, squashed=squashed), 0.7)
        ),
    )
    np.testing.assert_allclose(found, want, rtol=1e-5)
    size = oracle.mean_over(
        B["mask_t"], lambda at: abs(error(name, at, squashed=squashed))
    )
    np.testing.assert_allclose(metrics["td_error"], size, rtol=1e-5)
    by_step = errors(*given, transform=tx, mask_t=OPTIONS["mask_t"])
    for at in oracle.steps(B["mask_t"]):
        np.testing.assert_allclose(
            by_step[at], error(name, at, squashed=squashed), rtol=1e-4, atol=1e-6
        )


def test_errors_are_those_of_rlax():
    want = {
        "td": by_rlax(rlax.td_learning, *TD),
        "sarsa": by_rlax(rlax.sarsa, *Q, F["a_t"]),
        "expected": by_rlax(rlax.expected_sarsa, *Q, F["pi_t"]),
    }
    found = {name: errors(*given) for name, (_, errors, given) in CALLS.items()}
    assert_trees_close(found, want, atol=1e-6)


def test_expected_sarsa_of_a_sure_policy_is_sarsa():
    sure = jnp.asarray(np.eye(5)[B["a_t"]], jnp.float32)
    assert_trees_close(
        ra.expected_sarsa_loss(*Q, sure), ra.sarsa_loss(*Q, F["a_t"]), atol=1e-6
    )


def test_values_in_bins_are_learned_by_cross_entropy():
    logits_tm1, logits_t = F["q_logits_tm1"][:, :, 0], F["q_logits_t"][:, :, 0]
    loss, metrics = ra.td_loss(
        logits_tm1, *TD[1:3], logits_t, transform=ra.two_hot(ATOMS), mask_t=F["mask_t"]
    )
    atoms = np.asarray(ATOMS)

    def parts(at):
        before, after = B["q_logits_tm1"][at][0], B["q_logits_t"][at][0]
        target = B["r_t"][at] + B["discount_t"][at] * (oracle.softmax(after) @ atoms)
        p = oracle.project([target], [1.0], atoms)
        value = oracle.softmax(before) @ atoms
        return -(p @ oracle.log_softmax(before)), value, abs(target - value)

    for found, index in ((loss, 0), (metrics["value"], 1), (metrics["td_error"], 2)):
        want = oracle.mean_over(B["mask_t"], lambda at, i=index: parts(at)[i])
        np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-6)


def test_logits_where_probabilities_belong_raise():
    message = r"expected_sarsa_loss: pi_t is .* wanted \[0, 1\]"
    with pytest.raises(ra.ArgumentError, match=message):
        ra.expected_sarsa_loss(*Q, F["q_t"])
    halves = jnp.full_like(F["pi_t"], 0.5)
    with pytest.raises(ra.ArgumentError, match=r"pi_t sums to 2.5 .* jax.nn.softmax"):
        ra.expected_sarsa_loss(*Q, halves)


def test_a_column_of_rewards_raises():
    column = F["r_t"][0][:, None]
    message = (
        r"q_tm1 has shape \(4, 5\), wanted rank 3: those of r_t \(4, 1\), then actions"
    )
    with pytest.raises(ra.ArgumentError, match=message):
        ra.sarsa_loss(Q[0][0], Q[1][0], column, column * 0, Q[4][0], F["a_t"][0])
    with pytest.raises(
        ra.ArgumentError, match=r"v_tm1 has shape \(4,\), wanted rank 2"
    ):
        ra.td_loss(TD[0][0], column, column * 0, TD[3][0])

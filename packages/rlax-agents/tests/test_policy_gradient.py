import jax
import jax.numpy as jnp
import loss_oracle as oracle
import numpy as np
import pytest
import rlax
from loss_cases import arrays, batch

import rlax_agents as ra
from rlax_agents import Categorical, DiagonalGaussian
from rlax_agents._policy_gradient import explained_variance

B, F = batch(4), arrays(4)
PI = Categorical(F["logits_tm1"])
OPTIONS = {"weights": F["weights"], "mask_t": F["mask_t"]}


def log_pi(at):
    return oracle.log_softmax(B["logits_tm1"][at])


def entropy(at):
    return -(oracle.softmax(B["logits_tm1"][at]) @ log_pi(at))


def weighted(of_step):
    return oracle.mean_over(B["mask_t"], lambda at: B["weights"][at] * of_step(at))


def test_the_policy_gradient_is_that_of_a_loop():
    loss, metrics = ra.policy_gradient_loss(
        PI, F["a_tm1"], F["adv_tm1"], entropy_cost=0.1, **OPTIONS
    )
    policy = weighted(lambda at: -log_pi(at)[B["a_tm1"][at]] * B["adv_tm1"][at])
    spread = weighted(entropy)
    np.testing.assert_allclose(metrics["policy_loss"], policy, rtol=1e-5)
    np.testing.assert_allclose(metrics["entropy"], spread, rtol=1e-5)
    np.testing.assert_allclose(loss, policy - 0.1 * spread, rtol=1e-5)


@pytest.mark.filterwarnings("ignore:Rlax softmax will be:")
def test_the_policy_gradient_is_that_of_rlax():
    def theirs(logits):
        flat = [F[n].reshape(-1) for n in ("a_tm1", "adv_tm1", "weights")]
        logits = logits.reshape(-1, logits.shape[-1])
        loss = rlax.policy_gradient_loss(logits, *flat)
        return loss + 0.1 * rlax.entropy_loss(logits, flat[-1])

    def ours(logits):
        return ra.policy_gradient_loss(
            *(Categorical(logits), F["a_tm1"], F["adv_tm1"]),
            weights=F["weights"],
            entropy_cost=0.1,
        )[0]

    found = jax.jit(jax.value_and_grad(ours))(PI.logits)
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        want = jax.jit(jax.value_and_grad(theirs))(PI.logits)
    np.testing.assert_allclose(found[0], want[0], rtol=1e-5)
    np.testing.assert_allclose(found[1], want[1], atol=1e-6)


def test_the_actor_critic_is_that_of_a_loop():
    loss, metrics = ra.a2c_loss(
        *(PI, F["a_tm1"], F["v_tm1"], F["adv_tm1"], F["target_tm1"]),
        value_cost=0.3,
        entropy_cost=0.2,
        **OPTIONS,
    )
    policy = weighted(lambda at: -log_pi(at)[B["a_tm1"][at]] * B["adv_tm1"][at])
    value = weighted(lambda at: (B["target_tm1"][at] - B["v_tm1"][at]) ** 2 / 2)
    np.testing.assert_allclose(metrics["value_loss"], value, rtol=1e-5)
    want = policy + 0.3 * value - 0.2 * weighted(entropy)
    np.testing.assert_allclose(loss, want, rtol=1e-5)
    target, v = B["target_tm1"][B["mask_t"]], B["v_tm1"][B["mask_t"]]
    explained = 1 - np.var(target - v) / np.var(target)
    np.testing.assert_allclose(metrics["explained_variance"], explained, rtol=1e-4)


def test_without_costs_an_actor_critic_is_a_policy_gradient():
    found = ra.a2c_loss(
        *(PI, F["a_tm1"], F["v_tm1"], F["adv_tm1"], F["target_tm1"]),
        value_cost=0.0,
        entropy_cost=0.0,
    )[0]
    assert found == ra.policy_gradient_loss(PI, F["a_tm1"], F["adv_tm1"])[0]


def test_no_gradient_flows_through_sampled_actions():
    # A reparametrised sample carries a gradient, which would undo the policy gradient.
    key, adv_tm1 = jax.random.key(0), jnp.ones(4)

    def loss(mean, a=None):
        pi = DiagonalGaussian(mean, jnp.ones((4, 2)))
        a = pi.sample(key) if a is None else a
        return ra.policy_gradient_loss(pi, a, adv_tm1)[0]

    mean = jnp.zeros((4, 2))
    drawn = DiagonalGaussian(mean, jnp.ones((4, 2))).sample(key)
    slope = jax.jit(jax.grad(loss))
    want = slope(mean, drawn)
    np.testing.assert_allclose(slope(mean), want, rtol=1e-6)
    assert np.asarray(want).all()


def test_explained_variance_has_its_extremes():
    target = jnp.asarray([1.0, 2.0, 4.0])
    assert explained_variance(target, target, None) == 1
    assert explained_variance(target, 0 * target, None) == 0
    assert explained_variance(0 * target, target, None) == 0

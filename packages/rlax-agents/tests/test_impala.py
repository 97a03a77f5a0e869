import jax
import jax.numpy as jnp
import numpy as np
import pytest
import rlax
from loss_cases import arrays

import rlax_agents as ra
from chex_harness import assert_trees_close
from rlax_agents import Categorical

F = arrays(7)
NAMES = "a_tm1", "log_mu_tm1", "v_tm1", "v_t", "r_t", "discount_t"
GIVEN = [F[n] for n in NAMES]
COSTS = {"value_cost": 0.3, "entropy_cost": 0.2}


def total(function, **options):
    def loss(logits, v_tm1):
        return function(Categorical(logits), v_tm1, **options)[0]

    return jax.jit(jax.value_and_grad(loss, argnums=(0, 1)))(
        F["logits_tm1"], F["v_tm1"]
    )


def impala(pi, v_tm1, **options):
    a_tm1, log_mu_tm1, _, *rest = GIVEN
    return ra.impala_loss(pi, a_tm1, log_mu_tm1, v_tm1, *rest, **COSTS, **options)


@pytest.mark.parametrize("masked", [False, True])
def test_it_is_the_actor_critic_with_what_v_trace_says(masked):
    # V-trace is tested against its own loop; here, what becomes of it.
    a_tm1, log_mu_tm1, v_tm1, *rest = GIVEN
    rho = jnp.exp(Categorical(F["logits_tm1"]).log_prob(a_tm1) - log_mu_tm1)
    mask_t = F["mask_t"] if masked else None
    options = {"lambda_": 0.9, "clip_rho": 1.2, "clip_pg_rho": 1.1}
    trace = ra.vtrace(v_tm1, *rest, rho, mask_t=mask_t, **options)

    def actor_critic(pi, v_tm1):
        return ra.a2c_loss(
            *(pi, a_tm1, v_tm1, trace.advantages, trace.targets), mask_t=mask_t, **COSTS
        )

    found = total(impala, mask_t=mask_t, **options)
    assert_trees_close(found, total(actor_critic), atol=1e-5)


@pytest.mark.filterwarnings("ignore:Rlax softmax will be:")
def test_it_is_that_of_rlax():
    def theirs(pi, v_tm1):
        a_tm1, log_mu_tm1, _, v_t, r_t, discount_t = GIVEN
        rho = jax.lax.stop_gradient(jnp.exp(pi.log_prob(a_tm1) - log_mu_tm1))
        trace = jax.vmap(rlax.vtrace_td_error_and_advantage, 1, 1)(
            v_tm1, v_t, r_t, discount_t, rho
        )
        by_batch = jax.vmap(rlax.policy_gradient_loss, 1)
        one = jnp.ones_like(r_t)
        loss = by_batch(pi.logits, a_tm1, trace.pg_advantage, one).mean()
        spread = jax.vmap(rlax.entropy_loss, 1)(pi.logits, one).mean()
        loss += COSTS["value_cost"] * jnp.mean(trace.errors**2) / 2
        return (loss + COSTS["entropy_cost"] * spread,)

    found = total(impala)
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        want = total(theirs)
    assert_trees_close(found, want, atol=1e-5)


def test_on_policy_it_is_the_actor_critic_of_lambda_returns():
    a_tm1, _, v_tm1, v_t, r_t, discount_t = GIVEN
    v_t = jnp.concatenate([v_tm1[1:], v_t[-1:]])
    pi = Categorical(F["logits_tm1"])
    found, metrics = ra.impala_loss(
        pi, a_tm1, pi.log_prob(a_tm1), v_tm1, v_t, r_t, discount_t, **COSTS
    )
    target = ra.lambda_returns(r_t, discount_t, v_t)
    want = ra.a2c_loss(pi, a_tm1, v_tm1, target - v_tm1, target, **COSTS)[0]
    np.testing.assert_allclose(found, want, rtol=1e-5)
    np.testing.assert_allclose(metrics["approx_kl"], 0, atol=1e-6)


def test_batch_major_is_time_major_turned():
    turned = [jnp.swapaxes(x, 0, 1) for x in GIVEN]
    pi = Categorical(jnp.swapaxes(F["logits_tm1"], 0, 1))
    truncated_t = F["mask_t"]
    found = ra.impala_loss(pi, *turned, time_axis=1, truncated_t=truncated_t.T)
    pi = Categorical(F["logits_tm1"])
    want = ra.impala_loss(pi, *GIVEN, truncated_t=truncated_t)
    assert_trees_close(found, want, atol=1e-6)
    scans = ra.impala_loss(
        pi, *GIVEN, truncated_t=truncated_t, method="associative_scan"
    )
    assert_trees_close(scans, want, atol=1e-5)


def test_discounts_above_one_raise():
    *rest, discount_t = GIVEN
    with pytest.raises(ra.ArgumentError, match=r"discount_t is .* wanted \[0, 1\]"):
        ra.impala_loss(Categorical(F["logits_tm1"]), *rest, discount_t + 1)

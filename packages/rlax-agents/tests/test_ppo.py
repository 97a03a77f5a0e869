import jax
import jax.numpy as jnp
import loss_oracle as oracle
import numpy as np
import pytest
import rlax
from loss_cases import arrays, batch

import rlax_agents as ra
from chex_harness import assert_trees_close
from rlax_agents import ArgumentError, Categorical, normalise_advantages

B, F = batch(6), arrays(6)
PI, MU = Categorical(F["logits_tm1"]), Categorical(F["logits_mu_tm1"])
GIVEN = [F[n] for n in ("a_tm1", "log_mu_tm1", "v_tm1", "adv_tm1", "target_tm1")]
OPTIONS = {"weights": F["weights"], "mask_t": F["mask_t"]}


def log_pi(at):
    return oracle.log_softmax(B["logits_tm1"][at])


def ratio(at):
    return np.exp(log_pi(at)[B["a_tm1"][at]] - B["log_mu_tm1"][at])


def gain(at, epsilon):
    clipped = min(max(ratio(at), 1 - epsilon), 1 + epsilon)
    return min(ratio(at) * B["adv_tm1"][at], clipped * B["adv_tm1"][at])


def value_loss(at, clip):
    error = (B["target_tm1"][at] - B["v_tm1"][at]) ** 2
    if clip is not None:
        change = min(max(B["v_tm1"][at] - B["v_mu_tm1"][at], -clip), clip)
        near = B["v_mu_tm1"][at] + change
        error = max(error, (B["target_tm1"][at] - near) ** 2)
    return error / 2


def divergence(at):
    log_mu = oracle.log_softmax(B["logits_mu_tm1"][at])
    return np.exp(log_mu) @ (log_mu - log_pi(at))


def estimate(at):
    return ratio(at) - 1 - np.log(ratio(at))


def weighted(of_step):
    return oracle.mean_over(B["mask_t"], lambda at: B["weights"][at] * of_step(at))


@pytest.mark.parametrize("exact", [False, True], ids=["estimated", "exact"])
@pytest.mark.parametrize("clip", [None, 0.3])
def test_the_loss_is_that_of_a_loop(clip, exact):
    around = {} if clip is None else {"clip_value": clip, "v_mu_tm1": F["v_mu_tm1"]}
    loss, metrics = ra.ppo_loss(
        PI,
        *GIVEN,
        clip_epsilon=0.1,
        value_cost=0.7,
        entropy_cost=0.2,
        kl_cost=0.4,
        mu_tm1=MU if exact else None,
        **around,
        **OPTIONS,
    )
    want = {
        "policy_loss": weighted(lambda at: -gain(at, 0.1)),
        "value_loss": weighted(lambda at: value_loss(at, clip)),
        "entropy": weighted(lambda at: -(np.exp(log_pi(at)) @ log_pi(at))),
        "approx_kl": oracle.mean_over(B["mask_t"], estimate),
        "clip_fraction": oracle.mean_over(
            B["mask_t"], lambda at: abs(ratio(at) - 1) > 0.1
        ),
    }
    for name, value in want.items():
        np.testing.assert_allclose(metrics[name], value, rtol=1e-5, err_msg=name)
    total = want["policy_loss"] + 0.7 * want["value_loss"] - 0.2 * want["entropy"]
    total += 0.4 * weighted(divergence if exact else estimate)
    np.testing.assert_allclose(loss, total, rtol=1e-5)


def test_the_clipped_loss_is_that_of_rlax():
    _, metrics = ra.ppo_loss(PI, *GIVEN)
    log_ratio = PI.log_prob(GIVEN[0]) - GIVEN[1]
    flat = [x.reshape(-1) for x in (jnp.exp(log_ratio), GIVEN[3])]
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        want = rlax.clipped_surrogate_pg_loss(*flat, 0.2)
    np.testing.assert_allclose(metrics["policy_loss"], want, rtol=1e-5)


def test_on_policy_without_clipping_the_gradient_is_the_policy_gradient():
    a, _, v_tm1, adv_tm1, target_tm1 = GIVEN

    def ppo(logits):
        return ra.ppo_loss(
            *(Categorical(logits), a, PI.log_prob(a), v_tm1, adv_tm1, target_tm1),
            entropy_cost=0.0,
            clip_epsilon=jnp.inf,
            **OPTIONS,
        )[0]

    def plain(logits):
        pi = Categorical(logits)
        return ra.policy_gradient_loss(pi, a, adv_tm1, **OPTIONS)[0]

    found = jax.jit(jax.grad(ppo))(PI.logits)
    assert_trees_close(found, jax.jit(jax.grad(plain))(PI.logits), atol=1e-6)


def test_nothing_is_gained_beyond_the_clip():
    one = jnp.ones(2)

    def loss(logit):
        pi = Categorical(jnp.stack([logit * one, 0 * one], -1))
        zero = jnp.zeros(2, jnp.int32)
        return ra.ppo_loss(
            *(pi, zero, jnp.log(one / 4), 0 * one, one, 0 * one), entropy_cost=0.0
        )[0]

    slope = jax.jit(jax.grad(loss))
    assert slope(0.0) == 0  # the ratio is 2, and more of it would be better
    assert slope(-3.0) < 0


def test_the_divergence_of_a_policy_from_itself_is_nought():
    a, _, *rest = GIVEN
    _, metrics = ra.ppo_loss(PI, a, PI.log_prob(a), *rest)
    np.testing.assert_allclose(metrics["approx_kl"], 0, atol=1e-6)
    assert metrics["clip_fraction"] == 0


def test_mistakes_are_named():
    with pytest.raises(ArgumentError, match=r"clip_value is 0.2, and v_mu_tm1 is None"):
        ra.ppo_loss(PI, *GIVEN, clip_value=0.2)
    with pytest.raises(
        ArgumentError, match=r"ppo_loss: clip_epsilon is -0.1, wanted 0"
    ):
        ra.ppo_loss(PI, *GIVEN, clip_epsilon=-0.1)
    a, log_mu, *rest = GIVEN
    with pytest.raises(ArgumentError, match=r"type jnp.log\(log_mu_tm1\)"):
        ra.ppo_loss(PI, a, jnp.exp(log_mu), *rest)
    with pytest.raises(
        ArgumentError, match=r"pi_tm1 is a .* type Categorical\(pi_tm1\)"
    ):
        ra.ppo_loss(PI.logits, *GIVEN)


def test_advantages_are_normalised_over_all_steps_that_count():
    adv_tm1 = jnp.where(F["mask_t"], F["adv_tm1"], jnp.nan)
    found = normalise_advantages(adv_tm1, mask_t=F["mask_t"])
    kept = B["adv_tm1"][B["mask_t"]]
    want = np.where(B["mask_t"], (B["adv_tm1"] - kept.mean()) / kept.std(), 0)
    np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("value", [0.0, 0.1, -12345.678, 1e-20, 3e8])
def test_equal_advantages_are_nought_and_not_their_rounding(value):
    adv_tm1 = jnp.full((7, 11), value)
    np.testing.assert_array_equal(normalise_advantages(adv_tm1), 0)


def test_advantages_of_any_scale_are_normalised():
    for scale in (1e-25, 1.0, 1e25):
        found = normalise_advantages(scale * F["adv_tm1"])
        np.testing.assert_allclose(found.std(), 1, rtol=1e-4)


def test_a_single_step_keeps_its_advantage():
    assert normalise_advantages(jnp.asarray([[3.0]])).tolist() == [[3.0]]
    mask_t = jnp.asarray([True, False])
    assert normalise_advantages(jnp.asarray([3.0, 9.0]), mask_t=mask_t).tolist() == [
        3,
        0,
    ]


def test_no_steps_have_finite_advantages_and_gradients():
    mask_t, adv_tm1 = jnp.zeros(3, bool), jnp.full(3, jnp.nan)

    def total(adv_tm1):
        return normalise_advantages(adv_tm1, mask_t=mask_t).sum()

    assert total(adv_tm1) == 0
    assert jax.jit(jax.grad(total))(adv_tm1).tolist() == [0, 0, 0]
    assert normalise_advantages(jnp.zeros((0, 3))).shape == (0, 3)


def test_parts_of_a_batch_are_normalised_as_one():
    adv_tm1 = jnp.asarray(np.random.default_rng(0).normal(size=(4, 6)), jnp.float32)
    mask_t = jnp.asarray(np.random.default_rng(1).uniform(size=(4, 6)) > 0.5)
    by_part = jax.jit(
        jax.vmap(
            lambda x, m: normalise_advantages(x, mask_t=m, axis_name="parts"),
            axis_name="parts",
        )
    )
    want = normalise_advantages(adv_tm1, mask_t=mask_t)
    assert_trees_close(by_part(adv_tm1, mask_t), want, atol=1e-6)
    one = jnp.zeros((4, 6), bool).at[2, 3].set(True)
    assert by_part(adv_tm1, one)[2, 3] == adv_tm1[2, 3]


@pytest.mark.devices(4)
def test_parts_on_devices_are_normalised_as_one(mesh):
    adv_tm1 = jnp.asarray(np.random.default_rng(0).normal(size=(3, 8)), jnp.float32)
    lies = jax.sharding.PartitionSpec(None, "data")
    by_part = jax.shard_map(
        lambda x: normalise_advantages(x, axis_name="data"),
        mesh=mesh,
        in_specs=lies,
        out_specs=lies,
    )
    found = jax.jit(by_part)(adv_tm1)
    assert_trees_close(found, normalise_advantages(adv_tm1), atol=1e-6)


def test_advantages_keep_their_dtype():
    adv_tm1 = F["adv_tm1"].astype(jnp.bfloat16)
    found = normalise_advantages(adv_tm1)
    assert found.dtype == jnp.bfloat16
    np.testing.assert_allclose(found.astype(jnp.float32).std(), 1, rtol=2e-2)
    same = jnp.full(9, 0.1, jnp.bfloat16)
    assert not np.asarray(normalise_advantages(same), np.float32).any()


def test_integer_advantages_raise():
    with pytest.raises(
        ArgumentError, match=r"normalise_advantages: adv_tm1 has dtype int32"
    ):
        normalise_advantages(jnp.arange(3))

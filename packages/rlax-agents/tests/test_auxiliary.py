import jax
import jax.numpy as jnp
import loss_oracle as oracle
import numpy as np
import pytest
import rlax
from loss_cases import arrays, batch

import rlax_agents as ra
from chex_harness import assert_trees_close
from rlax_agents import ArgumentError

B, F = batch(9), arrays(9)
RNG = np.random.default_rng(0)
SEEN = jnp.asarray(RNG.uniform(size=(4, 2, 4, 6, 3)), jnp.float32)
FEATURES = jnp.asarray(RNG.normal(size=(4, 2, 5)), jnp.float32)
# Five cumulants with six actions each.
GIVEN = [F[n] for n in ("q_logits_tm1", "a_tm1", "q_t", "discount_t", "q_logits_t")]


def test_the_loss_is_that_of_a_loop():
    loss, metrics = ra.cumulant_loss(
        *GIVEN, lambda_=0.6, weights=F["weights"], mask_t=F["mask_t"]
    )
    steps, batch_size, cumulants = B["q_t"].shape
    errors = np.zeros(B["q_t"].shape)
    for b in range(batch_size):
        for c in range(cumulants):
            target = 0.0
            for t in reversed(range(steps)):
                best = B["q_logits_t"][t, b, c].max()
                goes_on = t + 1 < steps and B["mask_t"][t + 1, b]
                later = best if not goes_on else 0.4 * best + 0.6 * target
                target = B["q_t"][t, b, c] + B["discount_t"][t, b] * later
                value = B["q_logits_tm1"][t, b, c, B["a_tm1"][t, b]]
                errors[t, b, c] = target - value
    want = oracle.mean_over(
        B["mask_t"], lambda at: B["weights"][at] * (errors[at] ** 2).sum() / 2
    )
    np.testing.assert_allclose(loss, want, rtol=1e-5)
    size = oracle.mean_over(B["mask_t"], lambda at: np.abs(errors[at]).mean())
    np.testing.assert_allclose(metrics["td_error"], size, rtol=1e-5)


def test_one_cumulant_is_q_lambda():
    q_tm1, a_tm1, c_t, discount_t, q_t = GIVEN
    errors = ra.q_lambda(
        q_tm1[:, :, 0], a_tm1, c_t[:, :, 0], discount_t, q_t[:, :, 0], lambda_=0.7
    )
    want = ra.error_loss(errors)[0]
    found = ra.cumulant_loss(
        q_tm1[:, :, :1], a_tm1, c_t[:, :, :1], discount_t, q_t[:, :, :1], lambda_=0.7
    )[0]
    np.testing.assert_allclose(found, want, rtol=1e-5)
    bare = ra.cumulant_loss(
        q_tm1[:, :, 0], a_tm1, c_t[:, :, 0], discount_t, q_t[:, :, 0], lambda_=0.7
    )[0]
    np.testing.assert_allclose(bare, want, rtol=1e-5)


def test_truncated_steps_bootstrap_from_their_own_value():
    everywhere = jnp.ones_like(F["mask_t"])
    found = ra.cumulant_loss(*GIVEN, lambda_=1.0, truncated_t=everywhere)
    assert_trees_close(found, ra.cumulant_loss(*GIVEN, lambda_=0.0), atol=1e-6)


def test_pixel_rewards_are_those_of_a_loop():
    found = ra.pixel_control_rewards(SEEN, cell_size=2)
    assert found.shape == (3, 2, 2, 3)
    seen = np.asarray(SEEN)
    for t, b, i, j in np.ndindex(found.shape):
        cell = np.s_[b, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2]
        want = np.abs(seen[t + 1][cell] - seen[t][cell]).mean()
        np.testing.assert_allclose(found[t, b, i, j], want, rtol=1e-5)


def test_rewards_are_those_of_rlax():
    def pixels(seen):
        return rlax.pixel_control_rewards(seen, 2)

    want = jax.vmap(pixels, 1, 1)(SEEN)
    found = ra.pixel_control_rewards(SEEN, cell_size=2)
    assert_trees_close(found, want, atol=1e-6)
    for kind in ("feature", "absolute_change", "increase", "decrease", "potential"):

        def features(x, kind=kind):
            return rlax.feature_control_rewards(x, kind, 0.9)

        want = jax.vmap(features, 1, 1)(FEATURES)
        found = ra.feature_control_rewards(FEATURES, kind=kind, discount=0.9)
        assert_trees_close(found, want, atol=1e-6)


def test_control_losses_are_those_of_their_rewards():
    q_tm1, q_t = jnp.asarray(RNG.normal(size=(2, 3, 2, 2, 3, 4)), jnp.float32)
    a_tm1, discount_t = jnp.ones((3, 2), jnp.int32), jnp.full((3, 2), 0.9)
    found = ra.pixel_control_loss(SEEN, q_tm1, a_tm1, discount_t, q_t, cell_size=2)
    rewards = ra.pixel_control_rewards(SEEN, cell_size=2)
    want = ra.cumulant_loss(q_tm1, a_tm1, rewards, discount_t, q_t)
    assert_trees_close(found, want, atol=1e-6)

    q_tm1, q_t = jnp.asarray(RNG.normal(size=(2, 3, 2, 5, 4)), jnp.float32)
    found = ra.feature_control_loss(
        FEATURES, q_tm1, a_tm1, discount_t, q_t, kind="increase"
    )
    rewards = ra.feature_control_rewards(FEATURES, kind="increase")
    want = ra.cumulant_loss(q_tm1, a_tm1, rewards, discount_t, q_t)
    assert_trees_close(found, want, atol=1e-6)


def test_no_gradient_flows_through_features():
    q, one = jnp.zeros((3, 2, 5, 4)), jnp.ones((3, 2))

    def loss(features):
        return ra.feature_control_loss(features, q, one.astype(jnp.int32), one, q)[0]

    assert not np.asarray(jax.grad(loss)(FEATURES)).any()


def test_mistakes_are_named():
    q_tm1, a_tm1, c_t, discount_t, q_t = GIVEN
    pixels = (SEEN * 255).astype(jnp.uint8)
    cases = [
        (
            lambda: ra.pixel_control_rewards(pixels, cell_size=2),
            r"has dtype uint8, .*type observations.astype\(jnp.float32\) / 255",
        ),
        (
            lambda: ra.pixel_control_rewards(SEEN, cell_size=4),
            r"of 4 by 6 pixels, wanted multiples of cell_size=4; type .* :4, :4, :\]",
        ),
        (
            lambda: ra.pixel_control_rewards(SEEN[0, 0], cell_size=2),
            r"\(4, 6, 3\), wanted",
        ),
        (
            lambda: ra.pixel_control_rewards(SEEN, cell_size=0),
            r"cell_size is 0, wanted 1",
        ),
        (
            lambda: ra.feature_control_rewards(FEATURES[:1]),
            r"\(1, 2, 5\), wanted \[time",
        ),
        (
            lambda: ra.feature_control_rewards(FEATURES, kind="up"),
            r"kind is 'up', wanted",
        ),
        (
            lambda: ra.cumulant_loss(q_tm1, a_tm1, c_t[..., :3], discount_t, q_t),
            r"q_tm1 has shape \(3, 4, 5, 6\), wanted \(3, 4, 3, 6\) like cumulants_t",
        ),
        (
            lambda: ra.cumulant_loss(q_tm1, a_tm1, c_t, discount_t, q_t[..., :2]),
            r"q_t has shape \(3, 4, 5, 2\), wanted \(3, 4, 5, 6\) like q_tm1",
        ),
        (
            lambda: ra.cumulant_loss(q_tm1, a_tm1 + 9, c_t, discount_t, q_t),
            r"a_tm1 is .* wanted \[0, 5\]",
        ),
    ]
    for call, message in cases:
        with pytest.raises(ArgumentError, match=message):
            call()

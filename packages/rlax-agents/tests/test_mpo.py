import jax
import jax.numpy as jnp
import loss_oracle as oracle
import numpy as np
import optax
import pytest
import rlax
from loss_cases import arrays, batch

import rlax_agents as ra
from chex_harness import assert_trees_close
from rlax_agents import Categorical, DiagonalGaussian

B, F = batch(8), arrays(8)
MASK = B["mask_t"]
RNG = np.random.default_rng(0)
S = 6
PI, OLD = Categorical(F["logits_tm1"]), Categorical(F["logits_mu_tm1"])
A = RNG.integers(0, 5, (S, *MASK.shape))
Q = RNG.normal(size=(S, *MASK.shape))
X = RNG.normal(size=(S, *MASK.shape, 2))
MEANS = DiagonalGaussian(F["mean_tm1"], F["scale_tm1"])
OLD_MEANS = DiagonalGaussian(F["mean_mu_tm1"], F["scale_tm1"][::-1])
DUALS = ra.init_duals(Categorical, temperature=0.7, alpha=1.5)
GAUSSIAN_DUALS = ra.init_duals(
    DiagonalGaussian, dimensions=2, temperature=0.7, alpha={"mean": 2.0, "scale": 0.5}
)
EPSILONS = {"policy": 0.02, "mean": 0.01, "scale": 0.03}


def f32(x):
    return jnp.asarray(x, jnp.float32)


def i32(x):
    return jnp.asarray(x, jnp.int32)


def kl_of_logits(at):
    log_p = oracle.log_softmax(B["logits_mu_tm1"][at])
    return np.exp(log_p) @ (log_p - oracle.log_softmax(B["logits_tm1"][at]))


def mpo_of_state(at, everything):
    """Policy loss, temperature loss and divergence of the weights, in one state."""
    eta = 0.7
    log_pi = oracle.log_softmax(B["logits_tm1"][at])
    if everything:
        prior, q, taken = oracle.softmax(B["logits_mu_tm1"][at]), B["q_tm1"][at], log_pi
    else:
        prior, q, taken = np.full(S, 1 / S), Q[:, *at], log_pi[A[:, *at]]
    z = sum(p * np.exp(x / eta) for p, x in zip(prior, q, strict=True))
    weights = prior * np.exp(q / eta) / z
    kl = sum(w * np.log(w / p) for w, p in zip(weights, prior, strict=True))
    return -(weights @ taken), eta * (0.1 + np.log(z)), kl


@pytest.mark.parametrize("everything", [False, True], ids=["sampled", "all"])
def test_mpo_is_that_of_a_loop(everything):
    a, q = (None, F["q_tm1"]) if everything else (i32(A), f32(Q))
    loss, metrics = ra.mpo_loss(
        *(DUALS, PI, OLD, a, q), epsilon_kl=EPSILONS, mask_t=F["mask_t"]
    )
    parts = ("policy_loss", "temperature_loss", "kl_q")
    want = {
        name: oracle.mean_over(MASK, lambda at, i=i: mpo_of_state(at, everything)[i])
        for i, name in enumerate(parts)
    }
    kl = oracle.mean_over(MASK, kl_of_logits)
    want |= {"kl_policy": kl, "kl_loss": 1.5 * kl, "alpha_loss": 1.5 * (0.02 - kl)}
    want |= {"temperature": 0.7, "alpha_policy": 1.5}
    for name, value in want.items():
        np.testing.assert_allclose(metrics[name], value, rtol=1e-4, err_msg=name)
    assert set(metrics) == set(want)
    total = sum(value for name, value in want.items() if name.endswith("loss"))
    np.testing.assert_allclose(loss, total, rtol=1e-4)


def rlax_penalty(log_value, epsilon, *, per_dimension=False):
    return rlax.LagrangePenalty(jnp.exp(log_value), epsilon, per_dimension)


def rlax_constraints(duals, pi, old):
    """The divergences and penalties in the words of rlax."""
    if isinstance(pi, Categorical):
        alpha = duals.log_alphas["policy"]
        return [(old.kl(pi), rlax_penalty(alpha, EPSILONS["policy"]))]
    ratio, shift = old.scale / pi.scale, (pi.mean - old.mean) / old.scale
    divergences = {
        "mean": shift**2 / 2,
        "scale": (ratio**2 - 1) / 2 - jnp.log(ratio),
    }
    return [
        (kl, rlax_penalty(duals.log_alphas[n], EPSILONS[n], per_dimension=True))
        for n, kl in divergences.items()
    ]


CASES = {
    "logits": (DUALS, PI, OLD, i32(A)),
    "gaussian": (GAUSSIAN_DUALS, MEANS, OLD_MEANS, f32(X)),
}


@pytest.mark.parametrize("name", CASES)
def test_mpo_and_its_gradients_are_those_of_rlax(name):
    duals, pi, old, a = CASES[name]

    def theirs(duals, pi):
        if isinstance(pi, Categorical):
            log_pi = jax.vmap(pi.log_prob)(a)
        else:
            log_pi = jax.vmap(DiagonalGaussian(pi.mean, old.scale).log_prob)(a)
            log_pi += jax.vmap(DiagonalGaussian(old.mean, pi.scale).log_prob)(a)
        loss, _ = rlax.mpo_loss(
            *(log_pi, f32(Q), rlax_penalty(duals.log_temperature, 0.1)),
            rlax_constraints(duals, pi, old),
            projection_operator=lambda x: x,
        )
        return loss.mean()

    def ours(duals, pi):
        return ra.mpo_loss(duals, pi, old, a, f32(Q), epsilon_kl=EPSILONS)[0]

    found = jax.jit(jax.value_and_grad(ours, (0, 1)))(duals, pi)
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        want = jax.jit(jax.value_and_grad(theirs, (0, 1)))(duals, pi)
    assert_trees_close(found, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("top_fraction", [0.5, 1.0])
@pytest.mark.parametrize("name", CASES)
def test_vmpo_and_its_gradients_are_those_of_rlax(name, top_fraction):
    duals, pi, old, a = CASES[name]
    a, adv_tm1 = a[0], F["adv_tm1"]

    def theirs(duals, pi):
        loss, _ = rlax.vmpo_loss(
            *(pi.log_prob(a), adv_tm1, rlax_penalty(duals.log_temperature, 0.01)),
            rlax_constraints(duals, pi, old),
            projection_operator=lambda x: x,
            importance_weights=F["weights"],
            top_k_fraction=top_fraction,
        )
        return loss.mean()

    def ours(duals, pi):
        return ra.vmpo_loss(
            *(duals, pi, old, a, adv_tm1),
            epsilon_kl=EPSILONS,
            top_fraction=top_fraction,
            weights=F["weights"],
        )[0]

    found = jax.jit(jax.value_and_grad(ours, (0, 1)))(duals, pi)
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        want = jax.jit(jax.value_and_grad(theirs, (0, 1)))(duals, pi)
    assert_trees_close(found, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("top_fraction", [0.3, 0.5, 1.0])
def test_vmpo_is_that_of_a_loop(top_fraction):
    loss, metrics = ra.vmpo_loss(
        *(DUALS, PI, OLD, F["a_tm1"], F["adv_tm1"]),
        epsilon_kl=EPSILONS,
        top_fraction=top_fraction,
        mask_t=F["mask_t"],
    )
    ranked = sorted(oracle.steps(MASK), key=lambda at: -B["adv_tm1"][at])
    best = ranked[: max(int(top_fraction * len(ranked)), 1)]
    z = sum(np.exp(B["adv_tm1"][at] / 0.7) for at in best)
    policy = -sum(
        np.exp(B["adv_tm1"][at] / 0.7)
        / z
        * oracle.log_softmax(B["logits_tm1"][at])[B["a_tm1"][at]]
        for at in best
    )
    temperature = 0.7 * (0.01 + np.log(z / len(best)))
    np.testing.assert_allclose(metrics["policy_loss"], policy, rtol=1e-5)
    np.testing.assert_allclose(metrics["temperature_loss"], temperature, rtol=1e-4)
    np.testing.assert_allclose(loss, policy + temperature + 1.5 * 0.02, rtol=1e-4)


def test_at_the_extremes_of_the_temperature_weights_are_equal_or_greedy():
    log_pi = jax.vmap(PI.log_prob)(i32(A))
    for temperature, want in (
        (1e7, -log_pi.mean()),
        (1e-3, -jnp.take_along_axis(log_pi, f32(Q).argmax(0)[None], 0).mean()),
    ):
        duals = ra.init_duals(Categorical, temperature=temperature)
        metrics = ra.mpo_loss(duals, PI, OLD, i32(A), f32(Q))[1]
        np.testing.assert_allclose(metrics["policy_loss"], want, rtol=1e-4)
        assert all(np.isfinite(value) for value in metrics.values())


def test_the_temperature_learns_to_hold_its_bound():
    duals, chain = DUALS, optax.sgd(0.5)

    def loss(duals):
        return ra.mpo_loss(duals, PI, OLD, None, F["q_tm1"], epsilon=0.2)

    @jax.jit
    def step(duals, state):
        gradient, metrics = jax.grad(loss, has_aux=True)(duals)
        updates, state = chain.update(gradient, state)
        return ra.project_duals(optax.apply_updates(duals, updates)), state, metrics

    state = chain.init(duals)
    for _ in range(300):
        duals, state, metrics = step(duals, state)
    np.testing.assert_allclose(metrics["kl_q"], 0.2, rtol=1e-2)


def test_a_large_step_of_a_gaussian_mean_costs_nothing_of_its_scale():
    far = MEANS._replace(mean=MEANS.mean + 5)
    metrics = ra.mpo_loss(
        *(GAUSSIAN_DUALS, far, MEANS, f32(X), f32(Q)), epsilon_kl=EPSILONS
    )[1]
    assert metrics["kl_mean"] > 1
    np.testing.assert_allclose(metrics["kl_scale"], 0, atol=1e-6)


def test_each_learns_by_its_own_gradient_and_critics_by_none():
    def loss(duals, pi, old, q):
        return ra.mpo_loss(duals, pi, old, i32(A), q)[0]

    duals, pi, old, q = jax.jit(jax.grad(loss, (0, 1, 2, 3)))(DUALS, PI, OLD, f32(Q))
    assert all(np.asarray(x).any() for x in jax.tree.leaves((duals, pi)))
    assert not any(np.asarray(x).any() for x in jax.tree.leaves((old, q)))


def test_actions_that_cannot_be_taken_do_no_harm():
    pi, old = (Categorical(x.logits.at[..., 0].set(-jnp.inf)) for x in (PI, OLD))
    (loss, _), gradient = jax.jit(
        jax.value_and_grad(
            lambda pi: ra.mpo_loss(DUALS, pi, old, None, F["q_tm1"]), has_aux=True
        )
    )(pi)
    assert np.isfinite(loss)
    assert np.isfinite(gradient.logits).all()


def test_advantages_of_any_size_give_finite_losses():
    for scale in (1e-6, 1e6):
        loss, _ = ra.vmpo_loss(
            DUALS, PI, OLD, F["a_tm1"], scale * F["adv_tm1"] - 10 * scale
        )
        assert np.isfinite(loss)


def test_mistakes_are_named():
    mpo, vmpo = ra.mpo_loss, ra.vmpo_loss
    given = DUALS, PI, OLD
    cases = [
        (lambda: mpo(*given, i32(A), i32(Q)), r"q_tm1 has dtype int32, wanted a float"),
        (
            lambda: mpo(*given, i32(A[:3]), f32(Q)),
            r"a_tm1 has shape \(3, 3, 4\), wanted",
        ),
        (lambda: mpo(*given, i32(A[:, 0, 0]), f32(Q[:, 0, 0])), r"wanted \[samples, b"),
        (
            lambda: mpo(GAUSSIAN_DUALS, MEANS, OLD_MEANS, None, F["q_tm1"]),
            r"a_tm1 is None and pi_tm1 is a DiagonalGaussian, wanted sampled actions",
        ),
        (
            lambda: mpo(*given, None, F["q_tm1"][..., :3]),
            r"pi_tm1 has shape \(3, 4, 5\), wanted \(3, 4, 3\) like q_tm1",
        ),
        (
            lambda: mpo(DUALS, MEANS, OLD_MEANS, f32(X), f32(Q)),
            r"duals are for \['policy'\], and the policy has \['mean', 'scale'\]",
        ),
        (
            lambda: vmpo(*given, F["a_tm1"], F["adv_tm1"], top_fraction=0.0),
            r"vmpo_loss: top_fraction is 0.0, wanted above 0 and at most 1",
        ),
        (
            lambda: vmpo(*given, F["a_tm1"], F["adv_tm1"], epsilon_kl={"mean": 1.0}),
            r"epsilon_kl has \['mean'\], wanted \['policy'\] too",
        ),
    ]
    for call, message in cases:
        with pytest.raises(ra.ArgumentError, match=message):
            call()


def test_no_steps_have_no_loss():
    pi = ra.Categorical(jnp.zeros((0, 3)))
    duals, none = ra.init_duals(ra.Categorical), jnp.zeros(0)
    loss, _ = ra.vmpo_loss(duals, pi, pi, none.astype(jnp.int32), none)
    assert jnp.isfinite(loss)

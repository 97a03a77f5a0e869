import jax
import jax.numpy as jnp
import loss_oracle as oracle
import numpy as np
import pytest
import rlax
from hypothesis import given, settings
from hypothesis import strategies as st
from loss_cases import ATOMS, K, arrays, batch, by_rlax

import rlax_agents as ra

B, F = batch(3), arrays(3)
Z = np.asarray(ATOMS)
GIVEN = [F[n] for n in ("q_logits_tm1", "a_tm1", "r_t", "discount_t", "q_logits_t")]
SELECTOR = F["q_t_selector"]
OPTIONS = {"weights": F["weights"], "mask_t": F["mask_t"]}
TAU = (np.arange(K) + 0.5) / K
selectors = pytest.mark.parametrize("double", [False, True], ids=["own", "double"])


def chosen(at, means, *, double):
    return np.argmax(B["q_t_selector"][at] if double else means)


def cross_entropy(at, *, double):
    p_t = oracle.softmax(B["q_logits_t"][at])
    best = chosen(at, p_t @ Z, double=double)
    target = oracle.project(B["r_t"][at] + B["discount_t"][at] * Z, p_t[best], Z)
    log_p = oracle.log_softmax(B["q_logits_tm1"][at][B["a_tm1"][at]])
    entropy = sum(p * np.log(p) for p in target if p > 0)
    return -(target @ log_p), entropy - target @ log_p


def quantile_loss(at, delta, *, double):
    after = B["q_logits_t"][at]
    best = chosen(at, after.mean(-1), double=double)
    target = B["r_t"][at] + B["discount_t"][at] * after[best]
    return oracle.quantile_regression(
        B["q_logits_tm1"][at][B["a_tm1"][at]], TAU, target, delta
    )


@selectors
def test_the_categorical_loss_is_that_of_a_loop(double):
    selector = {"q_t_selector": SELECTOR} if double else {}
    loss, metrics = ra.categorical_q_loss(*GIVEN, atoms=ATOMS, **selector, **OPTIONS)
    want = oracle.mean_over(
        B["mask_t"], lambda at: B["weights"][at] * cross_entropy(at, double=double)[0]
    )
    np.testing.assert_allclose(loss, want, rtol=1e-5)
    errors = ra.categorical_q_td_errors(*GIVEN, atoms=ATOMS, **selector)
    for at in oracle.steps(B["mask_t"]):
        kl = cross_entropy(at, double=double)[1]
        np.testing.assert_allclose(errors[at], kl, rtol=1e-4)
    kl = oracle.mean_over(B["mask_t"], lambda at: cross_entropy(at, double=double)[1])
    np.testing.assert_allclose(metrics["td_error"], kl, rtol=1e-5)


@selectors
@pytest.mark.parametrize("huber", [None, 0.5])
def test_the_quantile_loss_is_that_of_a_loop(huber, double):
    selector = {"q_t_selector": SELECTOR} if double else {}
    loss, metrics = ra.quantile_q_loss(*GIVEN, huber=huber, **selector, **OPTIONS)
    want = oracle.mean_over(
        B["mask_t"],
        lambda at: B["weights"][at] * quantile_loss(at, huber, double=double),
    )
    np.testing.assert_allclose(loss, want, rtol=1e-5)
    errors = ra.quantile_q_td_errors(*GIVEN, huber=huber, **selector)
    for at in oracle.steps(B["mask_t"]):
        want = quantile_loss(at, huber, double=double)
        np.testing.assert_allclose(errors[at], want, rtol=1e-4)
    value = oracle.mean_over(
        B["mask_t"], lambda at: B["q_logits_tm1"][at][B["a_tm1"][at]].mean()
    )
    np.testing.assert_allclose(metrics["value"], value, rtol=1e-5)


@pytest.mark.filterwarnings("ignore:Rlax categorical_cross_entropy will be:")
def test_losses_are_those_of_rlax():
    z = jnp.asarray(Z, jnp.float32)
    before, a_tm1, r_t, discount_t, after = GIVEN
    by_atoms = (None, 0, 0, 0, 0, None, 0)
    one = by_rlax(
        rlax.categorical_q_learning,
        *(z, before, a_tm1, r_t, discount_t, z, after),
        axes=by_atoms,
    )
    double = by_rlax(
        rlax.categorical_double_q_learning,
        *(z, before, a_tm1, r_t, discount_t, z, after, SELECTOR),
        axes=(*by_atoms, 0),
    )
    found = ra.categorical_q_loss(*GIVEN, atoms=ATOMS)[0]
    np.testing.assert_allclose(found, one.mean(), rtol=1e-5)
    found = ra.categorical_q_loss(*GIVEN, atoms=ATOMS, q_t_selector=SELECTOR)[0]
    np.testing.assert_allclose(found, double.mean(), rtol=1e-5)

    tau = jnp.asarray(TAU, jnp.float32)
    before, after = (jnp.swapaxes(x, -1, -2) for x in (before, after))
    by_tau = (0, None, 0, 0, 0, 0, 0, None)
    for huber in (None, 0.5):
        want = by_rlax(
            rlax.quantile_q_learning,
            *(before, tau, a_tm1, r_t, discount_t, after, after, huber or 0.0),
            axes=by_tau,
        )
        found = ra.quantile_q_td_errors(*GIVEN, huber=huber)
        np.testing.assert_allclose(found, want, rtol=1e-5)


def test_quantiles_may_differ_by_step_and_in_number():
    before, a_tm1, r_t, discount_t, after = GIVEN
    tau = jnp.broadcast_to(jnp.asarray(TAU, jnp.float32), (*r_t.shape, K))
    want = ra.quantile_q_loss(*GIVEN)[0]
    found = ra.quantile_q_loss(*GIVEN, tau_tm1=tau)[0]
    np.testing.assert_allclose(found, want, rtol=1e-6)
    doubled = jnp.repeat(after, 2, axis=-1)
    found = ra.quantile_q_loss(before, a_tm1, r_t, discount_t, doubled)[0]
    np.testing.assert_allclose(found, want, rtol=1e-6)


numbers = st.floats(-3, 3, width=32)


@settings(deadline=None, max_examples=30)
@given(z=st.lists(numbers, min_size=4, max_size=4), seed=st.integers(0, 99))
def test_projections_keep_the_mass_and_within_the_ends_the_mean(z, seed):
    rng = np.random.default_rng(seed)
    atoms = np.concatenate([[-3.0], np.sort(rng.uniform(-2.9, 2.9, 3)), [3.0]])
    p = rng.dirichlet(np.ones(4))
    z, p, atoms = (jnp.asarray(x, jnp.float32) for x in (z, p, atoms))
    found = ra.project_categorical(z, p, atoms)
    np.testing.assert_allclose(found.sum(), 1, rtol=1e-6)
    np.testing.assert_allclose(found @ atoms, z @ p, atol=1e-5)
    np.testing.assert_allclose(found, oracle.project(z, p, atoms), atol=1e-5)
    assert (found >= 0).all()


def test_projections_onto_the_same_atoms_change_nothing():
    p = jnp.asarray(np.random.default_rng(0).dirichlet(np.ones(K)), jnp.float32)
    z = jnp.asarray(Z, jnp.float32)
    np.testing.assert_array_equal(ra.project_categorical(z, p, z), p)


def test_projections_are_those_of_rlax():
    rng = np.random.default_rng(1)
    z_p, p = rng.normal(size=7) * 2, rng.dirichlet(np.ones(7))
    z_p, p, z_q = (jnp.asarray(x, jnp.float32) for x in (z_p, p, Z))
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        want = rlax.categorical_l2_project(z_p, p, z_q)
    np.testing.assert_allclose(ra.project_categorical(z_p, p, z_q), want, atol=1e-6)


def test_a_value_that_is_right_has_no_error():
    before, a_tm1, r_t, discount_t, _ = GIVEN
    taken = jnp.take_along_axis(before, a_tm1[..., None, None], -2)
    errors = ra.categorical_q_td_errors(
        *(before, a_tm1, 0 * r_t, 0 * discount_t + 1, taken + 0 * before), atoms=ATOMS
    )
    np.testing.assert_allclose(errors, 0, atol=1e-5)
    assert (errors >= 0).all()


def test_medians_minimise_absolute_values():
    goals = jnp.asarray([[[0.0, 1.0, 5.0]]])
    one = jnp.ones(1)

    def loss(theta):
        return ra.quantile_q_loss(
            *(theta[None, None, None], jnp.zeros(1, jnp.int32), 0 * one, one, goals),
            huber=None,
        )[0]

    losses = jax.jit(jax.vmap(loss))(jnp.asarray([0.0, 0.9, 1.0, 1.1, 5.0]))
    assert losses.argmin() == 2


def test_mistakes_are_named():
    def categorical(**options):
        return ra.categorical_q_loss(*GIVEN, **{"atoms": ATOMS, **options})

    def quantile(**options):
        return ra.quantile_q_loss(*GIVEN, **options)

    cases = [
        (
            categorical,
            {"atoms": [0.0, 1.0]},
            r"atoms are 2, and q_logits_tm1 has shape",
        ),
        (categorical, {"atoms": ATOMS[::-1]}, r"atoms of shape \(6,\) is .* increases"),
        (categorical, {"q_t_selector": SELECTOR[..., :2]}, r"q_t_selector has shape"),
        (quantile, {"huber": -1.0}, r"quantile_q_loss: huber is -1.0, wanted above 0"),
        (
            quantile,
            {"tau_tm1": jnp.ones(3)},
            r"tau_tm1 has shape \(3,\), wanted \(6,\)",
        ),
        (quantile, {"tau_tm1": jnp.full(6, 2.0)}, r"tau_tm1 is 2 at \[0\], wanted"),
    ]
    for loss, options, message in cases:
        with pytest.raises(ra.ArgumentError, match=message):
            loss(**options)


def test_atoms_to_project_on_increase():
    one = jnp.ones((1, 2)) / 2
    for z_q in (jnp.zeros(2), jnp.asarray([1.0, 0.0])):
        with pytest.raises(
            ra.ArgumentError, match=r"project_categorical: z_q of shape"
        ):
            ra.project_categorical(one, one, z_q)
    with pytest.raises(
        ra.ArgumentError, match=r"z_q has shape \(1, 2\), wanted rank 1"
    ):
        ra.project_categorical(one, one, one)

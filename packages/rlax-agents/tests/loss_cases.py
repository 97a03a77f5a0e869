"""Every loss with a batch for it: what the laws of losses run over."""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import rlax_agents as ra

T, B, A, K = 3, 4, 5, 6
ATOMS = tuple(np.linspace(-2.0, 2.0, K).tolist())


def batch(seed=0):
    """Everything that some loss takes, in float64 and int64."""
    rng = np.random.default_rng(seed)
    steps, wide = (T, B), (T, B, A)
    return {
        "r_t": rng.normal(size=steps),
        "discount_t": rng.uniform(size=steps) * (rng.uniform(size=steps) > 0.2),
        "v_tm1": rng.normal(size=steps),
        "v_t": rng.normal(size=steps),
        "v_mu_tm1": rng.normal(size=steps),
        "adv_tm1": rng.normal(size=steps),
        "target_tm1": rng.normal(size=steps),
        "log_mu_tm1": -rng.uniform(1.0, 2.0, size=steps),
        "q_tm1": rng.normal(size=wide),
        "q_t": rng.normal(size=wide),
        "q_t_selector": rng.normal(size=wide),
        "logits_tm1": rng.normal(size=wide),
        "logits_mu_tm1": rng.normal(size=wide),
        "pi_t": rng.dirichlet(np.ones(A), steps),
        "a_tm1": rng.integers(0, A, steps),
        "a_t": rng.integers(0, A, steps),
        "q_logits_tm1": rng.normal(size=(*wide, K)),
        "q_logits_t": rng.normal(size=(*wide, K)),
        "mean_mu_tm1": rng.normal(size=(*steps, 2)),
        "mean_tm1": rng.normal(size=(*steps, 2)),
        "scale_tm1": rng.uniform(0.5, 1.5, size=(*steps, 2)),
        "x_tm1": rng.normal(size=(*steps, 2)),
        "weights": rng.uniform(0.5, 2.0, size=steps),
        "mask_t": rng.uniform(size=steps) > 0.3,
    }


class Case(NamedTuple):
    """A loss of named arrays, and those that it has gradients of.

    `errors` yields what the loss is of by step, where that is public. `scales` is
    whether twice the weights are twice the loss.
    """

    loss: object
    names: tuple[str, ...]
    learns: tuple[str, ...]
    errors: object = None
    scales: bool = True


def _policy(function):
    """A loss of a policy as one of its logits."""

    def loss(logits_tm1, *rest, **options):
        if "logits_mu_tm1" in options:
            options["mu_tm1"] = ra.Categorical(options.pop("logits_mu_tm1"))
        return function(ra.Categorical(logits_tm1), *rest, **options)

    return loss


def _gaussian(function, kind):
    def loss(mean_tm1, scale_tm1, *rest, **options):
        return function(kind(mean_tm1, scale_tm1), *rest, **options)

    return loss


def _squashed(function):
    inner = _gaussian(function, ra.TanhGaussian)

    def loss(mean_tm1, scale_tm1, x_tm1, *rest, **options):
        return inner(mean_tm1, scale_tm1, jnp.tanh(x_tm1), *rest, **options)

    return loss


def _value_clipped(logits, *given, **options):
    *given, v_mu, logits_mu = given
    return ra.ppo_loss(
        *(ra.Categorical(logits), *given),
        clip_value=0.2,
        v_mu_tm1=v_mu,
        kl_cost=0.5,
        mu_tm1=ra.Categorical(logits_mu),
        **options,
    )


def _mpo(logits_tm1, logits_mu_tm1, q_tm1, weights=None, **options):
    del weights  # it takes none
    duals = ra.init_duals(ra.Categorical, temperature=0.5)
    policies = ra.Categorical(logits_tm1), ra.Categorical(logits_mu_tm1)
    return ra.mpo_loss(duals, *policies, None, q_tm1, **options)


def _vmpo(mean_tm1, scale_tm1, mean_mu_tm1, x_tm1, adv_tm1, **options):
    duals = ra.init_duals(ra.DiagonalGaussian, dimensions=2)
    pi = ra.DiagonalGaussian(mean_tm1, scale_tm1)
    old = ra.DiagonalGaussian(mean_mu_tm1, jnp.ones_like(mean_mu_tm1))
    return ra.vmpo_loss(duals, pi, old, x_tm1, adv_tm1, **options)


TD = ("v_tm1", "r_t", "discount_t", "v_t")
Q = ("q_tm1", "a_tm1", "r_t", "discount_t", "q_t")
LOGITS = ("q_logits_tm1", "a_tm1", "r_t", "discount_t", "q_logits_t")
PPO = ("a_tm1", "log_mu_tm1", "v_tm1", "adv_tm1", "target_tm1")
TX = ra.signed_hyperbolic()
BINS = ra.muzero(ATOMS)
part = functools.partial

CASES = {
    "error": Case(ra.error_loss, ("v_tm1",), ("v_tm1",)),
    "td": Case(ra.td_loss, TD, ("v_tm1",), ra.td_errors),
    "td_huber_tx": Case(
        part(ra.td_loss, huber=0.5, transform=TX),
        TD,
        ("v_tm1",),
        part(ra.td_errors, transform=TX),
    ),
    "sarsa": Case(ra.sarsa_loss, (*Q, "a_t"), ("q_tm1",), ra.sarsa_td_errors),
    "expected_sarsa": Case(
        ra.expected_sarsa_loss, (*Q, "pi_t"), ("q_tm1",), ra.expected_sarsa_td_errors
    ),
    "q": Case(part(ra.q_loss, huber=1.0), Q, ("q_tm1",), ra.q_td_errors),
    "double_q": Case(
        ra.double_q_loss, (*Q, "q_t_selector"), ("q_tm1",), ra.double_q_td_errors
    ),
    "q_bins": Case(
        part(ra.q_loss, transform=BINS),
        LOGITS,
        ("q_logits_tm1",),
        part(ra.q_td_errors, transform=BINS),
    ),
    "categorical": Case(
        part(ra.categorical_q_loss, atoms=ATOMS),
        LOGITS,
        ("q_logits_tm1",),
        part(ra.categorical_q_td_errors, atoms=ATOMS),
    ),
    "quantile": Case(
        ra.quantile_q_loss, LOGITS, ("q_logits_tm1",), ra.quantile_q_td_errors
    ),
    "cumulant": Case(
        part(ra.cumulant_loss, lambda_=0.9),
        ("q_logits_tm1", "a_tm1", "q_t", "discount_t", "q_logits_t"),
        ("q_logits_tm1",),
    ),
    "policy_gradient": Case(
        part(_policy(ra.policy_gradient_loss), entropy_cost=0.1),
        ("logits_tm1", "a_tm1", "adv_tm1"),
        ("logits_tm1",),
    ),
    "a2c": Case(
        _gaussian(ra.a2c_loss, ra.DiagonalGaussian),
        ("mean_tm1", "scale_tm1", "x_tm1", "v_tm1", "adv_tm1", "target_tm1"),
        ("mean_tm1", "scale_tm1", "v_tm1"),
    ),
    "ppo": Case(_policy(ra.ppo_loss), ("logits_tm1", *PPO), ("logits_tm1", "v_tm1")),
    "ppo_squashed": Case(
        _squashed(ra.ppo_loss),
        ("mean_tm1", "scale_tm1", "x_tm1", *PPO[1:]),
        ("mean_tm1", "scale_tm1", "v_tm1"),
    ),
    "ppo_all": Case(
        _value_clipped,
        ("logits_tm1", *PPO, "v_mu_tm1", "logits_mu_tm1"),
        ("logits_tm1", "v_tm1"),
    ),
    "mpo": Case(
        _mpo, ("logits_tm1", "logits_mu_tm1", "q_tm1"), ("logits_tm1",), scales=False
    ),
    "vmpo": Case(
        _vmpo,
        ("mean_tm1", "scale_tm1", "mean_mu_tm1", "x_tm1", "adv_tm1"),
        ("mean_tm1", "scale_tm1"),
        scales=False,
    ),
    "impala": Case(
        _policy(ra.impala_loss),
        ("logits_tm1", "a_tm1", "log_mu_tm1", *("v_tm1", "v_t", "r_t", "discount_t")),
        ("logits_tm1", "v_tm1"),
    ),
}


def arrays(seed=0, dtype=jnp.float32):
    """The batch as arrays of jax."""
    dtypes = {np.dtype("float64"): dtype, np.dtype("int64"): jnp.int32}
    return {n: jnp.asarray(x, dtypes.get(x.dtype)) for n, x in batch(seed).items()}


def arrays_of(case, *, seed=0, dtype=jnp.float32):
    """The case's arrays by name."""
    found = arrays(seed, dtype)
    return {n: found[n] for n in case.names}


def spoil(array, mask):
    """What may stand at masked steps: NaN, or no action."""
    mask = mask.reshape(mask.shape + (1,) * (array.ndim - mask.ndim))
    bad = jnp.nan if jnp.issubdtype(array.dtype, jnp.floating) else -7
    return jnp.where(mask, array, jnp.asarray(bad, array.dtype))


def by_rlax(function, *args, axes=None):
    """Maps a function of rlax over time and batch."""
    axes = 0 if axes is None else axes
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        return jax.vmap(jax.vmap(function, axes), axes)(*args)

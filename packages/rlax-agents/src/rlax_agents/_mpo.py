"""Maximum a posteriori policy optimisation: MPO from action values, V-MPO on policy.

Both reweigh actions by how good they are (E-step, with a learned temperature), and then
fit the policy to the weighted actions without straying far from an old one (M-step,
with learned multipliers). `_duals` has the multipliers.
"""

import math
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import NamedSharding, PartitionSpec

from rlax_agents._actor import Acted, check_acted
from rlax_agents._checks import (
    ArgumentError,
    as_array,
    check_float,
    check_mask,
    check_range,
    check_shape,
)
from rlax_agents._distributions import Categorical, Policy
from rlax_agents._duals import MPODuals, decouple, penalties
from rlax_agents._mean import Metrics, mean_of_steps, widen
from rlax_agents._recurrence import fill_masked

EPSILON_KL: Mapping[str, float] = {"policy": 2.5e-3, "mean": 2.5e-3, "scale": 1e-6}


def mpo_loss(
    duals: MPODuals,
    pi_tm1: Policy,
    pi_old_tm1: Policy,
    a_tm1: Any,
    q_tm1: Any,
    *,
    epsilon: float = 0.1,
    epsilon_kl: float | Mapping[str, float] = EPSILON_KL,
    mask_t: Any = None,
) -> tuple[jax.Array, Metrics]:
    """MPO: fits the policy to actions weighted by `softmax(q / temperature)`.

    Minimise it in the policy's parameters and in the duals at once; each gets its own
    gradient only. A Gaussian's mean and scale are fitted apart, each with the other as
    it was.

    Args:
      duals: of `init_duals`; `project_duals` after each step.
      pi_tm1: the policy as it is now, over states [batch] or [time, batch].
      pi_old_tm1: the policy that actions were sampled from, most often of target
        parameters.
      a_tm1: int or float[samples, batch, ...], actions sampled in each state; None with
        a `Categorical` for all the actions, which then are weighted by their old
        probabilities, without any noise of sampling.
      q_tm1: float[samples, batch], their values; float[batch, actions] of all.
      epsilon: how far the weighted actions may diverge from the old policy.
      epsilon_kl: how far the policy may: by `"policy"`, or by `"mean"` and `"scale"`
        of Gaussians (of each dimension where the duals are of dimensions).
      mask_t: bool[batch]: False where a state is not to matter.

    Returns:
      The loss, and as metrics `policy_loss`, `kl_loss`, `alpha_loss`,
      `temperature_loss`, `temperature`, `kl_q` (of the weighted actions), and for each
      constraint `kl_*` and `alpha_*`.

    Raises:
      ArgumentError: for a wrong shape, dtype or range, or duals of another policy.

    Example:
      >>> import jax, jax.numpy as jnp
      >>> from rlax_agents import DiagonalGaussian, init_duals
      >>> pi = DiagonalGaussian(jnp.zeros((3, 1)), jnp.ones((3, 1)))
      >>> a = jax.vmap(pi.sample)(jax.random.split(jax.random.key(0), 20))
      >>> duals = init_duals(DiagonalGaussian)
      >>> loss, metrics = mpo_loss(duals, pi, pi, a, -(a**2).sum(-1))
      >>> float(metrics["kl_mean"]), bool(metrics["kl_q"] > 0)
      (0.0, True)

    References:
      Abdolmaleki et al., 2018, [Maximum a Posteriori Policy
      Optimisation](https://arxiv.org/abs/1806.06920), equations 8 and 12, and [Relative
      Entropy Regularized Policy Iteration](https://arxiv.org/abs/1812.02256), equation
      5, for the mean and the scale.
    """
    where = "mpo_loss"
    check_range(where, "epsilon", epsilon, 0.0)
    q_tm1, everything = widen(check_float(where, "q_tm1", q_tm1)), a_tm1 is None
    if everything:
        q_tm1 = jnp.moveaxis(q_tm1, -1, 0)
    if q_tm1.ndim < 2:
        raise ArgumentError(
            f"{where}: q_tm1 has shape {q_tm1.shape}, wanted [samples, batch]; "
            f"type q_tm1[:, None] for one state"
        )
    n, *states = q_tm1.shape
    mask_t = check_mask(where, "mask_t", mask_t, states, like="a sample of q_tm1")
    acted = Acted(where, "a sample of q_tm1", tuple(states), mask_t)
    old = lax.stop_gradient(acted.fill_policy("pi_old_tm1", pi_old_tm1))
    pi = acted.fill_policy("pi_tm1", pi_tm1)
    q_tm1 = lax.stop_gradient(jax.vmap(lambda q: fill_masked(q, mask_t))(q_tm1))
    if everything:
        a_tm1 = _all_actions(where, pi, q_tm1)
        log_prior = jax.vmap(old.log_prob)(a_tm1)
    else:
        a_tm1 = as_array(where, "a_tm1", a_tm1)
        log_prior = jnp.full_like(q_tm1, -math.log(n))
    if a_tm1.shape[: q_tm1.ndim] != q_tm1.shape:
        raise ArgumentError(
            f"{where}: a_tm1 has shape {a_tm1.shape}, wanted first axes {q_tm1.shape} "
            f"like q_tm1: samples, then states; type jnp.moveaxis(a_tm1, 1, 0) if the "
            f"states come first"
        )

    temperature = jnp.exp(duals.log_temperature)
    scores = log_prior + q_tm1 / temperature
    log_z = jax.nn.logsumexp(scores, axis=0)
    temperature_loss = temperature * mean_of_steps(epsilon + log_z, mask_t)
    weights = lax.stop_gradient(jax.nn.softmax(scores, axis=0))
    parts = decouple(old, pi)
    log_pi = sum(
        jax.vmap(lambda a, part=part: acted.log_prob("pi_tm1", part, a))(a_tm1)
        for part in parts.values()
    )
    # What cannot be taken has no weight, and a log-probability of -inf.
    log_pi = jnp.where(weights > 0, log_pi, 0)
    kl_q = lax.stop_gradient((weights * q_tm1).sum(0) / temperature - log_z)
    return _with_penalties(
        *(where, duals, old, parts),
        epsilons=epsilon_kl,
        mask_t=mask_t,
        losses={
            "policy_loss": mean_of_steps(-(weights * log_pi).sum(0), mask_t),
            "temperature_loss": temperature_loss,
        },
        metrics={
            "temperature": lax.stop_gradient(temperature),
            "kl_q": mean_of_steps(kl_q, mask_t),
        },
    )


def _all_actions(where: str, pi: Any, q: jax.Array) -> jax.Array:
    if not isinstance(pi, Categorical):
        raise ArgumentError(
            f"{where}: a_tm1 is None and pi_tm1 is a {type(pi).__name__}, wanted "
            f"sampled actions; type a_tm1=jax.vmap(pi_old_tm1.sample)(keys)"
        )
    n, *states = q.shape
    check_shape(where, "pi_tm1", pi.logits, (*states, n), like="q_tm1")
    return jnp.broadcast_to(jnp.expand_dims(jnp.arange(n), range(1, q.ndim)), q.shape)


def vmpo_loss(
    duals: MPODuals,
    pi_tm1: Policy,
    pi_old_tm1: Policy,
    a_tm1: Any,
    adv_tm1: Any,
    *,
    epsilon: float = 0.01,
    epsilon_kl: float | Mapping[str, float] = EPSILON_KL,
    top_fraction: float = 0.5,
    weights: Any = None,
    mask_t: Any = None,
) -> tuple[jax.Array, Metrics]:
    """V-MPO: fits the policy to its better actions, by `exp(adv / temperature)`.

    Minimise it in the policy's parameters and in the duals at once; each gets its own
    gradient only. Weights are shared out over the whole batch; inside `shard_map` that
    is each device's part.

    Args:
      duals: of `init_duals`; `project_duals` after each step.
      pi_tm1: the policy as it is now, over states [time, batch] or any.
      pi_old_tm1: the policy that acted.
      a_tm1: int or float[time, batch, ...], actions taken.
      adv_tm1: float[time, batch], advantages.
      epsilon: how far the weighted actions may diverge from those taken.
      epsilon_kl: how far the policy may: by `"policy"`, or by `"mean"` and `"scale"`
        of Gaussians (of each dimension where the duals are of dimensions).
      top_fraction: share of the steps, those of most advantage, that are fitted.
      weights: float like adv_tm1, 0 or more: importance weights of the steps.
      mask_t: bool like adv_tm1: False where a step is not to matter.

    Returns:
      The loss, and as metrics `policy_loss`, `kl_loss`, `alpha_loss`,
      `temperature_loss`, `temperature`, and for each constraint `kl_*` and `alpha_*`.

    Raises:
      ArgumentError: for a wrong shape, dtype or range, or duals of another policy.

    Example:
      >>> import jax.numpy as jnp
      >>> from rlax_agents import Categorical, init_duals
      >>> pi, duals = Categorical(jnp.zeros((2, 4))), init_duals(Categorical)
      >>> a, adv = jnp.array([0, 3]), jnp.array([1.0, -1.0])
      >>> loss, metrics = vmpo_loss(duals, pi, pi, a, adv)
      >>> round(float(metrics["policy_loss"]), 3)  # that of the better action alone
      1.386

    References:
      Song et al., 2020, [V-MPO](https://arxiv.org/abs/1909.12238), equations 3 to 5.
    """
    where = "vmpo_loss"
    check_range(where, "epsilon", epsilon, 0.0)
    if not 0 < top_fraction <= 1:
        raise ArgumentError(
            f"{where}: top_fraction is {top_fraction}, wanted above 0 and at most 1; "
            f"type top_fraction=0.5"
        )
    acted = check_acted(where, adv_tm1=adv_tm1, mask_t=mask_t)
    mask_t, weights = acted.mask_t, acted.weights(weights)
    adv_tm1 = lax.stop_gradient(acted.fill("adv_tm1", adv_tm1))
    old = lax.stop_gradient(acted.fill_policy("pi_old_tm1", pi_old_tm1))
    pi = acted.fill_policy("pi_tm1", pi_tm1)
    log_pi = acted.log_prob("pi_tm1", pi, a_tm1)

    temperature = jnp.exp(duals.log_temperature)
    best = _best(adv_tm1, top_fraction, mask_t)
    share = jnp.where(best, 1 if weights is None else weights, jnp.float32(0))
    some = share.sum() > 0
    share = jnp.where(some, share, 1)  # harmless, where there is nothing to share out
    scores = jnp.where(best, adv_tm1, 0) / temperature
    log_z = jax.nn.logsumexp(scores, b=share, where=share > 0)
    psi = share * jnp.exp(jnp.where(share > 0, scores - log_z, 0))
    log_mean = log_z - jnp.log(jnp.maximum(best.sum(dtype=log_z.dtype), 1))
    return _with_penalties(
        *(where, duals, old, decouple(old, pi)),
        epsilons=epsilon_kl,
        mask_t=mask_t,
        losses={
            "policy_loss": jnp.where(some, -(lax.stop_gradient(psi) * log_pi).sum(), 0),
            "temperature_loss": jnp.where(some, temperature * (epsilon + log_mean), 0),
        },
        metrics={"temperature": lax.stop_gradient(temperature)},
    )


def _best(adv: jax.Array, fraction: float, mask_t: jax.Array | None) -> jax.Array:
    """Which of the steps that count have the most advantage; ties count too."""
    counts = jnp.ones(adv.shape, bool) if mask_t is None else mask_t
    if not adv.size:
        return counts
    ranked = jnp.where(counts, adv, -jnp.inf)
    mesh = jax.typeof(adv).sharding.mesh
    if mesh.axis_names and mesh.are_all_axes_explicit:
        # Ranks are of the whole batch, and so asks for all of it to be in one place.
        ranked = jax.sharding.reshard(ranked, NamedSharding(mesh, PartitionSpec()))
    ranked = jnp.sort(ranked, axis=None, descending=True)
    share = (fraction * counts.sum(dtype=jnp.float32)).astype(jnp.int32)
    least = ranked[jnp.maximum(share, 1) - 1]
    return counts & (adv >= least)


def _with_penalties(
    where: str,
    duals: MPODuals,
    old: Any,
    parts: dict[str, Any],
    *,
    epsilons: float | Mapping[str, float],
    mask_t: jax.Array | None,
    losses: Metrics,
    metrics: Metrics,
) -> tuple[jax.Array, Metrics]:
    kl_loss, alpha_loss, by_part = penalties(
        where, duals, old, parts, epsilons=epsilons, mask_t=mask_t
    )
    losses = {**losses, "kl_loss": kl_loss, "alpha_loss": alpha_loss}
    return sum(losses.values(), jnp.float32(0)), {**losses, **metrics, **by_part}

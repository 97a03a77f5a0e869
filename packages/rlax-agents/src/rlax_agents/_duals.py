"""Constraints of MPO and V-MPO: dual variables, learned beside the policy.

A constraint `kl <= epsilon` has a multiplier alpha, which rises while it is broken and
falls while it holds. Gaussians have two, so that the mean moves faster than the scale
can shrink. Multipliers and the temperature are stored as logarithms: a pytree of their
own, with an optimiser of its own (Adam at 1e-2 is usual), always above 0.

>>> import jax, optax
>>> from rlax_agents import DiagonalGaussian, init_duals, project_duals
>>> duals, chain = init_duals(DiagonalGaussian), optax.adam(1e-2)
>>> updates, _ = chain.update(jax.tree.map(lambda x: x, duals), chain.init(duals))
>>> duals = project_duals(optax.apply_updates(duals, updates))
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from rlax_agents._checks import ArgumentError, check_count, check_range
from rlax_agents._distributions import (
    DiagonalGaussian,
    TanhGaussian,
    gaussian_kl,
)
from rlax_agents._mean import Metrics, mean_of_steps

Gaussian = DiagonalGaussian | TanhGaussian


class MPODuals(NamedTuple):
    """Dual variables of MPO and V-MPO.

    Attributes:
      log_temperature: float32, logarithm of the E-step's temperature.
      log_alphas: logarithms of the M-step's multipliers, by what they constrain:
        `"policy"`, or `"mean"` and `"scale"` of Gaussians. Scalars, or
        float32[dimensions] where each dimension has its own constraint.
    """

    log_temperature: Any
    log_alphas: dict[str, Any]


def init_duals(
    kind: type,
    *,
    dimensions: int | None = None,
    temperature: float = 1.0,
    alpha: float | Mapping[str, float] = 5.0,
) -> MPODuals:
    """Dual variables to start from.

    Args:
      kind: the policy's class, such as `Categorical` or `DiagonalGaussian`.
      dimensions: of a Gaussian's actions, for a constraint of each; None for one of
        all together.
      temperature: above 0.
      alpha: above 0, of all constraints, or by name.

    Returns:
      The dual variables.

    Raises:
      ArgumentError: if a value is not above 0, or a name is missing.

    Example:
      >>> from rlax_agents import DiagonalGaussian
      >>> duals = init_duals(DiagonalGaussian, dimensions=3, alpha=1.0)
      >>> float(duals.log_temperature), duals.log_alphas["mean"].tolist()
      (0.0, [0.0, 0.0, 0.0])

    References:
      Song et al., 2020, [V-MPO](https://arxiv.org/abs/1909.12238), table 4, for the
      values.
    """
    where, tiny = "init_duals", 1e-30
    if dimensions is not None:
        dimensions = check_count(where, "dimensions", dimensions)
    gaussian = kind in (DiagonalGaussian, TanhGaussian)
    names = ("mean", "scale") if gaussian else ("policy",)
    alphas = by_name(where, "alpha", alpha, names)
    check_range(where, "temperature", temperature, tiny)
    for name in names:
        check_range(where, f"alpha of {name!r}", alphas[name], tiny)
    shape = (dimensions,) if gaussian and dimensions is not None else ()
    return MPODuals(
        jnp.float32(math.log(temperature)),
        {n: jnp.full(shape, math.log(alphas[n]), jnp.float32) for n in names},
    )


def project_duals(duals: MPODuals, *, low: float = 1e-8, high: float = 1e8) -> MPODuals:
    """Keeps temperature and multipliers within bounds; after each optimiser's step.

    Without it, a multiplier that is not needed falls for ever, and takes as long to
    come back.

    Args:
      duals: to be bounded.
      low: least value, above 0.
      high: largest value.

    Returns:
      The dual variables, within bounds.

    Example:
      >>> from rlax_agents import Categorical
      >>> duals = init_duals(Categorical, temperature=1e-12)
      >>> float(jnp.exp(project_duals(duals, low=0.5).log_temperature))
      0.5
    """
    low, high = math.log(low), math.log(high)
    return jax.tree.map(lambda x: jnp.clip(x, low, high), duals)


def by_name(
    where: str, what: str, values: float | Mapping[str, float], names: tuple[str, ...]
) -> Mapping[str, float]:
    """One value for each name, from a mapping or from one value for all.

    Raises:
      ArgumentError: if a mapping lacks a name.
    """
    if not isinstance(values, Mapping):
        return dict.fromkeys(names, values)
    if missing := [name for name in names if name not in values]:
        raise ArgumentError(
            f"{where}: {what} has {sorted(values)}, wanted {list(names)} too: "
            f"{missing[0]!r} is missing; type {what}={dict.fromkeys(names, 0.01)}"
        )
    return values


def decouple(old: Any, new: Any) -> dict[str, Any]:
    """The parts of a new policy that are constrained apart, the rest being the old's.

    A Gaussian's mean with the old scale, and its scale with the old mean. Then a large
    step of the mean costs nothing of what the scale may do.
    """
    if not isinstance(new, Gaussian):
        return {"policy": new}
    return {"mean": new._replace(scale=old.scale), "scale": new._replace(mean=old.mean)}


def penalties(
    where: str,
    duals: MPODuals,
    old: Any,
    parts: dict[str, Any],
    *,
    epsilons: float | Mapping[str, float],
    mask_t: jax.Array | None = None,
) -> tuple[jax.Array, jax.Array, Metrics]:
    """Losses of the policy and of the multipliers for what is constrained.

    Returns:
      The divergences times the multipliers, for the policy; the multipliers times what
      is left of the bounds, for the multipliers; and `kl_*` and `alpha_*`.

    Raises:
      ArgumentError: if there is no multiplier or no bound for a part.
    """
    epsilons = by_name(where, "epsilon_kl", epsilons, tuple(parts))
    if set(duals.log_alphas) != set(parts):
        raise ArgumentError(
            f"{where}: duals are for {sorted(duals.log_alphas)}, and the policy has "
            f"{sorted(parts)}; type init_duals({type(old).__name__})"
        )
    kl_losses, alpha_losses, metrics = [], [], {}
    for name, part in parts.items():
        alpha = jnp.exp(duals.log_alphas[name])
        if alpha.ndim:
            kl_t = gaussian_kl(DiagonalGaussian(*old), DiagonalGaussian(*part))
            if alpha.shape != kl_t.shape[-1:]:
                raise ArgumentError(
                    f"{where}: duals have alphas of shape {alpha.shape} for {name!r}, "
                    f"wanted {kl_t.shape[-1:]}; type init_duals(..., dimensions="
                    f"{kl_t.shape[-1]})"
                )
        else:
            kl_t = old.kl(part)[..., None]
        each = jnp.expand_dims(jnp.atleast_1d(alpha), range(kl_t.ndim - 1))
        each = each.astype(kl_t.dtype)
        kl_loss_t = (lax.stop_gradient(each) * kl_t).sum(-1)
        kl_losses.append(mean_of_steps(kl_loss_t, mask_t))
        slack_t = epsilons[name] - lax.stop_gradient(kl_t)
        alpha_losses.append(mean_of_steps((each * slack_t).sum(-1), mask_t))
        metrics[f"kl_{name}"] = mean_of_steps(lax.stop_gradient(kl_t).sum(-1), mask_t)
        metrics[f"alpha_{name}"] = lax.stop_gradient(alpha.mean())
    return (
        sum(kl_losses[1:], kl_losses[0]),
        sum(alpha_losses[1:], alpha_losses[0]),
        metrics,
    )

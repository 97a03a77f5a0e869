"""Steps that divide by curvature: Gauss-Newton and the natural gradient.

Both solve a linear system by conjugate gradients, whose matrix is never made: each
iteration is one product, of the price of two or three gradients.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax

from optax_chains._checks import (
    DECAY,
    NOT_NEGATIVE,
    POSITIVE,
    check_counts,
    check_numbers,
)
from optax_chains._conjugate_gradient import conjugate_gradient, inner, unit
from optax_chains._curvature import gauss_newton_operator
from optax_chains._scale_by_rate import scale_by_rate


def gauss_newton_cg(
    learning_rate: optax.ScalarOrSchedule = 1.0,
    *,
    damping: float = 1e-3,
    iterations: int = 20,
    tolerance: float = 1e-5,
) -> optax.GradientTransformationExtraArgs:
    """Gauss-Newton steps: (G + damping I)^-1 times the gradient.

    On least squares with a linear model, one step of rate 1 without damping is the
    solution. With batches, they must be large enough for their curvature to be that of
    the data; more damping makes the step more like the gradient's. Along a direction
    of no curvature or less, as everywhere in a loss that is concave in the outputs, the
    solver stops where it is: the step may be zero. Damping above the most negative
    curvature mends that.

    Args:
      learning_rate: a number or a schedule of the step; 1 is the whole step.
      damping: added to the diagonal.
      iterations: of conjugate gradients, at most.
      tolerance: the residual, relative to the gradient, at which they stop.

    Returns:
      A transformation. Its update is `update(grads, state, params, model=, loss=)`
      with `model: params -> outputs` on the batch of the gradients, and
      `loss: outputs -> scalar` such that they are those of `loss(model(params))`.

    Raises:
      ValueError: if `damping` is negative or not finite, `tolerance` is not from 0 up
        to 1, `iterations` is below 1.
      TypeError: if one is no number, or `update` gets no `params`, `model` or
        `loss`.

    Example:
      >>> import jax, jax.numpy as jnp, optax
      >>> x, y = jnp.array([[1.0], [2.0], [3.0]]), jnp.array([2.0, 4.0, 6.0])
      >>> model = lambda params: x @ params
      >>> loss = lambda outputs: jnp.mean((outputs - y) ** 2)
      >>> chain, params = gauss_newton_cg(damping=0.0), jnp.zeros(1)
      >>> grads = jax.grad(lambda params: loss(model(params)))(params)
      >>> updates, _ = chain.update(
      ...     grads, chain.init(params), params, model=model, loss=loss
      ... )
      >>> optax.apply_updates(params, updates)
      Array([2.], dtype=float32)

    References:
      Martens, 2010, [Deep learning via Hessian-free
      optimization](https://icml.cc/Conferences/2010/papers/458.pdf), sections 3 and 4.
    """
    _check("gauss_newton_cg", damping, iterations, tolerance)

    def update(
        updates: Any,
        state: Any,
        params: Any = None,
        *,
        model: Callable[[Any], Any] | None = None,
        loss: Callable[[Any], Any] | None = None,
        **extra: Any,
    ) -> Any:
        del extra
        if params is None or model is None or loss is None:
            raise _missing("gauss_newton_cg", params=params, model=model, loss=loss)
        product = gauss_newton_operator(model, loss, params)
        step = _solve(product, updates, damping, iterations, tolerance)
        return step, state

    part = optax.GradientTransformationExtraArgs(optax.init_empty_state, update)
    return optax.chain(part, scale_by_rate(learning_rate))


def natural_gradient(
    learning_rate: optax.ScalarOrSchedule = 1.0,
    *,
    damping: float = 1e-3,
    max_kl: float | None = None,
    iterations: int = 20,
    tolerance: float = 1e-5,
) -> optax.GradientTransformationExtraArgs:
    """Natural gradient steps: (F + damping I)^-1 times the gradient.

    F is the Fisher matrix of the distribution that the model's outputs stand for, the
    curvature of its KL divergence: not the empirical one, which depends on the labels.
    The step does not depend on how the parameters are written down, to first order.
    With `max_kl` it is the step of TRPO, without its line search.

    Args:
      learning_rate: a number or a schedule of the step.
      damping: added to the diagonal.
      max_kl: the largest divergence that the step may make, to second order and before
        the learning rate; longer steps are shortened to it. None for no limit.
      iterations: of conjugate gradients, at most.
      tolerance: the residual, relative to the gradient, at which they stop.

    Returns:
      A transformation. Its update is `update(grads, state, params, model=, kl=)` with
      `model: params -> outputs` on the batch, and `kl: (old outputs, outputs) ->
      scalar`, the divergence of what they stand for, averaged as the loss is. For
      Gaussians of scale 1, half the squared distance; for logits p and q,
      `optax.kl_divergence(log_softmax(q), softmax(p))`.

    Raises:
      ValueError: if `damping` is negative or not finite, `tolerance` is not from 0 up
        to 1, `iterations` is below 1, or `max_kl` is not above 0.
      TypeError: if one is no number, or `update` gets no `params`, `model` or
        `kl`.

    Example:
      >>> import jax, jax.numpy as jnp, optax
      >>> x, y = jnp.array([[1.0], [2.0], [3.0]]), jnp.array([2.0, 4.0, 6.0])
      >>> model = lambda params: x @ params
      >>> kl = lambda old, new: 0.5 * jnp.mean((new - old) ** 2)
      >>> chain, params = natural_gradient(damping=0.0), jnp.zeros(1)
      >>> grads = jax.grad(lambda p: 0.5 * jnp.mean((model(p) - y) ** 2))(params)
      >>> updates, _ = chain.update(
      ...     grads, chain.init(params), params, model=model, kl=kl
      ... )
      >>> optax.apply_updates(params, updates)
      Array([2.], dtype=float32)

    References:
      Amari, 1998, [Natural Gradient Works Efficiently in
      Learning](https://doi.org/10.1162/089976698300017746); Martens, 2020, [New
      insights](https://arxiv.org/abs/1412.1193), section 9.2, for F as a Gauss-Newton
      matrix; Schulman et al., 2015, [Trust Region Policy
      Optimization](https://arxiv.org/abs/1502.05477), appendix C, for `max_kl`.
    """
    _check("natural_gradient", damping, iterations, tolerance)
    if max_kl is not None:
        check_numbers("natural_gradient", POSITIVE, max_kl=max_kl)

    def update(
        updates: Any,
        state: Any,
        params: Any = None,
        *,
        model: Callable[[Any], Any] | None = None,
        kl: Callable[[Any, Any], Any] | None = None,
        **extra: Any,
    ) -> Any:
        del extra
        if params is None or model is None or kl is None:
            raise _missing("natural_gradient", params=params, model=model, kl=kl)
        old = jax.lax.stop_gradient(model(params))
        product = gauss_newton_operator(model, lambda new: kl(old, new), params)
        step = _solve(product, updates, damping, iterations, tolerance)
        if max_kl is not None:
            direction, length = unit(step)
            divergence = 0.5 * inner(direction, product(direction))
            longest = jnp.sqrt(max_kl / jnp.maximum(divergence, 0.0))
            length = jnp.minimum(length, longest)
            step = jax.tree.map(lambda d: (d * length).astype(d.dtype), direction)
        return step, state

    part = optax.GradientTransformationExtraArgs(optax.init_empty_state, update)
    return optax.chain(part, scale_by_rate(learning_rate))


def _check(where: str, damping: Any, iterations: Any, tolerance: Any) -> None:
    check_numbers(where, NOT_NEGATIVE, damping=damping)
    check_counts(where, traced=True, iterations=iterations)
    # Of 1 or more the first iterate, zero, would do.
    check_numbers(where, DECAY, tolerance=tolerance)


def _missing(name: str, **arguments: Any) -> TypeError:
    absent = ", ".join(key for key, value in arguments.items() if value is None)
    wanted = ", ".join(f"{key}={key}" for key in list(arguments)[1:])
    return TypeError(
        f"{name}: update got no {absent}; type update(grads, state, params, {wanted})"
    )


def _solve(
    product: Callable[[Any], Any],
    grads: Any,
    damping: float,
    iterations: int,
    tolerance: float,
) -> Any:
    def damped(v: Any) -> Any:
        return jax.tree.map(lambda g, v: g + damping * v, product(v), v)

    return conjugate_gradient(damped, grads, iterations=iterations, tolerance=tolerance)

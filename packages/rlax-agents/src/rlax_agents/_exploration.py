"""How to act so as to learn: choices that are greedy most of the time, and noise.

All take a PRNG key first and work on any leading axes. What changes as training goes on
(epsilon, a temperature, a scale) is a number or an array of the batch's shape: take it
from a schedule of optax, as `optax.linear_schedule(1.0, 0.05, 10_000)(step)`, or give
each row its own. Where several actions are best, one of them is drawn, all alike.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from rlax_agents._checks import (
    ArgumentError,
    check_float,
    check_range,
    check_shape,
)


def epsilon_greedy(key: jax.Array, q_t: Any, epsilon: Any) -> jax.Array:
    """Draws any action with probability epsilon, else a best one.

    A best action so has probability `1 - epsilon + epsilon / A` if it is the only one.

    Args:
      key: PRNG key.
      q_t: float[..., A], the value of each action.
      epsilon: in [0, 1], a number or an array of the shape of q_t less its last axis.

    Returns:
      int32[...], the actions.

    Raises:
      ArgumentError: for a wrong shape, dtype or range, or NaN.

    Example:
      >>> import jax, jax.numpy as jnp
      >>> epsilon_greedy(jax.random.key(0), jnp.array([[0.0, 2.0], [3.0, 1.0]]), 0.0)
      Array([1, 0], dtype=int32)

    References:
      Sutton and Barto, 2018, Reinforcement Learning, section 2.2.
    """
    where = "epsilon_greedy"
    q_t = _check_q(where, q_t)
    epsilon = _check_per_row(where, "epsilon", epsilon, q_t, high=1.0)
    explores, draws = jax.random.split(key)
    explores = jax.random.uniform(explores, q_t.shape[:-1], jnp.float32) < epsilon
    # The highest of equal draws serves both to explore and to break ties.
    draw = jax.random.uniform(draws, q_t.shape, jnp.float32)
    return _argmax(draw, among=explores[..., None] | _is_best(q_t))


def boltzmann(key: jax.Array, q_t: Any, temperature: Any) -> jax.Array:
    """Draws actions with probability softmax(q_t / temperature).

    Args:
      key: PRNG key.
      q_t: float[..., A], the value of each action; -inf is never drawn.
      temperature: 0 or more, a number or an array of the shape of q_t less its last
        axis. 0 draws one of the best.

    Returns:
      int32[...], the actions.

    Raises:
      ArgumentError: for a wrong shape, dtype or range, or NaN.

    Example:
      >>> import jax, jax.numpy as jnp
      >>> q_t = jnp.array([0.0, jnp.log(3.0)])
      >>> keys = jax.random.split(jax.random.key(0), 1000)
      >>> drawn = jax.vmap(lambda key: boltzmann(key, q_t, 1.0))(keys)
      >>> 0.7 < drawn.mean() < 0.8
      Array(True, dtype=bool)

    References:
      Sutton and Barto, 2018, Reinforcement Learning, equation 13.2; drawn as in
      Maddison et al., 2014, A* Sampling, https://arxiv.org/abs/1411.0030.
    """
    where = "boltzmann"
    q_t = _check_q(where, q_t)
    temperature = _check_per_row(where, "temperature", temperature, q_t)
    gumbel = jax.random.gumbel(key, q_t.shape, jnp.float32)
    perturbed = q_t.astype(jnp.float32) + temperature[..., None] * gumbel
    return _argmax(gumbel, among=_is_best(perturbed))


def ucb(key: jax.Array, q_t: Any, counts: Any, t: Any, c: Any) -> jax.Array:
    """Takes the action of the highest `q + c sqrt(log(t) / n)`, untried ones first.

    Args:
      key: PRNG key, for ties.
      q_t: float[..., A], the value of each action.
      counts: like q_t, integers or floats: how often each was taken.
      t: how many actions were taken in all, 1 or more; a number or an array of the
        shape of q_t less its last axis.
      c: how much to explore, 0 or more, likewise.

    Returns:
      int32[...], the actions.

    Raises:
      ArgumentError: for a wrong shape, dtype or range, or NaN.

    Example:
      >>> import jax, jax.numpy as jnp
      >>> q_t, counts = jnp.array([1.0, 0.9]), jnp.array([100, 1])
      >>> int(ucb(jax.random.key(0), q_t, counts, 101, 1.0))
      1

    References:
      Auer, Cesa-Bianchi and Fischer, 2002, Finite-time Analysis of the Multiarmed
      Bandit Problem; Sutton and Barto, 2018, Reinforcement Learning, equation 2.10.
    """
    where = "ucb"
    q_t = _check_q(where, q_t)
    check_shape(where, "counts", counts, q_t.shape, like="q_t")
    check_range(where, "counts", counts, 0.0)
    t = _check_per_row(where, "t", t, q_t, low=1.0)
    c = _check_per_row(where, "c", c, q_t)
    n = jnp.asarray(counts).astype(jnp.float32)
    width = jnp.sqrt(jnp.log(t)[..., None] / jnp.maximum(n, 1.0))
    bound = q_t.astype(jnp.float32) + c[..., None] * width
    bound = jnp.where(n > 0, bound, jnp.inf)
    draw = jax.random.uniform(key, q_t.shape, jnp.float32)
    return _argmax(draw, among=_is_best(bound))


def gaussian_noise(
    key: jax.Array,
    a_t: Any,
    scale: Any,
    *,
    low: Any = -jnp.inf,
    high: Any = jnp.inf,
) -> jax.Array:
    """Adds independent normal noise to continuous actions, and clips them.

    Args:
      key: PRNG key.
      a_t: float[..., n], the actions.
      scale: standard deviation in the units of the action, 0 or more; a number, or an
        array that broadcasts to a_t.
      low: least action, a number or an array that broadcasts to a_t.
      high: greatest action, likewise.

    Returns:
      The noisy actions, like a_t.

    Raises:
      ArgumentError: for a wrong shape, dtype or range.

    Example:
      >>> import jax, jax.numpy as jnp
      >>> a_t = jnp.zeros((4, 2))
      >>> noisy = gaussian_noise(jax.random.key(0), a_t, 5.0, low=-1.0, high=1.0)
      >>> noisy.shape, float(jnp.abs(noisy).max())
      ((4, 2), 1.0)

    References:
      Fujimoto, van Hoof and Meger, 2018, Addressing Function Approximation Error in
      Actor-Critic Methods, section 5, https://arxiv.org/abs/1802.09477.
    """
    where = "gaussian_noise"
    a_t = check_float(where, "a_t", a_t)
    check_range(where, "scale", scale, 0.0)
    scale, low, high = (
        _broadcast(where, name, value, a_t)
        for name, value in (("scale", scale), ("low", low), ("high", high))
    )
    noise = scale * jax.random.normal(key, a_t.shape, jnp.float32)
    noisy = jnp.clip(a_t.astype(jnp.float32) + noise, low, high)
    return noisy.astype(a_t.dtype)


def _check_q(where: str, value: Any) -> jax.Array:
    q_t = check_float(where, "q_t", value)
    if q_t.ndim == 0 or q_t.shape[-1] == 0:
        raise ArgumentError(
            f"{where}: q_t has shape {q_t.shape}, wanted (..., actions), 1 or more"
        )
    check_range(where, "q_t", q_t, -np.inf)
    return q_t


def _check_per_row(
    where: str,
    name: str,
    value: Any,
    q_t: jax.Array,
    *,
    low: float = 0.0,
    high: float = np.inf,
) -> jax.Array:
    """A number for each row of q_t, from one for all or one for each."""
    check_range(where, name, value, low, high)
    array = jnp.asarray(value).astype(jnp.float32)
    if array.ndim:
        check_shape(where, name, array, q_t.shape[:-1], like="q_t[..., 0]")
    return jnp.broadcast_to(array, q_t.shape[:-1])


def _broadcast(where: str, name: str, value: Any, a_t: jax.Array) -> jax.Array:
    array = jnp.asarray(value).astype(jnp.float32)
    try:
        return jnp.broadcast_to(array, a_t.shape)
    except ValueError as error:
        raise ArgumentError(
            f"{where}: {name} has shape {array.shape}, wanted a number or a shape that "
            f"broadcasts to that of a_t, {a_t.shape}; add axes, as in {name}[:, None]"
        ) from error


def _is_best(x: jax.Array) -> jax.Array:
    return x == x.max(-1, keepdims=True)


def _argmax(draw: jax.Array, *, among: jax.Array) -> jax.Array:
    return jnp.argmax(jnp.where(among, draw, -jnp.inf), -1).astype(jnp.int32)

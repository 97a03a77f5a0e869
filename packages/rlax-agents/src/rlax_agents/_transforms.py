"""Other forms of values, in which a network learns them more easily.

Returns of very different sizes are squashed (`signed_hyperbolic`), or turned into
probabilities of bins so that a cross-entropy learns them (`two_hot`, `muzero`). A
network then predicts the transformed value, and targets are made of true ones: decode,
bootstrap, encode. The losses do so by their argument `transform`; with returns of
sequences it is one line:

>>> import jax.numpy as jnp
>>> from rlax_agents import n_step_returns, signed_hyperbolic
>>> tx, h_t = signed_hyperbolic(), jnp.zeros(3)  # h_t: transformed values
>>> target = tx.apply(n_step_returns(jnp.ones(3), jnp.ones(3), tx.inverse(h_t), n=2))
>>> target.round(3).tolist()
[0.734, 0.734, 0.415]
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from rlax_agents._checks import ArgumentError, check_float, check_range


class ValueTransform(NamedTuple):
    """A form of values and the way back.

    It is hashable: close over it, or pass it to jit as a static argument.

    Attributes:
      apply: takes values to their form, elementwise; or, with bins, adds a last axis
        of probabilities.
      inverse: takes the form back to values.
      bins: how many probabilities stand for a value, or None where it is one number.

    Example:
      >>> import jax.numpy as jnp
      >>> symlog = ValueTransform(
      ...     lambda x: jnp.sign(x) * jnp.log1p(jnp.abs(x)),
      ...     lambda y: jnp.sign(y) * jnp.expm1(jnp.abs(y)),
      ... )
      >>> float(symlog.inverse(symlog.apply(jnp.float32(-7.0))))
      -7.0
    """

    apply: Callable[[jax.Array], jax.Array]
    inverse: Callable[[jax.Array], jax.Array]
    bins: int | None = None


@functools.cache
def signed_hyperbolic(eps: float = 1e-3) -> ValueTransform:
    """Squashes like a square root, linear near zero and, weakly, far from it.

    `h(x) = sign(x) (sqrt(|x| + 1) - 1) + eps x`. Both ways are computed without
    cancellation: rlax's inverse is off by 1e-4 near zero in float32, this one by 1e-7.

    Args:
      eps: slope far from zero, 0 or more; it keeps the inverse Lipschitz.

    Returns:
      The transform.

    Raises:
      ArgumentError: if eps is below 0.

    Example:
      >>> import jax.numpy as jnp
      >>> signed_hyperbolic(eps=0.0).apply(jnp.array([-3.0, 0.0, 8.0])).tolist()
      [-1.0, 0.0, 2.0]

    References:
      Pohlen et al., 2018, [Observe and Look Further](https://arxiv.org/abs/1805.11593),
      proposition A.2.
    """
    check_range("signed_hyperbolic", "eps", eps, 0.0)
    return ValueTransform(
        functools.partial(_squash, eps=eps), functools.partial(_expand, eps=eps)
    )


def _squash(x: jax.Array, *, eps: float) -> jax.Array:
    # (sqrt(|x| + 1) - 1) (sqrt(|x| + 1) + 1) = |x|, so nothing has to cancel.
    x = check_float("signed_hyperbolic", "x", x)
    return x / (jnp.sqrt(jnp.abs(x) + 1) + 1) + eps * x


def _expand(y: jax.Array, *, eps: float) -> jax.Array:
    # d = sqrt(|x| + 1) - 1 solves eps d^2 + (1 + 2 eps) d = |y|, and |x| = d (d + 2).
    y = check_float("signed_hyperbolic", "y", y)
    b = 1 + 2 * eps
    per_y = 2 / (b + jnp.sqrt(b * b + 4 * eps * jnp.abs(y)))
    return y * per_y * (jnp.abs(y) * per_y + 2)


def two_hot(bins: Sequence[float] | Any) -> ValueTransform:
    """Splits a value between the two bins beside it, so that their mean is the value.

    Args:
      bins: float[bins], their values, increasing, at any spacing. Values beyond the
        ends count as the ends.

    Returns:
      The transform.

    Raises:
      ArgumentError: if bins are fewer than two or do not increase.

    Example:
      >>> import jax.numpy as jnp
      >>> tx = two_hot([-1.0, 0.0, 2.0])
      >>> tx.apply(jnp.array([0.5, -3.0])).tolist()
      [[0.0, 0.75, 0.25], [1.0, 0.0, 0.0]]
      >>> tx.inverse(tx.apply(jnp.array([0.5, -3.0]))).tolist()
      [0.5, -1.0]

    References:
      Schrittwieser et al., 2020, [Mastering Atari, Go, Chess and Shogi by Planning
      with a Learned Model](https://arxiv.org/abs/1911.08265), appendix F.
    """
    return _two_hot(tuple(check_atoms("two_hot", "bins", bins).tolist()))


@functools.cache
def _two_hot(bins: tuple[float, ...]) -> ValueTransform:
    return ValueTransform(
        functools.partial(_split, bins=bins),
        functools.partial(_average, bins=bins),
        len(bins),
    )


def _split(x: jax.Array, *, bins: tuple[float, ...]) -> jax.Array:
    x = check_float("two_hot", "x", x)
    return shares(x, jnp.asarray(bins, x.dtype))


def _average(p: jax.Array, *, bins: tuple[float, ...]) -> jax.Array:
    p = check_float("two_hot", "p", p)
    if p.shape[-1:] != (len(bins),):
        raise ArgumentError(
            f"two_hot: p has shape {p.shape}, wanted a last axis of {len(bins)}: "
            f"probabilities of the bins"
        )
    return p @ jnp.asarray(bins, p.dtype)


def muzero(bins: Sequence[float] | Any, *, eps: float = 1e-3) -> ValueTransform:
    """Two-hot over squashed values: what MuZero learns values and rewards with.

    Args:
      bins: float[bins], increasing, in the squashed space; MuZero's are 601 from
        -300 to 300.
      eps: of `signed_hyperbolic`.

    Returns:
      The transform.

    Raises:
      ArgumentError: as `two_hot` and `signed_hyperbolic` do.

    Example:
      >>> import jax.numpy as jnp
      >>> tx = muzero(jnp.linspace(-30.0, 30.0, 61))
      >>> p = tx.apply(jnp.array(100.0))
      >>> p.shape, float(tx.inverse(p))
      ((61,), 100.0)

    References:
      Schrittwieser et al., 2020, [Mastering Atari, Go, Chess and Shogi by Planning
      with a Learned Model](https://arxiv.org/abs/1911.08265), appendix F.
    """
    return _muzero(signed_hyperbolic(eps), two_hot(bins))


@functools.cache
def _muzero(squash: ValueTransform, split: ValueTransform) -> ValueTransform:
    return ValueTransform(
        functools.partial(_in_turn, first=squash.apply, then=split.apply),
        functools.partial(_in_turn, first=split.inverse, then=squash.inverse),
        split.bins,
    )


def _in_turn(x: jax.Array, *, first: Callable, then: Callable) -> jax.Array:
    return then(first(x))


def check_atoms(where: str, name: str, atoms: Any) -> np.ndarray:
    """Makes a float vector that increases; it has to be known while tracing.

    Raises:
      ArgumentError: if it does not increase, is too short or is traced.
    """
    if isinstance(atoms, jax.core.Tracer):
        raise ArgumentError(
            f"{where}: {name} is traced, wanted numbers that are known; "
            f"type {name}=np.linspace(-10, 10, 51) outside jit"
        )
    values = np.asarray(atoms, np.float64)
    if values.ndim != 1 or values.size < 2 or not np.all(np.diff(values) > 0):
        raise ArgumentError(
            f"{where}: {name} of shape {values.shape} is {values.tolist()!s:.60}, "
            f"wanted a vector of two or more that increases; type np.unique({name})"
        )
    return values


def shares(z: jax.Array, atoms: jax.Array) -> jax.Array:
    """How much of a mass at z each atom gets: the two beside it, all of it at the ends.

    Args:
      z: float[...], where masses are.
      atoms: float[atoms], increasing.

    Returns:
      float[..., atoms]; each row has two entries or one, whose sum is 1.
    """
    low = jnp.expand_dims(atoms[:-1], range(z.ndim))
    wide = jnp.expand_dims(jnp.diff(atoms), range(z.ndim))
    # How far z is through each interval: 1 in those below z, 0 in those above it.
    through = jnp.clip((z[..., None] - low) / wide, 0, 1)
    first, last = jnp.ones_like(z)[..., None], jnp.zeros_like(z)[..., None]
    return jnp.concatenate([first, through], -1) - jnp.concatenate([through, last], -1)

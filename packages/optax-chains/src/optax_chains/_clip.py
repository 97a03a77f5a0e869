"""Gradients no longer than allowed: all together, or layer by layer."""

from typing import Any

import jax
import jax.numpy as jnp
import optax

from optax_chains._checks import NOT_NEGATIVE, POSITIVE, check_numbers
from optax_chains._norms import global_norm
from optax_chains._paths import path_of
from optax_chains._wide import wide


def clip_by_global(max_norm: float) -> optax.GradientTransformation:
    """Scales all updates down together so that their norm is at most `max_norm`.

    `optax.clip_by_global_norm` adds up the squares in the updates' own type: in
    bfloat16 the norm of a hundred like leaves comes out 5 per cent short, and in
    float16 a norm of 256 is infinite and clips everything to zero. Here it is float32.

    Args:
      max_norm: the largest norm that passes unchanged.

    Returns:
      A transformation without state.

    Raises:
      ValueError: if `max_norm` is not above 0; `math.inf` clips nothing.
      TypeError: if it is no number.

    Example:
      >>> import jax.numpy as jnp
      >>> clip = clip_by_global(1.0)
      >>> updates = {"a": jnp.float32(3), "b": jnp.float32(4)}
      >>> {k: float(u) for k, u in clip.update(updates, clip.init(None))[0].items()}
      {'a': 0.6, 'b': 0.8}

    References:
      Pascanu, Mikolov, Bengio, 2013, [On the difficulty of training Recurrent Neural
      Networks](https://arxiv.org/abs/1211.5063), algorithm 1.
    """
    check_numbers("clip_by_global", POSITIVE, max_norm=max_norm)

    def update(updates: Any, state: Any, params: Any = None) -> Any:
        del params
        return _shorten(updates, max_norm), state

    return optax.GradientTransformation(optax.init_empty_state, update)


def clip_by_layer(max_norm: float) -> optax.GradientTransformation:
    """Scales each layer's updates down so that the layer's norm is at most `max_norm`.

    A layer is the leaves that share all of their path but the last name: the `w` and
    `b` of a module. One exploding layer then leaves the others as they are.

    Args:
      max_norm: the largest norm of a layer that passes unchanged.

    Returns:
      A transformation without state.

    Raises:
      ValueError: if `max_norm` is not above 0; `math.inf` clips nothing.
      TypeError: if it is no number.

    Example:
      >>> import jax.numpy as jnp
      >>> clip = clip_by_layer(1.0)
      >>> updates = {"a": {"w": jnp.float32(5)}, "b": {"w": jnp.float32(0.5)}}
      >>> [float(u) for u in jax.tree.leaves(clip.update(updates, clip.init(None))[0])]
      [1.0, 0.5]

    References:
      McMahan et al., 2018, [Learning Differentially Private Recurrent Language
      Models](https://arxiv.org/abs/1710.06963), section 3.1, "per-layer clipping".
    """
    check_numbers("clip_by_layer", POSITIVE, max_norm=max_norm)

    def update(updates: Any, state: Any, params: Any = None) -> Any:
        del params
        leaves, treedef = jax.tree.flatten(updates)
        layers: dict[str, list[int]] = {}
        for i, (key_path, _) in enumerate(jax.tree.leaves_with_path(updates)):
            layers.setdefault(path_of(key_path[:-1]), []).append(i)
        for layer in layers.values():
            for i, leaf in zip(
                layer, _shorten([leaves[i] for i in layer], max_norm), strict=True
            ):
                leaves[i] = leaf
        return jax.tree.unflatten(treedef, leaves), state

    return optax.GradientTransformation(optax.init_empty_state, update)


def clip_adaptive(ratio: float, *, eps: float = 1e-3) -> optax.GradientTransformation:
    """Clips each unit's updates to a share of the norm of the unit's weights.

    A unit is what feeds one output: all axes but the last of a leaf, and the whole of
    a vector or scalar. The numbers are those of `optax.adaptive_grad_clip` for dense
    and convolutional layers; unlike it, this runs where mesh axes are explicit. The
    paper spares the last, linear layer: use `by_path` for that.

    Args:
      ratio: the largest norm of an update in units of the weights' norm: 0.01 for
        large batches, more for small ones.
      eps: the smallest norm that weights are taken to have, so that zeros can move.

    Returns:
      A transformation without state. Its update needs `params`.

    Raises:
      ValueError: if `ratio` is not above 0, `eps` is negative or not finite, or
        `update` gets no `params`.
      TypeError: if one of them is no number.

    Example:
      >>> import jax.numpy as jnp
      >>> clip = clip_adaptive(0.5)
      >>> weights, updates = jnp.array([[2.0, 4.0]]), jnp.array([[8.0, 1.0]])
      >>> clip.update(updates, clip.init(weights), weights)[0]
      Array([[1., 1.]], dtype=float32)

    References:
      Brock et al., 2021, [High-Performance Large-Scale Image Recognition Without
      Normalization](https://arxiv.org/abs/2102.06171), equation 3.
    """
    check_numbers("clip_adaptive", POSITIVE, ratio=ratio)
    check_numbers("clip_adaptive", NOT_NEGATIVE, eps=eps)

    def clip(u: jax.Array, p: jax.Array) -> jax.Array:
        max_norm = ratio * jnp.maximum(_unit_norms(p), eps)
        norm = _unit_norms(u)
        factor = jnp.where(norm <= max_norm, 1.0, max_norm / norm)
        return (u * factor).astype(u.dtype)

    def update(updates: Any, state: Any, params: Any = None) -> Any:
        if params is None:
            raise ValueError(
                "clip_adaptive: update got no params, whose norms it needs; type "
                "update(updates, state, params)"
            )
        return jax.tree.map(clip, updates, params), state

    return optax.GradientTransformation(optax.init_empty_state, update)


def _unit_norms(leaf: jax.Array) -> jax.Array:
    axes = tuple(range(max(leaf.ndim - 1, min(leaf.ndim, 1))))
    squares = jnp.square(wide(leaf))
    return jnp.sqrt(jnp.sum(squares, axes, keepdims=True))


def _shorten(updates: Any, max_norm: float) -> Any:
    norm = global_norm(updates)
    # Selecting keeps the bits of what is short enough; a product by 1.0 keeps them
    # too, but not those of infinities and NaNs, which must stay visible.
    factor = max_norm / jnp.maximum(norm, max_norm)
    return jax.tree.map(
        lambda u: jnp.where(norm <= max_norm, u, (u * factor).astype(u.dtype)), updates
    )

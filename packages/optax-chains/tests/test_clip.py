import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from optax_chains import clip_adaptive, clip_by_global, clip_by_layer


def clipped(clip, updates):
    return clip.update(updates, clip.init(updates))[0]


def layers():
    rng = np.random.default_rng(0)
    return {
        name: {"w": scale * rng.normal(size=(2, 3)), "b": scale * rng.normal(size=3)}
        for name, scale in {"a": 0.01, "b": 3.0, "c": 50.0}.items()
    }


def norm(tree):
    return np.sqrt(sum(np.sum(np.square(leaf)) for leaf in jax.tree.leaves(tree)))


@pytest.mark.parametrize("max_norm", [1.0, 1e4])
def test_the_global_norm_is_shared(max_norm):
    updates = layers()
    found = clipped(clip_by_global(max_norm), jax.tree.map(jnp.float32, updates))
    factor = min(1.0, max_norm / norm(updates))
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(updates), strict=True):
        np.testing.assert_allclose(a, factor * b, rtol=1e-5)


def test_each_layer_has_a_norm_of_its_own():
    updates = layers()
    found = clipped(clip_by_layer(1.0), jax.tree.map(jnp.float32, updates))
    for name, layer in updates.items():
        factor = min(1.0, 1.0 / norm(layer))
        for k, leaf in layer.items():
            np.testing.assert_allclose(found[name][k], factor * leaf, rtol=1e-5)
    np.testing.assert_array_equal(found["a"]["w"], np.float32(updates["a"]["w"]))


@pytest.mark.parametrize("clip", [clip_by_global, clip_by_layer])
def test_zeros_stay_and_large_float16_norms_are_not_infinite(clip):
    np.testing.assert_array_equal(clipped(clip(1.0), jnp.zeros(3)), np.zeros(3))
    found = clipped(clip(1.0), jnp.full(4, 300.0, jnp.float16))
    np.testing.assert_array_equal(found, np.full(4, 0.5))


@pytest.mark.parametrize("clip", [clip_by_global, clip_by_layer])
def test_what_is_not_finite_is_not_hidden(clip):
    found = clipped(clip(1.0), {"a": jnp.array([jnp.nan, 1.0])})
    assert not np.isfinite(np.asarray(found["a"])).all()


@pytest.mark.parametrize("shape", [(), (5,), (4, 3), (3, 3, 2, 4)])
def test_units_are_clipped_as_optax_does(shape):
    rng = np.random.default_rng(0)
    weights, updates = (jnp.float32(rng.normal(size=shape)) for _ in range(2))
    weights = weights.at[..., :1].multiply(0.0) if shape else weights
    for ratio in (0.1, 0.9, 10.0):
        ours, theirs = clip_adaptive(ratio), optax.adaptive_grad_clip(ratio)
        found, _ = ours.update(updates, ours.init(weights), weights)
        wanted, _ = theirs.update(updates, theirs.init(weights), weights)
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_adaptive_clipping_asks_for_parameters():
    clip = clip_adaptive(0.1)
    with pytest.raises(
        ValueError, match=r"no params.*type update\(updates, state, par"
    ):
        clip.update(jnp.ones(1), clip.init(None))

"""The recipe `reference` against the same GAN in plain Haiku and Optax.

The plain version is written here in full, in the shape of the published example: it
shares no code with what it checks.
"""

from pathlib import Path

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pyarrow.parquet as pq
import pytest

from chex_harness import assert_trees_close
from mnist_gan import _game
from mnist_gan._devices import place
from mnist_gan._recipes import RECIPES
from optax_chains import Players, own_gradients

BATCH, LATENTS, STEPS = 16, 20, 10
RECIPE = RECIPES["reference"]


class Generator(hk.Module):
    def __init__(self):
        super().__init__(name="reference_generator")

    def __call__(self, z):
        x = hk.Linear(7 * 7 * 64)(z)
        x = jnp.reshape(x, (-1, 7, 7, 64))
        x = jax.nn.relu(x)
        x = hk.Conv2DTranspose(32, kernel_shape=5, stride=2, padding="SAME")(x)
        x = jax.nn.relu(x)
        x = hk.Conv2DTranspose(1, kernel_shape=5, stride=2, padding="SAME")(x)
        return jnp.tanh(x)


class Discriminator(hk.Module):
    def __init__(self):
        super().__init__(name="reference_discriminator")

    def __call__(self, x):
        for channels, stride in ((8, 2), (16, 1), (32, 2), (64, 1), (128, 2)):
            x = hk.Conv2D(channels, kernel_shape=5, stride=stride, padding="SAME")(x)
            x = jax.nn.leaky_relu(x, 0.2)
        return hk.Linear(2)(hk.Flatten()(x))


# A module is made inside its transform, so these lambdas cannot be inlined.
gen = hk.without_apply_rng(
    hk.transform(lambda z: Generator()(z))  # noqa: PLW0108
)
disc = hk.without_apply_rng(
    hk.transform(lambda x: Discriminator()(x))  # noqa: PLW0108
)
adam = optax.adam(1e-4, b1=0.5, b2=0.9)


def plain_disc_loss(disc_params, gen_params, real, z):
    both = jnp.concatenate([real, gen.apply(gen_params, z)])
    logits = disc.apply(disc_params, both)
    real_logits, fake_logits = jnp.split(logits, 2)
    ones = jnp.ones(len(real), int)
    entropy = optax.softmax_cross_entropy_with_integer_labels
    return jnp.mean(entropy(real_logits, ones) + entropy(fake_logits, 0 * ones))


def plain_gen_loss(gen_params, disc_params, z):
    logits = disc.apply(disc_params, gen.apply(gen_params, z))
    return jnp.mean(-jax.nn.log_softmax(logits)[:, 1])


@jax.jit
def plain_step(state, images):
    gen_params, disc_params, gen_state, disc_state, key = state
    key, gen_key, disc_key = jax.random.split(key, 3)
    real = 2 * (images[..., None].astype(jnp.float32) / 255) - 1
    z = jax.random.normal(gen_key, (BATCH, LATENTS))
    gen_loss, gen_grads = jax.value_and_grad(plain_gen_loss)(gen_params, disc_params, z)
    z = jax.random.normal(disc_key, (BATCH, LATENTS))
    disc_loss, disc_grads = jax.value_and_grad(plain_disc_loss)(
        disc_params, gen_params, real, z
    )
    updates, gen_state = adam.update(gen_grads, gen_state)
    gen_params = optax.apply_updates(gen_params, updates)
    updates, disc_state = adam.update(disc_grads, disc_state)
    disc_params = optax.apply_updates(disc_params, updates)
    state = gen_params, disc_params, gen_state, disc_state, key
    return state, (gen_loss, disc_loss), (gen_grads, disc_grads)


@pytest.fixture(scope="module")
def batches(shipped):
    import io

    from PIL import Image

    rows = shipped["image"].slice(0, BATCH * STEPS).to_pylist()
    pixels = [np.asarray(Image.open(io.BytesIO(row["bytes"]))) for row in rows]
    return np.stack(pixels).reshape(STEPS, BATCH, 28, 28)


def test_the_parameters_are_as_many_as_published():
    params = jax.eval_shape(lambda: _game.init(RECIPE, 0)).params
    count = [hk.data_structures.tree_size(p) for p in params]
    assert count == [117_889, 276_546]


def test_the_first_parameters_are_those_of_the_plain_networks():
    gen_key, disc_key, _ = jax.random.split(jax.random.key(3), 3)
    plain = Players(
        gen.init(gen_key, jnp.zeros((BATCH, LATENTS))),
        disc.init(disc_key, jnp.zeros((BATCH, 28, 28, 1))),
    )
    assert_trees_close(_game.init(RECIPE, 3).params, plain, rtol=0)


def test_losses_and_gradients_follow_the_plain_version_over_ten_steps(batches):
    state = _game.init(RECIPE, 3)
    placement = place(1)
    update = jax.jit(_game.update(RECIPE, placement.mesh))
    gradients = jax.jit(gradients_at)
    (gen_params, disc_params), key = state.params, state.key
    plain = gen_params, disc_params, adam.init(gen_params), adam.init(disc_params), key
    for images in batches:
        ours = gradients(state, images)
        state, losses = update(state, [images])
        plain, plain_losses, plain_grads = plain_step(plain, images)
        np.testing.assert_allclose(losses.gen[0], plain_losses[0], rtol=2e-5)
        np.testing.assert_allclose(losses.disc[0], plain_losses[1], rtol=2e-5)
        for found, wanted in zip(ours, plain_grads, strict=True):
            scale = max(float(jnp.abs(g).max()) for g in jax.tree.leaves(wanted))
            assert_trees_close(found, wanted, rtol=1e-3, atol=2e-5 * scale)
    assert int(state.step) == STEPS


def gradients_at(state, images):
    """The gradients that the next update will use."""
    nets = _game.networks(RECIPE)
    _, gen_key, disc_key = jax.random.split(state.key, 3)
    shape = (len(images), RECIPE.latents)
    batch = _game.Batch(
        _game.scale(images),
        jax.random.normal(gen_key, shape),
        jax.random.normal(disc_key, shape),
    )
    both = own_gradients(_game.losses_of(RECIPE, nets))
    return both.gen(state.params, batch)[1], both.disc(state.params, batch)[1]


def test_several_steps_a_dispatch_are_the_same_steps(batches):
    state = _game.init(RECIPE, 3)
    update = jax.jit(_game.update(RECIPE, place(1).mesh))
    at_once, losses_at_once = update(state, list(batches[:3]))
    losses = []
    for images in batches[:3]:
        state, loss = update(state, [images])
        losses.append(loss)
    one_by_one = jax.tree.map(lambda *x: jnp.concatenate(x), *losses)
    assert_trees_close(losses_at_once, one_by_one, rtol=1e-5)
    assert_trees_close(at_once.params, state.params, rtol=1e-3, atol=1e-6)
    assert_trees_close(at_once.key, state.key)


def test_published_losses_are_as_the_readme_tells_them():
    """Flat from 3,000 on for all seeds, high before for two of three."""
    runs = Path(__file__).parents[1] / "published"
    gen, disc = (
        np.array(
            [
                pq.read_table(run / "metrics.parquet")[name].to_numpy()
                for run in sorted(runs.glob("reference-*"))
            ]
        ).reshape(3, 10, 500)
        for name in ("gen_loss", "disc_loss")
    )
    gen, disc = gen.mean(-1), disc.mean(-1)
    assert np.abs(gen[:, 6:] - 2.1).max() < 0.3
    assert np.abs(disc[:, 6:] - 0.62).max() < 0.075
    early = gen[:, 1:3]
    np.testing.assert_allclose(early[0], [2.0, 2.6], atol=0.05)
    assert 4.3 < early[1:].min() < early[1:].max() < 4.75

"""The game of a recipe: networks, state, and one jitted step.

Pure functions and one NamedTuple. Where the arrays live is `_devices`' business; here
they are only told to be spread over the batch.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import haiku as hk
import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec

from mnist_gan._recipes import Recipe
from optax_chains import Players, own_gradients, two_player

IMAGE_SHAPE = (28, 28)


class Networks(NamedTuple):
    """The two networks as pure functions.

    Attributes:
      gen: `apply(params, latents[b, n]) -> images[b, 28, 28, 1]` in [-1, 1].
      disc: `apply(params, images[b, 28, 28, 1]) -> logits[b, 2]`.
    """

    gen: hk.Transformed
    disc: hk.Transformed


class TrainState(NamedTuple):
    """All that a run carries from step to step, except the loader's position.

    Attributes:
      params: both players' parameters.
      opt_state: both players' optimizer states.
      key: the key that the next step splits.
      step: int32[], the number of steps taken.
    """

    params: Players
    opt_state: Players
    key: jax.Array
    step: jax.Array


class Batch(NamedTuple):
    """What one step sees.

    Attributes:
      real: float32[b, 28, 28, 1] in [-1, 1].
      gen_latents: float32[b, n], for the generator's move.
      disc_latents: float32[b, n], for the discriminator's.
    """

    real: jax.Array
    gen_latents: jax.Array
    disc_latents: jax.Array


def networks(recipe: Recipe) -> Networks:
    """Transforms the recipe's modules into pure functions."""

    def generate(latents: jax.Array) -> jax.Array:
        return recipe.generator()(latents)

    def discriminate(images: jax.Array) -> jax.Array:
        return recipe.discriminator()(images)

    return Networks(
        hk.without_apply_rng(hk.transform(generate)),
        hk.without_apply_rng(hk.transform(discriminate)),
    )


def init(recipe: Recipe, seed: jax.Array | int) -> TrainState:
    """Makes the state at step 0, a function of the seed alone."""
    nets = networks(recipe)
    gen_key, disc_key, key = jax.random.split(jax.random.key(seed), 3)
    params = Players(
        gen=nets.gen.init(gen_key, jnp.zeros((1, recipe.latents))),
        disc=nets.disc.init(disc_key, jnp.zeros((1, *IMAGE_SHAPE, 1))),
    )
    opt_state = two_player(recipe.chains, recipe.chains).init(params)
    return TrainState(params, opt_state, key, jnp.int32(0))


def update(
    recipe: Recipe, mesh: jax.sharding.Mesh
) -> Callable[[TrainState, Sequence[jax.Array]], tuple[TrainState, Players]]:
    """Makes the function that takes one step for each batch it is given.

    Args:
      recipe: what to train.
      mesh: devices along the axis `data`.

    Returns:
      `(state, images) -> (state, losses)` to be jitted with the state donated: `images`
      is a list of uint8[b, 28, 28], `losses` has float32[len(images)] a player.
    """
    nets = networks(recipe)
    game = two_player(recipe.chains, own_gradients(_losses(recipe, nets)))
    spread = NamedSharding(mesh, PartitionSpec("data"))

    def latents(key: jax.Array, images: jax.Array) -> jax.Array:
        z = jax.random.normal(key, (images.shape[0], recipe.latents))
        # Left alone, each device would draw the whole batch's and make all its images.
        return jax.lax.with_sharding_constraint(z, spread)

    def step(state: TrainState, images: jax.Array) -> tuple[TrainState, Players]:
        key, gen_key, disc_key = jax.random.split(state.key, 3)
        batch = Batch(
            scale(images), latents(gen_key, images), latents(disc_key, images)
        )
        params, opt_state, losses = game.update(state.params, state.opt_state, batch)
        return TrainState(params, opt_state, key, state.step + 1), losses

    def steps(
        state: TrainState, images: Sequence[jax.Array]
    ) -> tuple[TrainState, Players]:
        if len(images) == 1:  # a loop of one would keep XLA from fusing as well
            state, losses = step(state, images[0])
            return state, jax.tree.map(lambda loss: loss[None], losses)
        return jax.lax.scan(step, state, jnp.stack(images))

    return steps


def _losses(recipe: Recipe, nets: Networks) -> Players:
    """Gives the recipe's losses the players' networks."""

    def gen_loss(params: Players, batch: Batch) -> jax.Array:
        fake = nets.gen.apply(params.gen, batch.gen_latents)
        return recipe.losses.gen(nets.disc.apply(params.disc, fake))

    def disc_loss(params: Players, batch: Batch) -> jax.Array:
        fake = nets.gen.apply(params.gen, batch.disc_latents)
        # One pass over both. Interleaved, since putting one after the other would
        # move half of a batch that is spread over devices to other devices.
        both = jnp.stack([batch.real, fake], 1).reshape(-1, *fake.shape[1:])
        logits = nets.disc.apply(params.disc, both)
        logits = logits.reshape(-1, 2, *logits.shape[1:])
        return recipe.losses.disc(logits[:, 0], logits[:, 1])

    return Players(gen_loss, disc_loss)


def scale(images: jax.Array) -> jax.Array:
    """uint8[b, 28, 28] in 0 to 255 -> float32[b, 28, 28, 1] in [-1, 1]."""
    return images[..., None].astype(jnp.float32) / 127.5 - 1


def sample(recipe: Recipe, gen_params: Any, key: jax.Array, n: int) -> jax.Array:
    """Draws digits: uint8[n, 28, 28]."""
    z = jax.random.normal(key, (n, recipe.latents))
    images = networks(recipe).gen.apply(gen_params, z)[..., 0]
    return jnp.round((images + 1) * 127.5).clip(0, 255).astype(jnp.uint8)

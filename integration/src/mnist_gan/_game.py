"""The game of a recipe: networks, state, and one jitted step.

Pure functions and one NamedTuple. Where the arrays live is `_devices`' business; here
they are only told to be spread over the batch.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import haiku as hk
import jax
import jax.numpy as jnp
import optax
from jax.sharding import NamedSharding, PartitionSpec

from mnist_gan._batches import Drawn
from mnist_gan._blocks import in_blocks
from mnist_gan._losses import Penalty, gradient_penalty
from mnist_gan._private import Privacy, private_gradient
from mnist_gan._recipes import Recipe
from optax_chains import Players, TwoPlayer, lazy, own_gradients, two_player

IMAGE_SHAPE = (28, 28)


class Networks(NamedTuple):
    """The two networks as pure functions.

    Attributes:
      gen: `apply(params, latents[b, n]) -> images[b, 28, 28, 1]` in [-1, 1].
      disc: `apply(params, images[b, 28, 28, 1]) -> logits[b, k]`.
    """

    gen: hk.Transformed
    disc: hk.Transformed


class TrainState(NamedTuple):
    """All that a run carries from step to step, except the loader's position.

    Attributes:
      params: both players' parameters.
      opt_state: both players' optimizer states.
      average: the generator's parameters, averaged as the recipe says; samples are
        drawn from it.
      key: the key that the next step splits.
      step: int32[], the number of steps taken.
    """

    params: Players
    opt_state: Players
    average: Any
    key: jax.Array
    step: jax.Array


class Batch(NamedTuple):
    """What one step sees.

    Attributes:
      real: float32[b, 28, 28, 1] in [-1, 1].
      gen_latents: float32[b, n], for the generator's move.
      disc_latents: float32[b, n], for the discriminator's.
      noise_key: of a private recipe's noise.
      valid: bool[b], where rows are padding; None if none are.
    """

    real: jax.Array
    gen_latents: jax.Array
    disc_latents: jax.Array
    noise_key: jax.Array | None = None
    valid: jax.Array | None = None


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
    latents = jnp.zeros((1, recipe.latents))
    gen_params = nets.gen.init(gen_key, latents)
    made = jax.eval_shape(nets.gen.apply, gen_params, latents)
    disc_params = nets.disc.init(disc_key, jnp.zeros(made.shape))
    params = Players(gen_params, disc_params)
    opt_state = game_of(recipe).init(params)
    average = jax.tree.map(jnp.copy, params.gen)  # donated beside what it copies
    return TrainState(params, opt_state, average, key, jnp.int32(0))


def update(
    recipe: Recipe, mesh: jax.sharding.Mesh
) -> Callable[[TrainState, Sequence[Any]], tuple[TrainState, Players]]:
    """Makes the function that takes one step for each batch it is given.

    Args:
      recipe: what to train.
      mesh: devices along the axis `data`.

    Returns:
      `(state, images) -> (state, losses)` to be jitted with the state donated: `images`
      is a list of uint8[b, 28, 28], or of `Drawn`, and `losses` has
      float32[len(images)] a player.
    """
    game = game_of(recipe, mesh)
    spread = NamedSharding(mesh, PartitionSpec("data"))

    def latents(key: jax.Array, images: jax.Array) -> jax.Array:
        z = jax.random.normal(key, (images.shape[0], recipe.latents))
        # Left alone, each device would draw the whole batch's and make all its images.
        return jax.lax.with_sharding_constraint(z, spread)

    def step(state: TrainState, seen: Any) -> tuple[TrainState, Players]:
        images, valid = seen if isinstance(seen, Drawn) else (seen, None)
        keys = jax.random.split(state.key, 4 if recipe.privacy else 3)
        key, gen_key, disc_key = keys[:3]
        noise_key = keys[3] if recipe.privacy else None
        gen_latents = latents(gen_key, images)
        disc_latents = gen_latents if recipe.paired else latents(disc_key, images)
        real = scale(images)
        batch = Batch(real, gen_latents, disc_latents, noise_key, valid)
        params, opt_state, losses = game.update(state.params, state.opt_state, batch)
        average = optax.incremental_update(
            params.gen, state.average, 1 - _decay(recipe, state.step)
        )
        return TrainState(params, opt_state, average, key, state.step + 1), losses

    def steps(state: TrainState, images: Sequence[Any]) -> tuple[TrainState, Players]:
        if len(images) == 1:  # a loop of one would keep XLA from fusing as well
            state, losses = step(state, images[0])
            return state, jax.tree.map(lambda loss: loss[None], losses)
        return jax.lax.scan(step, state, jax.tree.map(lambda *x: jnp.stack(x), *images))

    return steps


def _decay(recipe: Recipe, step: jax.Array) -> jax.Array:
    """How much of the average stays; little at first, so that it forgets the start."""
    return jnp.minimum(recipe.average, (1 + step) / (10 + step))


def game_of(recipe: Recipe, mesh: jax.sharding.Mesh | None = None) -> TwoPlayer:
    """Makes the recipe's game: both players' gradients, penalties and chains.

    Args:
      recipe: what to train.
      mesh: devices for the recipe's blocks; None to have the batch in one piece.
    """

    def own(losses: Players) -> Players:
        made = own_gradients(losses)
        if mesh is None or not recipe.blocks:
            return made
        return Players(*(g and in_blocks(g, recipe.blocks, mesh) for g in made))

    nets = networks(recipe)
    gradients = own(losses_of(recipe, nets))
    if recipe.privacy:
        gradients = gradients._replace(disc=_private(recipe, recipe.privacy, nets))
    if recipe.penalty is None:
        return two_player(recipe.chains, gradients)
    return lazy(
        two_player,
        recipe.chains,
        gradients,
        penalties=own(Players(None, _penalty(recipe.penalty, nets))),
        every=recipe.penalty.every,
    )


def losses_of(recipe: Recipe, nets: Networks) -> Players:
    """Gives the recipe's losses the players' networks."""

    def judge(params: Players, real: jax.Array, fake: jax.Array) -> list[jax.Array]:
        # One pass over both. Interleaved, since putting one after the other would
        # move half of a batch that is spread over devices to other devices.
        both = jnp.stack([real, fake], 1).reshape(-1, *fake.shape[1:])
        logits = nets.disc.apply(params.disc, both)
        logits = logits.reshape(-1, 2, *logits.shape[1:])
        return [logits[:, 0], logits[:, 1]]

    def gen_loss(params: Players, batch: Batch) -> jax.Array:
        fake = nets.gen.apply(params.gen, batch.gen_latents)
        if recipe.paired:  # the discriminator's own pass, which XLA computes once
            return recipe.losses.gen(*judge(params, batch.real, fake))
        logits = nets.disc.apply(params.disc, fake)
        return recipe.losses.gen(logits, logits)

    def disc_loss(params: Players, batch: Batch) -> jax.Array:
        fake = nets.gen.apply(params.gen, batch.disc_latents)
        return recipe.losses.disc(*judge(params, batch.real, fake))

    return Players(gen_loss, disc_loss)


def _private(
    recipe: Recipe, privacy: Privacy, nets: Networks
) -> Callable[[Players, Batch], tuple[jax.Array, Any]]:
    gradient = private_gradient(
        privacy, nets.disc.apply, recipe.losses.disc, batch_size=recipe.batch_size
    )

    def of_batch(params: Players, batch: Batch) -> tuple[jax.Array, Any]:
        fake = nets.gen.apply(params.gen, batch.disc_latents)
        pairs = batch.real, fake
        return gradient(params.disc, pairs, batch.noise_key, valid=batch.valid)

    return of_batch


def _penalty(rule: Penalty, nets: Networks) -> Callable[..., jax.Array]:
    def penalty(params: Players, batch: Batch) -> jax.Array:
        def logits(images: jax.Array) -> jax.Array:
            return nets.disc.apply(params.disc, images)

        total = gradient_penalty(logits, batch.real)
        if rule.fake:
            fake = nets.gen.apply(params.gen, batch.disc_latents)
            total += gradient_penalty(logits, fake)
        return rule.gamma * total

    return penalty


def scale(images: jax.Array) -> jax.Array:
    """Bytes to [-1, 1]: uint8[b, 28, 28] or [b, 28, 28, c] -> float32[b, 28, 28, c]."""
    if images.ndim == 3:
        images = images[..., None]
    return images.astype(jnp.float32) / 127.5 - 1


def sample(recipe: Recipe, gen_params: Any, key: jax.Array, n: int) -> jax.Array:
    """Draws digits: uint8[n, 28, 28]."""
    z = jax.random.normal(key, (n, recipe.latents))
    return render(recipe, gen_params, z)


def render(recipe: Recipe, gen_params: Any, latents: jax.Array) -> jax.Array:
    """Makes digits from latents float32[n, k]: uint8[n, 28, 28], or [n, 28, 28, c]."""
    images = networks(recipe).gen.apply(gen_params, latents)
    if images.shape[-1] == 1:
        images = images[..., 0]
    return jnp.round((images + 1) * 127.5).clip(0, 255).astype(jnp.uint8)

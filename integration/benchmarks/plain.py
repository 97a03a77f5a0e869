"""The reference GAN as people write it: plain Haiku and Optax, nothing of ours.

It is what the recipe `reference` is measured against, and shares no code with it.
"""

from typing import NamedTuple

import haiku as hk
import jax
import jax.numpy as jnp
import optax


class Generator(hk.Module):
    """Latents [batch, 20] to images [batch, 28, 28, 1]."""

    def __init__(self) -> None:
        super().__init__(name="reference_generator")

    def __call__(self, z: jax.Array) -> jax.Array:
        """Makes images."""
        x = jax.nn.relu(hk.Linear(7 * 7 * 64)(z).reshape(-1, 7, 7, 64))
        x = jax.nn.relu(hk.Conv2DTranspose(32, kernel_shape=5, stride=2)(x))
        return jnp.tanh(hk.Conv2DTranspose(1, kernel_shape=5, stride=2)(x))


class Discriminator(hk.Module):
    """Images [batch, 28, 28, 1] to logits [batch, 2]."""

    def __init__(self) -> None:
        super().__init__(name="reference_discriminator")

    def __call__(self, x: jax.Array) -> jax.Array:
        """Judges images."""
        for channels, stride in ((8, 2), (16, 1), (32, 2), (64, 1), (128, 2)):
            x = hk.Conv2D(channels, kernel_shape=5, stride=stride)(x)
            x = jax.nn.leaky_relu(x, 0.2)
        return hk.Linear(2)(hk.Flatten()(x))


class State(NamedTuple):
    """Parameters, optimizer states and the key."""

    gen_params: hk.Params
    disc_params: hk.Params
    gen_state: optax.OptState
    disc_state: optax.OptState
    key: jax.Array


def _generate(z: jax.Array) -> jax.Array:
    return Generator()(z)


def _discriminate(x: jax.Array) -> jax.Array:
    return Discriminator()(x)


_gen = hk.without_apply_rng(hk.transform(_generate))
_disc = hk.without_apply_rng(hk.transform(_discriminate))
_adam = optax.adam(1e-4, b1=0.5, b2=0.9)


def init(seed: int) -> State:
    """Makes the state at step 0."""
    gen_key, disc_key, key = jax.random.split(jax.random.key(seed), 3)
    gen_params = _gen.init(gen_key, jnp.zeros((1, 20)))
    disc_params = _disc.init(disc_key, jnp.zeros((1, 28, 28, 1)))
    states = _adam.init(gen_params), _adam.init(disc_params)
    return State(gen_params, disc_params, *states, key)


def _gen_loss(gen_params: hk.Params, disc_params: hk.Params, z: jax.Array) -> jax.Array:
    logits = _disc.apply(disc_params, _gen.apply(gen_params, z))
    return -jnp.mean(jax.nn.log_softmax(logits)[:, 1])


def _disc_loss(
    disc_params: hk.Params, gen_params: hk.Params, real: jax.Array, z: jax.Array
) -> jax.Array:
    both = jnp.concatenate([real, _gen.apply(gen_params, z)])
    real_logits, fake_logits = jnp.split(
        jax.nn.log_softmax(_disc.apply(disc_params, both)), 2
    )
    return -jnp.mean(real_logits[:, 1] + fake_logits[:, 0])


@jax.jit
def update(state: State, images: jax.Array) -> tuple[State, jax.Array]:
    """Takes a step on uint8[batch, 28, 28]; returns [generator, discriminator] loss."""
    key, gen_key, disc_key = jax.random.split(state.key, 3)
    real = images[..., None].astype(jnp.float32) / 127.5 - 1
    z = jax.random.normal(gen_key, (len(images), 20))
    gen_loss, gen_grads = jax.value_and_grad(_gen_loss)(
        state.gen_params, state.disc_params, z
    )
    z = jax.random.normal(disc_key, (len(images), 20))
    disc_loss, disc_grads = jax.value_and_grad(_disc_loss)(
        state.disc_params, state.gen_params, real, z
    )
    gen_updates, gen_state = _adam.update(gen_grads, state.gen_state)
    disc_updates, disc_state = _adam.update(disc_grads, state.disc_state)
    gen_params = optax.apply_updates(state.gen_params, gen_updates)
    disc_params = optax.apply_updates(state.disc_params, disc_updates)
    after = State(gen_params, disc_params, gen_state, disc_state, key)
    return after, jnp.stack([gen_loss, disc_loss])

"""The game min_x max_y x y as a recurrence of complex numbers, z = x + i y."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from optax_chains import Players, own_gradients


def price(params):
    return params.gen * params.disc


GRADIENTS = own_gradients(Players(gen=price, disc=lambda params: -price(params)))


def chains(a):
    return Players(optax.sgd(a), optax.sgd(a))


def play(game, steps, *args):
    """z after each step from z = 1 on."""

    def step(carry, _):
        params, state, _ = game.update(*carry, *args)
        return (params, state), params

    params = Players(jnp.float32(1), jnp.float32(0))
    carry = (params, game.init(params))
    _, seen = jax.lax.scan(step, carry, length=steps)
    return np.asarray(seen.gen) + 1j * np.asarray(seen.disc)

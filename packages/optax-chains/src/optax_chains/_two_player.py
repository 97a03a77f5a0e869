"""Both players move at once, each from where the other was."""

from typing import Any

from optax_chains._moves import check_game, check_players, init_both, move_both
from optax_chains._players import Players, TwoPlayer


def two_player(chains: Players, gradients: Players) -> TwoPlayer:
    """Simultaneous updates of a generator and a discriminator.

    Both gradients are taken at the old parameters, then both players move. This is
    gradient descent on each player's own loss, and what the DCGAN-style loops written
    by hand do when they are not careful to alternate.

    Args:
      chains: an `optax.GradientTransformation` for each player.
      gradients: for each player a function `(params: Players, *args) -> (value,
        gradients)`, the gradients shaped like that player's parameters;
        `own_gradients` makes them from losses.

    Returns:
      The game. `update(params, state, *args)` hands `args` to both gradient functions
      and returns the new parameters, the new state and the two values.

    Raises:
      TypeError: if `chains`, `gradients` or the parameters are not `Players`, or a
        chain is none.

    Example:
      >>> import jax.numpy as jnp, optax
      >>> from optax_chains import own_gradients
      >>> price = lambda params: params.gen * params.disc
      >>> gradients = own_gradients(Players(gen=price, disc=lambda p: -price(p)))
      >>> game = two_player(Players(optax.sgd(0.1), optax.sgd(0.1)), gradients)
      >>> params = Players(gen=jnp.float32(1), disc=jnp.float32(0))
      >>> params, state, values = game.update(params, game.init(params))
      >>> float(params.gen), round(float(params.disc), 3)  # from the same old point
      (1.0, 0.1)

    References:
      Goodfellow et al., 2014, [Generative Adversarial
      Networks](https://arxiv.org/abs/1406.2661), for the game; Mescheder, Nowozin,
      Geiger, 2017, [The Numerics of GANs](https://arxiv.org/abs/1705.10461), section
      2, for simultaneous gradient descent.
    """
    check_game("two_player", chains, gradients)

    def init(params: Players) -> Players:
        return init_both("two_player", chains, params)

    def update(
        params: Players, state: Players, *args: Any
    ) -> tuple[Players, Players, Players]:
        check_players("two_player", params=params)
        return move_both(chains, gradients, params, state, *args, at=params)

    return TwoPlayer(init, update)

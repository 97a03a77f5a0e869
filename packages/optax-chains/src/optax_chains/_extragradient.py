"""Looking one step ahead, with a second gradient or with the last one."""

from typing import Any

import optax

from optax_chains._moves import check_game, check_players, init_both, move_both
from optax_chains._players import Players, TwoPlayer
from optax_chains._two_player import two_player


def extragradient(chains: Players, gradients: Players) -> TwoPlayer:
    """Both players step ahead, and move by the gradients they find there.

    Converges on bilinear games, where simultaneous steps diverge, at the price of two
    gradients a move. The step ahead uses the chains as they are and leaves no trace in
    their states: schedules, moments and averages count moves.

    Args:
      chains: an `optax.GradientTransformation` for each player.
      gradients: for each player a function `(params: Players, *args) -> (value,
        gradients)`; `own_gradients` makes them from losses. Both calls of a move get
        the same arguments.

    Returns:
      The game. The values are those at the step ahead.

    Raises:
      TypeError: if `chains`, `gradients` or the parameters are not `Players`, or a
        chain is none.

    Example:
      >>> import jax.numpy as jnp, optax
      >>> from optax_chains import own_gradients
      >>> price = lambda params: params.gen * params.disc
      >>> gradients = own_gradients(Players(gen=price, disc=lambda p: -price(p)))
      >>> game = extragradient(Players(optax.sgd(0.1), optax.sgd(0.1)), gradients)
      >>> params = Players(gen=jnp.float32(1), disc=jnp.float32(0))
      >>> params, state, values = game.update(params, game.init(params))
      >>> round(float(params.gen), 3), round(float(params.disc), 3)
      (0.99, 0.1)

    References:
      Korpelevich, 1976, The extragradient method for finding saddle points and other
      problems; Gidel et al., 2019, [A Variational Inequality Perspective on
      GANs](https://arxiv.org/abs/1802.10551), section 3.1; its algorithm 4 differs in
      that the step ahead enters Adam's moments too.
    """
    check_game("extragradient", chains, gradients)

    def init(params: Players) -> Players:
        return init_both("extragradient", chains, params)

    def update(
        params: Players, state: Players, *args: Any
    ) -> tuple[Players, Players, Players]:
        check_players("extragradient", params=params)
        ahead, _, _ = move_both(chains, gradients, params, state, *args, at=params)
        return move_both(chains, gradients, params, state, *args, at=ahead)

    return TwoPlayer(init, update)


def optimistic(chains: Players, gradients: Players) -> TwoPlayer:
    """Simultaneous updates that expect the other player to go on as it did.

    Each chain's update u_t becomes 2 u_t - u_{t-1}: as good as `extragradient` on
    bilinear games to first order, for one gradient a move and one more tree of state.
    With Adam in the chains this is Optimistic Adam.

    Args:
      chains: an `optax.GradientTransformation` for each player. What has to see the
        parameters that are really reached, as `with_ema` does, is not for these
        chains.
      gradients: for each player a function `(params: Players, *args) -> (value,
        gradients)`; `own_gradients` makes them from losses.

    Returns:
      The game.

    Raises:
      TypeError: if `chains`, `gradients` or the parameters are not `Players`, or a
        chain is none.

    Example:
      >>> import jax.numpy as jnp, optax
      >>> from optax_chains import own_gradients
      >>> price = lambda params: params.gen * params.disc
      >>> gradients = own_gradients(Players(gen=price, disc=lambda p: -price(p)))
      >>> game = optimistic(Players(optax.sgd(0.1), optax.sgd(0.1)), gradients)
      >>> params = Players(gen=jnp.float32(1), disc=jnp.float32(0))
      >>> state = game.init(params)
      >>> for _ in range(500):
      ...     params, state, values = game.update(params, state)
      >>> abs(float(params.gen)) + abs(float(params.disc)) < 0.1
      True

    References:
      Daskalakis et al., 2018, [Training GANs with
      Optimism](https://arxiv.org/abs/1711.00141), equation 6 and algorithm 1.
    """
    check_game("optimistic", chains, gradients)
    # optax takes the first u_{t-1} to be u_t.
    ahead = [optax.chain(c, optax.scale_by_optimistic_gradient()) for c in chains]
    return two_player(Players(*ahead), gradients)

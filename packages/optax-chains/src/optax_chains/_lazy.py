"""Regularisers that cost much and need not be paid at every step."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from optax_chains._checks import check_counts
from optax_chains._count import next_count
from optax_chains._moves import check_players
from optax_chains._players import Players, TwoPlayer


class LazyState(NamedTuple):
    """State of `lazy`.

    Attributes:
      game_state: the state of the game inside.
      count: int32[], the moves since the regularisers were last due, that one
        included.
    """

    game_state: Any
    count: jax.Array


def lazy(
    make: Callable[[Players, Players], TwoPlayer],
    chains: Players,
    gradients: Players,
    *,
    penalties: Players,
    every: int = 16,
) -> TwoPlayer:
    """Adds regularisers to a game's gradients, each `every` moves, times `every`.

    Gradient penalties (R1, R2, path length) differentiate twice and cost as much as
    the loss itself, but change slowly. On the moves between, a conditional leaves
    them out and they are not computed; under `jax.vmap` it turns into a selection and
    they are. The first move is one with them.

    Args:
      make: the game, as `two_player` or `alternating`; `functools.partial` for one
        with options.
      chains: an `optax.GradientTransformation` for each player.
      gradients: the gradient functions of the losses, `(params: Players, *args) ->
        (value, gradients)`.
      penalties: the same of the regularisers, None for a player without;
        `own_gradients` makes them from losses.
      every: moves from one with regularisers to the next.

    Returns:
      The game, with a `LazyState`. Its values are those of the losses.

    Raises:
      TypeError: if `penalties` is not a `Players`, or `every` no whole number.
      ValueError: if `every` is below 1.

    Example:
      >>> import jax.numpy as jnp, optax
      >>> from optax_chains import own_gradients, two_player
      >>> gradients = own_gradients(Players(lambda p: 0 * p.gen, lambda p: p.disc))
      >>> penalties = own_gradients(Players(None, lambda p: p.disc))
      >>> chains = Players(optax.sgd(1.0), optax.sgd(1.0))
      >>> game = lazy(two_player, chains, gradients, penalties=penalties, every=4)
      >>> params = Players(jnp.float32(0), jnp.float32(0))
      >>> state = game.init(params)
      >>> for _ in range(4):
      ...     params, state, values = game.update(params, state)
      >>> float(params.disc)  # four times the loss, and once four penalties
      -8.0

    References:
      Karras et al., 2020, [Analyzing and Improving the Image Quality of
      StyleGAN](https://arxiv.org/abs/1912.04958), appendix B, "lazy regularization";
      its change of Adam's settings by the factor every / (every + 1) is left to the
      chains.
    """
    check_players("lazy", penalties=penalties)
    check_counts("lazy", traced=True, every=every)

    def with_penalty(player: str, due: jax.Array) -> Callable[..., tuple[Any, Any]]:
        main, penalty = getattr(gradients, player), getattr(penalties, player)
        if penalty is None:
            return main

        def value_and_grads(params: Players, *args: Any) -> tuple[Any, Any]:
            value, grads = main(params, *args)

            def added(grads: Any) -> Any:
                more = penalty(params, *args)[1]
                return jax.tree.map(
                    lambda g, m: g + (every * m).astype(g.dtype), grads, more
                )

            return value, jax.lax.cond(due, added, lambda grads: grads, grads)

        return value_and_grads

    def init(params: Players) -> LazyState:
        game_state = make(chains, gradients).init(params)
        return LazyState(game_state, jnp.zeros((), jnp.int32))

    def update(
        params: Players, state: Any, *args: Any
    ) -> tuple[Players, LazyState, Players]:
        due = state.count == 0
        regularised = Players(with_penalty("gen", due), with_penalty("disc", due))
        game = make(chains, regularised)
        params, game_state, values = game.update(params, state.game_state, *args)
        count = next_count(state.count) % every
        return params, LazyState(game_state, count), values

    return TwoPlayer(init, update)

"""Steps ahead with the players of any game, then a step back for both."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from optax_chains._checks import SHARE, check_counts, check_numbers
from optax_chains._count import next_count
from optax_chains._players import Players, TwoPlayer


class LookaheadState(NamedTuple):
    """State of `lookahead`.

    Attributes:
      game_state: the state of the game inside.
      slow: both players' slow parameters.
      count: int32[], the moves since both were pulled back.
    """

    game_state: Any
    slow: Players
    count: jax.Array


def lookahead(game: TwoPlayer, *, every: int = 6, step: float = 0.5) -> TwoPlayer:
    """Pulls both players of a game back towards where they were `every` moves ago.

    Every `every` moves, the slow parameters go the share `step` of the way to the
    fast ones, and the fast ones are put there. Averaging along the circle that the
    players run in brings them to its middle. Both are pulled back together:
    `optax.lookahead` on each chain would need parameters in pairs. Sample from
    `state.slow`.

    Args:
      game: any of this package's, or your own.
      every: moves between two pulls.
      step: the share of the way that is kept.

    Returns:
      The game, with a `LookaheadState`.

    Raises:
      ValueError: if `every` is below 1, or `step` is not above 0 and at most 1.
      TypeError: if `every` is no whole number, or `step` no number.

    Example:
      >>> import jax.numpy as jnp, optax
      >>> from optax_chains import own_gradients, two_player
      >>> price = lambda params: params.gen * params.disc
      >>> gradients = own_gradients(Players(gen=price, disc=lambda p: -price(p)))
      >>> game = two_player(Players(optax.sgd(0.1), optax.sgd(0.1)), gradients)
      >>> game = lookahead(game, every=2, step=0.5)
      >>> params = Players(gen=jnp.float32(1), disc=jnp.float32(0))
      >>> state = game.init(params)
      >>> for _ in range(2):
      ...     params, state, values = game.update(params, state)
      >>> round(float(params.gen), 3), round(float(params.disc), 3)
      (0.995, 0.1)

    References:
      Chavdarova et al., 2021, [Taming GANs with
      Lookahead-Minmax](https://arxiv.org/abs/2006.14567), algorithm 1; Zhang et al.,
      2019, [Lookahead Optimizer](https://arxiv.org/abs/1907.08610).
    """
    check_counts("lookahead", traced=True, every=every)
    check_numbers("lookahead", SHARE, step=step)

    def init(params: Players) -> LookaheadState:
        slow = jax.tree.map(jnp.copy, params)  # so that both may be donated
        return LookaheadState(game.init(params), slow, jnp.zeros((), jnp.int32))

    def update(
        params: Players, state: Any, *args: Any
    ) -> tuple[Players, LookaheadState, Players]:
        fast, game_state, values = game.update(params, state.game_state, *args)
        due = state.count + 1 == every

        def pull(s: jax.Array, f: jax.Array) -> jax.Array:
            return jnp.where(due, s + step * (f - s), s)

        slow = jax.tree.map(pull, state.slow, fast)
        fast = jax.tree.map(lambda s, f: jnp.where(due, s, f), slow, fast)
        count = jnp.where(due, 0, next_count(state.count))
        return fast, LookaheadState(game_state, slow, count), values

    return TwoPlayer(init, update)

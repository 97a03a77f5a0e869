"""The contract of a two-player game: what a player is, a game, and its gradients."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import jax


class Players(NamedTuple):
    """One thing for each player: parameters, losses, gradients, chains or states.

    It is a pytree, so `jax.tree.map` and sharding see through it.

    Attributes:
      gen: the generator's; the player that makes samples.
      disc: the discriminator's; the player that tells them from real ones.
    """

    gen: Any
    disc: Any


class InitFn(Protocol):
    """Makes the optimizer states."""

    def __call__(self, params: Players) -> Any:
        """Returns the state of the game for both players' parameters."""
        ...


class UpdateFn(Protocol):
    """Takes one step of the game."""

    def __call__(
        self, params: Players, state: Any, *args: Any
    ) -> tuple[Players, Any, Players]:
        """Returns the new parameters, the new state, and the values of the losses."""
        ...


class TwoPlayer(NamedTuple):
    """A game as a pair of pure functions, as optax writes a chain.

    Attributes:
      init: `params -> state`, the parameters as `Players`; the state is `Players` of
        optimizer states, or wraps them.
      update: `(params, state, *args) -> (params, state, values)`.
    """

    init: InitFn
    update: UpdateFn


def own_gradients(losses: Players, *, has_aux: bool = False) -> Players:
    """Differentiates each player's loss by that player's parameters alone.

    Args:
      losses: two functions `(params: Players, *args) -> loss`, each of which may read
        both players' parameters; None for a player without one.
      has_aux: whether the losses return `(loss, aux)`.

    Returns:
      Two functions `(params: Players, *args) -> (value, gradients)`, the gradients
      shaped like the player's own parameters; `value` is `(loss, aux)` with `has_aux`.
      None where the loss is.

    Example:
      >>> import jax.numpy as jnp
      >>> price = lambda params: params.gen * params.disc
      >>> gradients = own_gradients(Players(gen=price, disc=lambda p: -price(p)))
      >>> gradients.gen(Players(gen=jnp.float32(2), disc=jnp.float32(3)))
      (Array(6., dtype=float32), Array(3., dtype=float32))
    """

    def by_own(player: str) -> Callable[..., tuple[Any, Any]] | None:
        loss = getattr(losses, player)
        if loss is None:
            return None

        def value_and_grad(params: Players, *args: Any) -> tuple[Any, Any]:
            def of_own(own: Any) -> Any:
                return loss(params._replace(**{player: own}), *args)

            own = getattr(params, player)
            return jax.value_and_grad(of_own, has_aux=has_aux)(own)

        return value_and_grad

    return Players(gen=by_own("gen"), disc=by_own("disc"))

"""What every game is made of: states for two, a move of one."""

from typing import Any

import optax

from optax_chains._players import Players


def check_players(game: str, **arguments: Any) -> None:
    """Refuses what is not `Players`, in the name of a game."""
    for name, value in arguments.items():
        if not isinstance(value, Players):
            raise TypeError(
                f"{game}: {name} is {type(value).__name__}, wanted Players; "
                f"type {name}=Players(gen=..., disc=...)"
            )


def init_both(chains: Players, params: Players) -> Players:
    """Makes each player's state for each player's parameters."""
    return Players(chains.gen.init(params.gen), chains.disc.init(params.disc))


def move(
    chain: optax.GradientTransformation, grads: Any, state: Any, params: Any
) -> tuple[Any, Any]:
    """Moves one player's parameters; returns them and the chain's new state."""
    updates, state = chain.update(grads, state, params)
    return optax.apply_updates(params, updates), state

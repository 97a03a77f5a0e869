"""What every game is made of: states for two, a move of one."""

from typing import Any

import optax

from optax_chains._checks import check_chains
from optax_chains._players import Players


def check_players(game: str, **arguments: Any) -> None:
    """Refuses what is not `Players`, in the name of a game."""
    for name, value in arguments.items():
        if not isinstance(value, Players):
            raise TypeError(
                f"{game}: {name} is {type(value).__name__}, wanted Players; "
                f"type {name}=Players(gen=..., disc=...)"
            )


def check_game(game: str, chains: Any, gradients: Any) -> None:
    """Refuses what a game cannot be made of."""
    check_players(game, chains=chains, gradients=gradients)
    check_chains(game, **{"chains.gen": chains.gen, "chains.disc": chains.disc})


def init_both(game: str, chains: Players, params: Players) -> Players:
    """Makes each player's state for each player's parameters."""
    check_players(game, params=params)
    return Players(chains.gen.init(params.gen), chains.disc.init(params.disc))


def move(
    chain: optax.GradientTransformation, grads: Any, state: Any, params: Any
) -> tuple[Any, Any]:
    """Moves one player's parameters; returns them and the chain's new state."""
    updates, state = chain.update(grads, state, params)
    return optax.apply_updates(params, updates), state


def move_both(
    chains: Players,
    gradients: Players,
    params: Players,
    state: Players,
    *args: Any,
    at: Players,
) -> tuple[Players, Players, Players]:
    """Moves both players from `params`, by their gradients at another point.

    Returns the new parameters, the new states, and the values at that point.
    """
    gen_value, gen_grads = gradients.gen(at, *args)
    disc_value, disc_grads = gradients.disc(at, *args)
    gen, gen_state = move(chains.gen, gen_grads, state.gen, params.gen)
    disc, disc_state = move(chains.disc, disc_grads, state.disc, params.disc)
    return (
        Players(gen, disc),
        Players(gen_state, disc_state),
        Players(gen_value, disc_value),
    )

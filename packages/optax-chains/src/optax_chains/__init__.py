"""Optax chains by name, and updates for two players."""

from optax_chains._gan_adam import gan_adam
from optax_chains._players import Players, TwoPlayer, own_gradients
from optax_chains._two_player import two_player

__all__ = ["Players", "TwoPlayer", "gan_adam", "own_gradients", "two_player"]

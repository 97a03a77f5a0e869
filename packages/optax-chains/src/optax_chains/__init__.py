"""Optax chains by name, and updates for two players."""

from optax_chains._adamw_cosine import adamw_cosine
from optax_chains._by_path import by_path, freeze
from optax_chains._decay_mask import decay_mask
from optax_chains._gan_adam import gan_adam
from optax_chains._lamb_large_batch import lamb_large_batch
from optax_chains._players import Players, TwoPlayer, own_gradients
from optax_chains._rmsprop import rmsprop
from optax_chains._scale_by_rate import RateState, scale_by_rate
from optax_chains._sgd_momentum import sgd_momentum
from optax_chains._two_player import two_player

__all__ = [
    "Players",
    "RateState",
    "TwoPlayer",
    "adamw_cosine",
    "by_path",
    "decay_mask",
    "freeze",
    "gan_adam",
    "lamb_large_batch",
    "own_gradients",
    "rmsprop",
    "scale_by_rate",
    "sgd_momentum",
    "two_player",
]

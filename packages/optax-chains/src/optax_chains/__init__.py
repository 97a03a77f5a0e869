"""Optax chains by name and two-player updates."""

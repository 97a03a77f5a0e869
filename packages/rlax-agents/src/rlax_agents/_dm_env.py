"""Environments of this package for programs that step one at a time, as dm_env does."""

from typing import Any

import dm_env
import jax
import numpy as np
from dm_env import specs

from rlax_agents._checks import check_range
from rlax_agents._environment import Environment
from rlax_agents._spaces import Discrete


class DmEnv(dm_env.Environment):
    """A `dm_env.Environment` of NumPy arrays; `to_dm_env` makes it."""

    def __init__(self, env: Environment, *, seed: int) -> None:
        self._env = env
        self._key = jax.random.key(seed)
        self._reset, self._step = jax.jit(env.reset), jax.jit(env.step)
        self._state: Any = None  # until the first reset, and where an episode ended

    def reset(self) -> dm_env.TimeStep:
        """Starts an episode."""
        self._key, key = jax.random.split(self._key)
        self._state, timestep = self._reset(key)
        return dm_env.restart(_to_numpy(timestep.observation))

    def step(self, action: Any) -> dm_env.TimeStep:
        """Takes an action; where no episode runs it starts one instead."""
        if self._state is None:
            return self.reset()
        spec = self._env.action_spec
        if isinstance(spec, Discrete):
            check_range("to_dm_env: step", "action", action, 0, spec.n - 1)
        self._state, timestep = self._step(self._state, action)
        kind, reward, discount, observation = _to_numpy(timestep)
        step_type = dm_env.StepType(int(kind))
        if step_type.last():
            self._state = None
        return dm_env.TimeStep(step_type, float(reward), float(discount), observation)

    def observation_spec(self) -> Any:
        """Tree of `dm_env.specs.Array`."""
        return jax.tree.map(
            lambda spec: specs.Array(spec.shape, spec.dtype, "observation"),
            self._env.observation_spec,
        )

    # dm_env leaves out the return type.
    def action_spec(self) -> specs.Array:  # pyrefly: ignore[bad-override]
        """A `DiscreteArray` or a `BoundedArray`."""
        spec = self._env.action_spec
        if isinstance(spec, Discrete):
            return specs.DiscreteArray(spec.n, np.int32, "action")
        return specs.BoundedArray(spec.shape, np.float32, *spec.bounds(), "action")


def to_dm_env(env: Environment, *, seed: int = 0) -> DmEnv:
    """Makes a `dm_env.Environment` of one of this package.

    For agents that are written against dm_env. It steps one compiled program at a time
    and copies to NumPy, which costs far more than the step itself: to train, keep to
    the environment and `jax.lax.scan`.

    Args:
      env: the environment.
      seed: of the first key; the episodes follow from it.

    Returns:
      The dm_env environment. A step after a LAST one starts an episode.

    Raises:
      ArgumentError: by `step`, for an action that the environment refuses.

    Example:
      >>> from rlax_agents import Catch
      >>> env = to_dm_env(Catch())
      >>> timestep = env.reset()
      >>> while not timestep.last():
      ...     timestep = env.step(1)
      >>> timestep.reward in (-1.0, 1.0), timestep.discount
      (True, 0.0)

    References:
      Muldal et al., 2019, dm_env, https://github.com/google-deepmind/dm_env.
    """
    return DmEnv(env, seed=seed)


def _to_numpy(tree: Any) -> Any:
    return jax.tree.map(np.array, jax.device_get(tree))

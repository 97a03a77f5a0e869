"""Environments of this package for programs written against Gymnasium."""

import importlib
from typing import Any

import jax
import numpy as np

from rlax_agents._checks import check_range
from rlax_agents._environment import Environment
from rlax_agents._spaces import Discrete


def to_gymnasium(env: Environment, *, seed: int = 0) -> Any:
    """Makes a `gymnasium.Env` of one of this package.

    For agents that are written against Gymnasium. Its `terminated` and `truncated` are
    told apart. It steps one compiled program at a time and copies to NumPy, which costs
    far more than the step itself: to train, keep to the environment and `jax.lax.scan`.

    Args:
      env: the environment.
      seed: of the first key, until `reset(seed=...)` gives another.

    Returns:
      The `gymnasium.Env`. A step after the end repeats it, with reward 0.

    Raises:
      ModuleNotFoundError: if gymnasium is not installed.
      ArgumentError: by `step`, for an action that the environment refuses.

    Example, with gymnasium installed:
      `observation, info = to_gymnasium(CartPole()).reset(seed=1)`

    References:
      Towers et al., 2024, Gymnasium, https://arxiv.org/abs/2407.17032.
    """
    try:
        gymnasium = importlib.import_module("gymnasium")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "to_gymnasium: gymnasium is not installed; "
            'type pip install "rlax-agents[gymnasium]"'
        ) from error
    # Its base class is known here only, for it is an extra.
    made: Any = type("GymnasiumEnv", (_Gymnasium, gymnasium.Env), {})()
    made.start(env, seed)
    made.observation_space = _to_space(gymnasium.spaces, env.observation_spec)
    made.action_space = _to_action_space(gymnasium.spaces, env)
    return made


class _Gymnasium:
    """The methods of a `gymnasium.Env`."""

    def start(self, env: Environment, seed: int) -> None:
        """Compiles nothing yet; the first reset and step do."""
        self._env = env
        self._key = jax.random.key(seed)
        self._reset, self._step = jax.jit(env.reset), jax.jit(env.step)
        self._state: Any = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Starts an episode: (observation, empty info)."""
        super().reset(seed=seed, options=options)  # pyrefly: ignore[missing-attribute]
        if seed is not None:
            self._key = jax.random.key(seed)
        self._key, key = jax.random.split(self._key)
        self._state, timestep = self._reset(key)
        return _to_numpy(timestep.observation), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Takes an action: (observation, reward, terminated, truncated, empty info)."""
        spec = self._env.action_spec
        if isinstance(spec, Discrete):
            check_range("to_gymnasium: step", "action", action, 0, spec.n - 1)
        self._state, timestep = self._step(self._state, action)
        kind, reward, discount, observation = _to_numpy(timestep)
        last, truncated = bool(kind == 2), bool(kind == 2 and discount > 0)
        return observation, float(reward), last and not truncated, truncated, {}


def _to_action_space(spaces: Any, env: Environment) -> Any:
    spec = env.action_spec
    if isinstance(spec, Discrete):
        return spaces.Discrete(spec.n)
    return spaces.Box(*spec.bounds(), dtype=np.float32)


def _to_space(spaces: Any, spec: Any) -> Any:
    """The Gymnasium space of a tree of observations: dicts, tuples and arrays."""
    if isinstance(spec, dict):
        return spaces.Dict({name: _to_space(spaces, s) for name, s in spec.items()})
    if isinstance(spec, tuple | list):
        return spaces.Tuple([_to_space(spaces, s) for s in spec])
    if np.issubdtype(spec.dtype, np.floating):
        low, high = -np.inf, np.inf
    elif spec.dtype == np.bool_:
        low, high = 0, 1
    else:
        low, high = np.iinfo(spec.dtype).min, np.iinfo(spec.dtype).max
    return spaces.Box(low, high, spec.shape, spec.dtype)


def _to_numpy(tree: Any) -> Any:
    return jax.tree.map(np.array, jax.device_get(tree))

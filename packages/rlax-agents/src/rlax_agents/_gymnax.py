"""Environments of gymnax, with this package's semantics."""

import dataclasses
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from rlax_agents._checks import ArgumentError
from rlax_agents._environment import TimeStep, advance, restart
from rlax_agents._spaces import ActionSpec, Continuous, Discrete

_NEVER = 2**30


class GymnaxState(NamedTuple):
    """The state of a gymnax environment, and what gymnax keeps beside it.

    Attributes:
      env: gymnax's own state.
      observation: of that state.
      terminated: bool.
      truncated: bool.
      key: PRNG key, of which the steps are drawn.
    """

    env: Any
    observation: Any
    terminated: jax.Array
    truncated: jax.Array
    key: jax.Array


@dataclass(frozen=True)
class Gymnax:
    """A gymnax environment with its parameters; `from_gymnax` makes it.

    Attributes:
      env: the gymnax environment.
      params: its parameters.
    """

    env: Any
    params: Any

    @property
    def observation_spec(self) -> Any:
        """Tree of `jax.ShapeDtypeStruct`."""
        found = jax.eval_shape(lambda key: self.reset(key)[1], jax.random.key(0))
        return found.observation

    @property
    def action_spec(self) -> ActionSpec:
        """A `Discrete` or a `Continuous`."""
        return read_space(self.env.action_space(self.params))

    def reset(self, key: jax.Array) -> tuple[GymnaxState, TimeStep]:
        """Starts an episode."""
        key, now = jax.random.split(key)
        observation, env = self.env.reset_env(now, self.params)
        # Python numbers and weak types become what a step makes of them.
        action = self.action_spec.sample(now)
        types = jax.eval_shape(
            lambda *given: self.env.step_env(*given, self.params), now, env, action
        )
        env = _cast(env, like=types[1])
        observation = _cast(observation, like=types[0])
        state = GymnaxState(env, observation, jnp.bool_(0), jnp.bool_(0), key)
        return state, restart(state.observation)

    def step(self, state: GymnaxState, action: Any) -> tuple[GymnaxState, TimeStep]:
        """Takes one action."""
        action = self.action_spec.check("from_gymnax: step", action)
        key, now = jax.random.split(state.key)
        observation, env, reward, done, _ = self.env.step_env(
            now, state.env, action, self.params
        )
        terminated = jnp.bool_(done)
        if hasattr(self.params, "max_steps_in_episode"):
            endless = dataclasses.replace(self.params, max_steps_in_episode=_NEVER)
            # The same step, which XLA computes once, but for the limit.
            terminated = self.env.step_env(now, state.env, action, endless)[3]
        moved = GymnaxState(
            _cast(env, like=state.env),
            _cast(observation, like=state.observation),
            jnp.bool_(terminated),
            jnp.bool_(done),
            key,
        )
        return advance(
            state,
            moved,
            reward,
            ends=lambda state: (state.terminated, state.truncated),
            observe=lambda state: state.observation,
        )


def from_gymnax(env: Any, params: Any = None) -> Gymnax:
    """Makes an environment of this package of one of gymnax.

    gymnax has one flag, `done`, for terminations and for its step limit. They are told
    apart by asking a second time with `max_steps_in_episode` out of reach: `done` with
    the limit only is a truncation, with discount 1. Parameters without that field make
    every end a termination, with discount 0. gymnax's own automatic reset is not used.

    Args:
      env: gymnax environment, with discrete actions or a bounded box of them. Any
        object with its `reset_env`, `step_env` and `action_space` will do.
      params: its parameters, Python numbers so that they hash; None means
        `env.default_params`.

    Returns:
      The environment.

    Raises:
      ArgumentError: if it is no such environment, or for other actions.

    Example, where gymnax is installed::

        import gymnax
        import jax
        from rlax_agents import from_gymnax

        acrobot, params = gymnax.make("Acrobot-v1")
        env = from_gymnax(acrobot, params)
        state, timestep = env.reset(jax.random.key(0))
        state, timestep = jax.jit(env.step)(state, 2)
        assert timestep.observation.shape == env.observation_spec.shape == (6,)
        assert timestep.reward == -1

    References:
      Lange, 2022, gymnax, https://github.com/RobertTLange/gymnax. To install it:
      `pip install "rlax-agents[gymnax]"`.
    """
    wanted = ("reset_env", "step_env", "action_space")
    if missing := [name for name in wanted if not hasattr(env, name)]:
        raise ArgumentError(
            f"from_gymnax: env is a {type(env).__name__} without {missing[0]}, wanted "
            f"a gymnax environment; type from_gymnax(*gymnax.make('CartPole-v1')), "
            f'after pip install "rlax-agents[gymnax]"'
        )
    made = Gymnax(env, env.default_params if params is None else params)
    _ = made.action_spec
    return made


def read_space(space: Any) -> ActionSpec:
    """The spec of a gymnax space of actions."""
    if hasattr(space, "n"):
        return Discrete(int(space.n))
    if hasattr(space, "low"):
        low, high = (_to_tuple(np.asarray(x)) for x in (space.low, space.high))
        return Continuous(tuple(space.shape), low, high)
    raise ArgumentError(
        f"from_gymnax: the actions are a {type(space).__name__}, wanted Discrete or Box"
    )


def _to_tuple(array: np.ndarray) -> Any:
    return tuple(map(_to_tuple, array)) if array.ndim else float(array)


def _cast(tree: Any, *, like: Any) -> Any:
    """Arrays of strong types, with the dtypes of another tree."""
    return jax.tree.map(
        lambda x, wanted: lax.convert_element_type(x, wanted.dtype), tree, like
    )

"""What an environment is: two pure functions, with the semantics of dm_env.

An environment is one unbatched, frozen, hashable object. `jax.vmap(env.step)` steps a
batch of them, `lax.scan` rolls them out, `jit` compiles both. An episode is a FIRST
timestep, MID ones, and a LAST one. LAST with discount 0 is a termination; LAST with a
discount above 0 is a truncation: the episode was cut, and its value goes on.
"""

import enum
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp

from rlax_agents._spaces import ActionSpec


class StepType(enum.IntEnum):
    """Where in its episode a timestep is; the numbers are dm_env's."""

    FIRST = 0
    MID = 1
    LAST = 2


class TimeStep(NamedTuple):
    """What an environment tells the agent, as in dm_env, but always arrays.

    Attributes:
      step_type: int32, a `StepType`.
      reward: float32, for the action that led here; 0 at FIRST, where dm_env has None.
      discount: float32, 0 where the episode terminated, else 1; 1 at FIRST.
      observation: pytree of arrays, as the environment's `observation_spec`.

    Example:
      >>> import jax
      >>> from rlax_agents import Catch
      >>> _, timestep = Catch().reset(jax.random.key(0))
      >>> bool(timestep.first()), bool(timestep.last())
      (True, False)
    """

    step_type: Any
    reward: Any
    discount: Any
    observation: Any

    def first(self) -> jax.Array:
        """Bool, elementwise: the episode starts here."""
        return jnp.asarray(self.step_type) == StepType.FIRST.value

    def mid(self) -> jax.Array:
        """Bool, elementwise: neither the start nor the end."""
        return jnp.asarray(self.step_type) == StepType.MID.value

    def last(self) -> jax.Array:
        """Bool, elementwise: the episode ends here, by termination or truncation."""
        return jnp.asarray(self.step_type) == StepType.LAST.value

    def truncated(self) -> jax.Array:
        """Bool, elementwise: the episode was cut here, and its value goes on."""
        return self.last() & (jnp.asarray(self.discount) > 0)


class Environment(Protocol):
    """One unbatched environment: two pure functions and two specs.

    Implementations are frozen dataclasses, so that they can be static arguments of
    `jit`. `reset` and `step` return trees of the same structure, shapes and dtypes, so
    that they scan; one that draws at random in `step` keeps a key in its state.

    A step after a LAST timestep, which `AutoReset` never takes, changes nothing: in all
    environments of this package it returns the same state and the same LAST timestep,
    with reward 0. So rewards may be summed over a fixed number of steps.

    Actions of a wrong shape or dtype raise `ArgumentError`, under `jit` too. A discrete
    action out of range raises outside `jit`, and is clipped inside, where its value is
    not known. Continuous actions are clipped to their bounds everywhere.
    """

    @property
    def observation_spec(self) -> Any:
        """Tree of `jax.ShapeDtypeStruct`."""
        ...

    @property
    def action_spec(self) -> ActionSpec:
        """A `Discrete` or a `Continuous`."""
        ...

    def reset(self, key: jax.Array) -> tuple[Any, TimeStep]:
        """Starts an episode: (state, FIRST timestep)."""
        ...

    def step(self, state: Any, action: Any) -> tuple[Any, TimeStep]:
        """Takes one action: (next state, MID or LAST timestep)."""
        ...


def restart(observation: Any) -> TimeStep:
    """Makes the FIRST timestep of an episode, for those who write an environment.

    Args:
      observation: pytree of arrays.

    Returns:
      The timestep: reward 0, discount 1.

    Example:
      >>> import jax.numpy as jnp
      >>> float(restart(jnp.zeros(3)).discount)
      1.0
    """
    return TimeStep(
        step_type=jnp.int32(StepType.FIRST.value),
        reward=jnp.zeros((), jnp.float32),
        discount=jnp.ones((), jnp.float32),
        observation=observation,
    )


def advance(
    state: Any,
    moved: Any,
    reward: Any,
    *,
    ends: Callable[[Any], tuple[Any, Any]],
    observe: Callable[[Any], Any],
) -> tuple[Any, TimeStep]:
    """Makes the result of a step, for those who write an environment.

    Args:
      state: the state before the step. Where the episode had ended, it is kept.
      moved: the state after the step, of the same tree type.
      reward: float scalar, for the step.
      ends: state -> (terminated, truncated), two bools. Both may be True; then the
        episode is terminated.
      observe: state -> observation.

    Returns:
      The next state and its timestep, MID or LAST.

    Example:
      >>> import jax.numpy as jnp
      >>> at, ends = jnp.int32(4), lambda at: (at == 5, at >= 9)
      >>> at, timestep = advance(at, at + 1, 1.0, ends=ends, observe=lambda at: at)
      >>> int(at), bool(timestep.last()), bool(timestep.truncated())
      (5, True, False)
    """
    was_over = jnp.logical_or(*ends(state))
    state = select(was_over, state, moved)
    terminated, truncated = ends(state)
    last = jnp.logical_or(terminated, truncated)
    timestep = TimeStep(
        step_type=jnp.where(last, jnp.int32(StepType.LAST), jnp.int32(StepType.MID)),
        reward=jnp.where(was_over, jnp.float32(0), jnp.float32(reward)),
        discount=jnp.where(terminated, jnp.float32(0), jnp.float32(1)),
        observation=observe(state),
    )
    return state, timestep


def select(flag: jax.Array, yes: Any, no: Any) -> Any:
    """One of two trees of the same type, by a bool scalar."""
    return jax.tree.map(lambda a, b: jnp.where(flag, a, b), yes, no)

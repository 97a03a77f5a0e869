"""Against a small environment with gymnax's interface; the real ones are in peers."""

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp
import pytest

from rlax_agents import ArgumentError, AutoReset, Continuous, Discrete, from_gymnax
from rlax_agents._gymnax import read_space


class Place(NamedTuple):
    at: int
    time: int


class Box(NamedTuple):
    low: object
    high: object
    shape: tuple


@dataclasses.dataclass(frozen=True)
class Params:
    goal: int = 3
    max_steps_in_episode: int = 5


@dataclasses.dataclass(frozen=True)
class Endless:
    goal: int = 3


class Line:
    """Step right or stay; the goal ends it, and so does the limit."""

    default_params = Params()

    def action_space(self, params):
        return Discrete(2)

    def reset_env(self, key, params):
        return jnp.array([0.0]), Place(0, 0)  # Python numbers, as gymnax has them

    def step_env(self, key, state, action, params):
        state = Place(state.at + action, state.time + 1)
        limit = getattr(params, "max_steps_in_episode", 4)
        done = (state.at >= params.goal) | (state.time >= limit)
        return jnp.float32([state.at]), state, jnp.float32(action), done, {}


def roll(env, actions):
    state, first = env.reset(jax.random.key(0))
    _, ts = jax.lax.scan(env.step, state, jnp.array(actions))
    return first, ts


def test_the_limit_is_a_truncation_and_the_goal_a_termination():
    env = from_gymnax(Line())
    first, ts = roll(env, [1, 0, 0, 0, 1, 1])
    assert bool(first.first())
    assert ts.step_type.tolist() == [1, 1, 1, 1, 2, 2]
    assert ts.discount.tolist() == [1] * 6
    assert ts.truncated().tolist() == [False] * 4 + [True] * 2
    assert ts.reward.tolist() == [1, 0, 0, 0, 1, 0]
    _, ts = roll(env, [1, 1, 1, 1])
    assert ts.discount.tolist() == [1, 1, 0, 0]
    assert ts.observation[:, 0].tolist() == [1, 2, 3, 3]
    _, ts = roll(env, [0, 0, 1, 1, 1])  # both at once
    assert not ts.truncated().any()


def test_without_a_limit_in_the_parameters_ends_are_terminations():
    _, ts = roll(from_gymnax(Line(), Endless()), [0, 0, 0, 0])
    assert ts.discount.tolist() == [1, 1, 1, 0]


def test_it_resets_by_itself_with_the_types_of_the_spec():
    env = AutoReset(from_gymnax(Line(), Params(max_steps_in_episode=2)))
    assert env.observation_spec == jax.ShapeDtypeStruct((1,), jnp.float32)
    state, _ = env.reset(jax.random.key(0))
    _, out = jax.lax.scan(env.step, state, jnp.zeros(6, jnp.int32))
    assert out.timestep.truncated().tolist() == [False, True] * 3


def test_spaces_become_specs():
    assert read_space(Discrete(4)) == Discrete(4)
    assert read_space(Box(-2, jnp.array([1.0, 3.0]), (2,))) == Continuous(
        (2,), -2.0, (1.0, 3.0)
    )
    with pytest.raises(
        ArgumentError, match="actions are a dict, wanted Discrete or Box"
    ):
        read_space({})


def test_other_objects_raise_and_say_what_to_install():
    with pytest.raises(ArgumentError, match="env is a dict without reset_env") as found:
        from_gymnax({})
    assert 'pip install "rlax-agents[gymnax]"' in str(found.value)

"""Agents that are tuned for an environment, by name.

What `python -m rlax_agents train AGENT ENVIRONMENT` runs, and what the benchmarks hold
the package to.
"""

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import optax

from rlax_agents._agent import Agent
from rlax_agents._bonus_agent import WithBonus
from rlax_agents._cartpole import CartPole
from rlax_agents._catch import Catch
from rlax_agents._checks import ArgumentError
from rlax_agents._deep_sea import DeepSea
from rlax_agents._dqn_agent import DQN
from rlax_agents._environment import Environment
from rlax_agents._grid_world import GridWorld, value_iteration
from rlax_agents._impala_agent import IMPALA
from rlax_agents._mpo_agent import MPO
from rlax_agents._networks import actor_critic
from rlax_agents._pendulum import Pendulum
from rlax_agents._ppo_agent import PPO


@dataclass(frozen=True)
class Recipe:
    """An agent with its options, and how long to train it.

    Attributes:
      agent: with its options; a falling learning rate reaches 0 after `updates`.
      env: what it acts in.
      num_envs: how many environments are stepped together.
      updates: how many updates it takes.
      target: what the mean return of 100 evaluation episodes should reach, of any seed;
        None for one that is there to be compared with, and is held to nothing.
    """

    agent: Agent
    env: Environment
    num_envs: int
    updates: int
    target: float | None


def recipe(agent: str, env: str) -> Recipe:
    """The recipe of an agent for an environment.

    Args:
      agent: its name, such as `ppo`.
      env: the name of the environment, such as `cartpole`.

    Returns:
      The recipe; the same object each time, so that programs are compiled once.

    Raises:
      ArgumentError: if there is no such agent, no such environment, or no recipe of
        the two together.

    Example:
      >>> found = recipe("ppo", "cartpole")
      >>> found.num_envs * found.agent.unroll_length * found.updates
      819200
    """
    agents, envs = (sorted(set(names)) for names in zip(*RECIPES, strict=True))
    _check_name("agent", agent, agents)
    _check_name("env", env, envs)
    if (agent, env) not in RECIPES:
        others = [a for a, e in RECIPES if e == env]
        raise ArgumentError(
            f"recipe: there is none of {agent} for {env}; "
            f"for {env} there is {' and '.join(others)}"
        )
    return RECIPES[agent, env]


def _check_name(what: str, name: str, known: Iterable[str]) -> None:
    if name in known:
        return
    near = difflib.get_close_matches(name.lower(), known, n=1)
    meant = f"; did you mean {near[0]}?" if near else ""
    raise ArgumentError(
        f"recipe: {what} is {name!r}, wanted one of {', '.join(known)}{meant}"
    )


def _adam(
    rate: float, steps: int, *, norm: float = 0.5
) -> optax.GradientTransformation:
    """Adam with clipped gradients, whose rate falls to 0 in so many steps."""
    schedule = optax.linear_schedule(rate, 0.0, steps)
    return optax.chain(optax.clip_by_global_norm(norm), optax.adam(schedule))


def _ppo(env: Environment, *, num_envs: int, updates: int, target: float) -> Recipe:
    steps = 16 * updates  # 4 epochs of 4 minibatches
    agent = PPO(env, unroll_length=32, optimizer=_adam(2e-3, steps, norm=0.5))
    return Recipe(agent, env, num_envs, updates, target)


def _ppo_cartpole(env: Environment) -> Recipe:
    # Small networks and few passes: with larger ones most of the time goes into
    # matrix products that this task does not need.
    updates = 400
    agent = PPO(
        env,
        network=actor_critic(env.action_spec, hidden=(32, 32)),
        optimizer=_adam(2e-3, 16 * updates, norm=0.5),
        unroll_length=128,
        epochs=2,
        minibatches=8,
        lambda_=0.9,
    )
    return Recipe(agent, env, 16, updates, 475.0)


def _impala(
    env: Environment, *, unroll_length: int, updates: int, norm: float, target: float
) -> Recipe:
    chain = _adam(3e-3, updates, norm=norm)
    agent = IMPALA(env, unroll_length=unroll_length, optimizer=chain)
    return Recipe(agent, env, 64, updates, target)


def _recipes() -> dict[tuple[str, str], Recipe]:
    catch, cartpole, grid = Catch(), CartPole(), GridWorld()
    sea, pendulum = DeepSea(), Pendulum()
    best = value_iteration(grid, 1.0).start
    dqn = DQN(sea, optimizer=optax.adam(1e-3))
    mpo = MPO(
        pendulum,
        unroll_length=8,
        learner_steps=16,
        batch_size=256,
        capacity=4000,
        min_steps=64,
        n_step=3,
        optimizer=_adam(1e-3, 16 * 1000, norm=40.0),
    )
    return {
        ("ppo", "catch"): _ppo(catch, num_envs=64, updates=60, target=0.95),
        ("ppo", "cartpole"): _ppo_cartpole(cartpole),
        ("ppo", "gridworld"): _ppo(grid, num_envs=32, updates=50, target=0.95 * best),
        ("impala", "catch"): _impala(
            catch, unroll_length=9, updates=300, norm=40.0, target=0.95
        ),
        ("dqn", "catch"): Recipe(
            DQN(catch, optimizer=optax.adam(1e-3)), catch, 32, 600, 0.95
        ),
        ("dqn", "deepsea"): Recipe(dqn, sea, 32, 500, None),
        ("dqn+bonus", "deepsea"): Recipe(WithBonus(dqn, beta=0.1), sea, 32, 500, 0.9),
        ("mpo", "pendulum"): Recipe(mpo, pendulum, 16, 1000, -250.0),
    }


RECIPES: Mapping[tuple[str, str], Recipe] = MappingProxyType(_recipes())
"""By the names of agent and environment."""

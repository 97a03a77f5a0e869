"""Acting and learning as one compiled program, for any agent and environment.

A program scans over updates. Each update scans over the steps of a rollout, in which a
batch of environments is stepped by `vmap`, and then lets the agent learn from it.
Seeds are one more axis of `vmap`. On several devices the environments are split among
them, and the parameters are on all; the compiler adds the sums of gradients.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from rlax_agents._agent import Agent, Rollout
from rlax_agents._auto_reset import AutoReset
from rlax_agents._checks import ArgumentError, check_count
from rlax_agents._environment import Environment, TimeStep


class Episodes(NamedTuple):
    """The returns of episodes, by environment.

    Attributes:
      running: float32[batch], rewards of the episode so far.
      finished: float32[batch], sum of the rewards of the last one that ended.
      count: int32[batch], how many have ended.
    """

    running: jax.Array
    finished: jax.Array
    count: jax.Array


class TrainState(NamedTuple):
    """Everything that training goes on from. Resuming from it changes nothing.

    Attributes:
      agent: the agent's state.
      env: states of the environments, [batch, ...].
      now: the timesteps to act on, [batch, ...].
      episodes: returns so far.
      key: PRNG key.
      updates: int32, how many updates were made.
    """

    agent: Any
    env: Any
    now: TimeStep
    episodes: Episodes
    key: jax.Array
    updates: jax.Array


class Trained(NamedTuple):
    """What `train` gives back.

    Attributes:
      state: to evaluate, to save, and to go on from.
      metrics: by name, a NumPy array [update]; with seeds, [seed, update].
        `episode_return` is the mean over the environments of the last episode that each
        has finished (0 before the first), `episodes` how many have ended, `steps` how
        many steps the environments have taken; all else is the agent's.
    """

    state: TrainState
    metrics: dict[str, np.ndarray]


def init_train(
    agent: Agent, env: Environment, key: jax.Array, num_envs: int
) -> TrainState:
    """Makes the state that training starts from.

    Args:
      agent: the agent.
      env: one environment; it is reset `num_envs` times.
      key: PRNG key, of which everything follows.
      num_envs: how many environments are stepped together.

    Returns:
      The state.

    Example:
      >>> import jax, rlax_agents as ra
      >>> env = ra.Catch()
      >>> state = ra.init_train(ra.PPO(env), env, jax.random.key(0), num_envs=4)
      >>> type(state).__name__
      'TrainState'
    """
    k_agent, k_env, key = jax.random.split(key, 3)
    envs, now = jax.vmap(AutoReset(env).reset)(jax.random.split(k_env, num_envs))
    zeros = jnp.zeros(num_envs, jnp.float32)
    return TrainState(
        agent=agent.init(k_agent, num_envs),
        env=envs,
        now=now,
        episodes=Episodes(zeros, zeros, jnp.zeros(num_envs, jnp.int32)),
        key=key,
        updates=jnp.zeros((), jnp.int32),
    )


def train_step(
    agent: Agent, env: Environment, state: TrainState
) -> tuple[TrainState, dict[str, jax.Array]]:
    """Acts for one rollout and learns from it: what `train` repeats.

    For those who write a loop of their own.

    Args:
      agent: the agent.
      env: one environment.
      state: of `init_train` or of the step before.

    Returns:
      The next state and the metrics of this update, scalars.

    Example:
      >>> import jax, rlax_agents as ra
      >>> env = ra.Catch()
      >>> agent = ra.PPO(env, unroll_length=9, minibatches=3)
      >>> state = ra.init_train(agent, env, jax.random.key(0), num_envs=4)
      >>> state, metrics = jax.jit(lambda s: ra.train_step(agent, env, s))(state)
      >>> int(state.updates), metrics["loss"].shape
      (1, ())
    """
    key, k_act, k_update = jax.random.split(state.key, 3)
    step_env = jax.vmap(AutoReset(env).step)

    def step(carry: tuple, key: jax.Array) -> tuple[tuple, Rollout]:
        envs, now, episodes = carry
        action, extras = agent.act(state.agent, key, now.observation)
        envs, outcome = step_env(envs, action)
        true = outcome.timestep
        rollout = Rollout(
            observation_tm1=now.observation,
            action_tm1=action,
            reward_t=true.reward,
            discount_t=true.discount,
            truncated_t=true.truncated(),
            last_t=true.last(),
            observation_t=true.observation,
            extras_tm1=extras,
        )
        return (envs, outcome.now, _count(episodes, true)), rollout

    keys = jax.random.split(k_act, agent.unroll_length)
    carry = state.env, state.now, state.episodes
    (envs, now, episodes), rollout = jax.lax.scan(step, carry, keys)
    learned, metrics = agent.update(state.agent, k_update, rollout)
    after = TrainState(learned, envs, now, episodes, key, state.updates + 1)
    ended = episodes.count > 0
    found = {
        "episode_return": jnp.where(ended, episodes.finished, 0).sum()
        / jnp.maximum(ended.sum(), 1).astype(jnp.float32),
        "episodes": episodes.count.sum(),
    }
    return after, found | metrics


def train(
    agent: Agent,
    env: Environment,
    *,
    updates: int,
    num_envs: int | None = None,
    key: jax.Array | None = None,
    seeds: jax.Array | None = None,
    mesh: Mesh | None = None,
    state: TrainState | None = None,
    updates_per_call: int | None = None,
    on_call: Callable[[dict[str, np.ndarray]], None] | None = None,
) -> Trained:
    """Trains an agent, all of it compiled.

    Args:
      agent: a `PPO`, `DQN`, `IMPALA` or `MPO`, or one of your own.
      env: one environment of this package, or any `Environment`.
      updates: how many rollouts to take and learn from. Each has
        `agent.unroll_length * num_envs` steps.
      num_envs: how many environments are stepped together; by default 64, or as many
        as a state has.
      key: PRNG key of the run.
      seeds: PRNG keys, one a run; all runs are trained at once, as one more axis.
      mesh: devices to split the environments over, by its first axis. The result is
        the same as on one device, but for the order of sums.
      state: of an earlier `train`, to go on from, in place of a key.
      updates_per_call: how many updates one call of the program makes; by default all,
        or a hundredth of them where `on_call` is given.
      on_call: called after each with the metrics of it, for logs and progress.

    Returns:
      The last state and the metrics of all updates.

    Raises:
      ArgumentError: if not one of key, seeds and state is given, or one is of another
        kind; if the state has another number of environments, the devices do not divide
        them, or seeds are trained on a mesh.

    Example:
      >>> import jax, rlax_agents as ra
      >>> env = ra.Catch()
      >>> agent = ra.PPO(env, unroll_length=9, minibatches=3)
      >>> trained = ra.train(
      ...     agent, env, updates=2, num_envs=8, key=jax.random.key(0)
      ... )
      >>> trained.metrics["steps"].tolist()
      [72, 144]
    """
    updates = check_count("train", "updates", updates)
    num_envs = _check_start(key, seeds, state, num_envs)
    if mesh is not None:
        several = seeds is not None or (state is not None and state.key.ndim > 0)
        _check_mesh(mesh, num_envs, several=several)
        mesh = Mesh(mesh.devices, mesh.axis_names)  # of Auto axes
    per_call = updates if on_call is None else -(-updates // 100)
    if updates_per_call is not None:
        per_call = check_count("train", "updates_per_call", updates_per_call)
    if state is None:
        state = _start(agent, env, key if seeds is None else seeds, num_envs, mesh)
    else:  # each call eats its own, and not the caller's
        state = place(jax.tree.map(jnp.copy, state), agent, mesh)
    made = np.asarray(state.updates, np.int64)
    found: list[dict[str, np.ndarray]] = []
    done = 0
    while done < updates:
        count = min(per_call, updates - done)
        state, metrics = _run(agent, env, count, mesh, state)
        # On the devices they would wrap, beyond 2^31 steps.
        numbers = made[..., None] + np.arange(done + 1, done + count + 1)
        steps = numbers * (agent.unroll_length * num_envs)
        found.append(jax.tree.map(np.asarray, metrics) | {"steps": steps})
        done += count
        if on_call is not None:
            on_call(found[-1])
    joined = {
        name: np.concatenate([metrics[name] for metrics in found], axis=-1)
        for name in found[0]
    }
    return Trained(state, joined)


def _start(
    agent: Agent,
    env: Environment,
    key: Any,
    num_envs: int,
    mesh: Mesh | None,
) -> TrainState:
    init = functools.partial(init_train, agent, env, num_envs=num_envs)
    if key.ndim:
        init = jax.vmap(init)
    if mesh is None:
        return jax.jit(init)(key)
    return jax.jit(init, out_shardings=_shardings(agent, mesh))(key)


def place(state: TrainState, agent: Agent, mesh: Mesh | None) -> TrainState:
    """Puts a state where training on the mesh has it."""
    return state if mesh is None else jax.device_put(state, _shardings(agent, mesh))


def _shardings(agent: Agent, mesh: Mesh) -> TrainState:
    """Where each part of the state lives: environments split, the rest on all."""
    axis = mesh.axis_names[0]
    split: Any = P(axis)
    whole: Any = P()
    specs = TrainState(agent.specs(axis), split, split, split, whole, whole)
    return jax.tree.map(
        lambda spec: NamedSharding(mesh, spec),
        specs,
        is_leaf=lambda x: isinstance(x, P),
    )


@functools.partial(jax.jit, static_argnums=(0, 1, 2, 3), donate_argnums=4)
def _run(
    agent: Agent, env: Environment, count: int, mesh: Mesh | None, state: TrainState
) -> tuple[TrainState, dict[str, jax.Array]]:
    def updates(state: TrainState) -> tuple[TrainState, dict[str, jax.Array]]:
        def one(state: TrainState, _: None) -> tuple[TrainState, dict[str, jax.Array]]:
            after, metrics = train_step(agent, env, state)
            if mesh is not None:
                shardings = _shardings(agent, mesh)
                after = jax.lax.with_sharding_constraint(after, shardings)
            return after, metrics

        return jax.lax.scan(one, state, length=count)

    return jax.vmap(updates)(state) if state.key.ndim else updates(state)


def _count(episodes: Episodes, timestep: TimeStep) -> Episodes:
    running, last = episodes.running + timestep.reward, timestep.last()
    return Episodes(
        running=jnp.where(last, 0, running),
        finished=jnp.where(last, running, episodes.finished),
        count=episodes.count + last.astype(jnp.int32),
    )


def _check_start(key: Any, seeds: Any, state: Any, num_envs: Any) -> int:
    """Checks what a run starts from; returns how many environments it has."""
    if sum(x is not None for x in (key, seeds, state)) != 1:
        raise ArgumentError(
            "train: wanted one of key, seeds and state; type key=jax.random.key(0) to "
            "start, or state=trained.state to go on"
        )
    if state is None:
        _check_key("key", key, 0)
        _check_key("seeds", seeds, 1)
        return 64 if num_envs is None else check_count("train", "num_envs", num_envs)
    if not isinstance(state, TrainState):
        raise ArgumentError(
            f"train: state is a {type(state).__name__}, wanted a TrainState; "
            f"type state=trained.state"
        )
    has = state.episodes.count.shape[-1]
    if num_envs is not None and num_envs != has:
        raise ArgumentError(
            f"train: num_envs is {num_envs}, wanted {has}, which the state has; "
            f"leave it out"
        )
    return has


def _check_key(name: str, key: Any, rank: int) -> None:
    if key is None:
        return
    dtype = getattr(key, "dtype", None)
    wanted = ["jax.random.key(0)", "jax.random.split(jax.random.key(0), 5)"]
    if dtype is None or not jnp.issubdtype(dtype, jax.dtypes.prng_key):
        found = f"a {type(key).__name__}" if dtype is None else f"of dtype {dtype}"
        raise ArgumentError(
            f"train: {name} is {found}, wanted typed keys; type {name}={wanted[rank]}"
        )
    if key.ndim != rank:
        raise ArgumentError(
            f"train: {name} has shape {key.shape}, wanted rank {rank}; "
            f"type {name}={wanted[rank]}"
        )


def _check_mesh(mesh: Mesh, num_envs: int, *, several: bool) -> None:
    if several:
        raise ArgumentError(
            "train: seeds are trained on one device, and a mesh was given; type key= "
            "for one run on the mesh, or leave out mesh="
        )
    devices = mesh.shape[mesh.axis_names[0]]
    if num_envs % devices:
        raise ArgumentError(
            f"train: num_envs is {num_envs}, wanted a multiple of the {devices} "
            f"devices along {mesh.axis_names[0]!r}; "
            f"type num_envs={-(-num_envs // devices) * devices}"
        )

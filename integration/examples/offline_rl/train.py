"""Learns CartPole from a file of episodes alone, on one or more devices.

    python train.py [--data FILE] [--devices 8] [--epochs 8]

Behaviour cloning copies what was done; offline Q-learning learns what it was worth.
Both are fed by a loader, which shuffles the rows and gives each device its part of
every batch.
"""

import argparse
import functools
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

import arrow_jax
import rlax_agents as ra

sys.path.insert(0, str(Path(__file__).parent))
from episodes import ENV, read_episodes, write_episodes

BATCH, DISCOUNT = 256, 0.99
COLUMNS = ["observation", "action", "reward", "discount", "next_observation"]
POLICY = ra.stochastic_policy(ENV.action_spec)
VALUES = ra.action_values(ENV.action_spec.n)

Batch = dict[str, jax.Array]
Loss = Callable[[Any, Any, Batch], jax.Array]


def cloning_loss(params: Any, target: Any, batch: Batch) -> jax.Array:
    """How unlikely the policy finds what was done."""
    del target
    policy = POLICY.apply(params, batch["observation"])
    return -policy.log_prob(batch["action"]).mean()


def conservative_q_loss(
    params: Any, target: Any, batch: Batch, *, caution: float
) -> jax.Array:
    """Double Q-learning that keeps down the values of what was not done.

    Without the second term the maximum picks actions that no data speak against.
    Rewards of 1 a step are scaled so that values lie between 0 and 1.

    References:
      Kumar et al., 2020, [Conservative Q-Learning](https://arxiv.org/abs/2006.04779),
      equation 4.
    """
    q_tm1 = VALUES.apply(params, batch["observation"])
    q_t = VALUES.apply(target, batch["next_observation"])
    selector = VALUES.apply(params, batch["next_observation"])
    r_t, discount_t = (1 - DISCOUNT) * batch["reward"], DISCOUNT * batch["discount"]
    a_tm1 = batch["action"]
    loss, _ = ra.double_q_loss(q_tm1, a_tm1, r_t, discount_t, q_t, selector)
    done = jnp.take_along_axis(q_tm1, a_tm1[:, None], axis=-1)[:, 0]
    return loss + caution * (jax.nn.logsumexp(q_tm1, axis=-1) - done).mean()


class Fitted(NamedTuple):
    """What `fit` gives back.

    Attributes:
      params: of the network.
      losses: of every step.
    """

    params: Any
    losses: np.ndarray


def fit(
    path: str | Path, loss: Loss, params: Any, *, mesh: Mesh, epochs: int
) -> Fitted:
    """Minimises a loss over the rows of a file.

    Args:
      path: of a file of `write_episodes`.
      loss: of parameters, of their slow copy, and of a batch.
      params: to start from.
      mesh: devices to split each batch of 256 over.
      epochs: how often to go through the rows.

    Returns:
      The parameters after the last step, and the losses.
    """
    ds = arrow_jax.read_parquet(path, columns=COLUMNS)
    chain = optax.adam(optax.cosine_decay_schedule(1e-3, len(ds) // BATCH * epochs))

    @jax.jit
    def step(params: Any, target: Any, opt: Any, batch: Batch) -> tuple:
        value, grads = jax.value_and_grad(loss)(params, target, batch)
        changes, opt = chain.update(grads, opt, params)
        params = optax.apply_updates(params, changes)
        return params, optax.incremental_update(params, target, 0.01), opt, value

    params = jax.device_put(params, NamedSharding(mesh, PartitionSpec()))
    target, opt, losses = params, chain.init(params), []
    with arrow_jax.Loader(
        ds,
        BATCH,
        shuffle=True,
        epochs=epochs,
        last="drop",
        sharding=NamedSharding(mesh, PartitionSpec("data")),
    ) as loader:
        for batch in loader:
            params, target, opt, value = step(params, target, opt, batch)
            losses.append(value)
    return Fitted(params, np.array(jax.device_get(losses)))


def clone(path: str | Path, *, mesh: Mesh, epochs: int) -> Fitted:
    """Behaviour cloning: the parameters of a policy."""
    start = POLICY.init(jax.random.key(0), jnp.zeros((1, 4)))
    return fit(path, cloning_loss, start, mesh=mesh, epochs=epochs)


def learn_values(
    path: str | Path, *, mesh: Mesh, epochs: int, caution: float = 0.1
) -> Fitted:
    """Offline Q-learning: the parameters of values."""
    loss = functools.partial(conservative_q_loss, caution=caution)
    start = VALUES.init(jax.random.key(0), jnp.zeros((1, 4)))
    return fit(path, loss, start, mesh=mesh, epochs=epochs)


@dataclass(frozen=True)
class Best:
    """An agent for `evaluate` that takes the best action by a network's scores."""

    scores: Callable[[Any, jax.Array], jax.Array]

    def exploit(self, state: Any, observation: jax.Array) -> jax.Array:
        """Actions[batch]."""
        return self.scores(state, observation).argmax(-1).astype(jnp.int32)


def policy_scores(params: Any, observation: jax.Array) -> jax.Array:
    """Logits[batch, 2]."""
    return POLICY.apply(params, observation).logits


CLONE, GREEDY = Best(policy_scores), Best(VALUES.apply)


def mean_return(agent: Best, params: Any, *, episodes: int = 100) -> float:
    """Mean return of whole episodes in the environment."""
    params = jax.device_put(jax.device_get(params), jax.devices()[0])
    key = jax.random.key(1)
    found = ra.evaluate(agent, ENV, params, key=key, episodes=episodes)
    return float(found.mean())


def make_mesh(n_devices: int) -> Mesh:
    """The first devices along the axis `data`."""
    devices = jax.devices()[:n_devices]
    return jax.make_mesh((n_devices,), ("data",), (AxisType.Auto,), devices=devices)


def main() -> None:
    """Runs the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, metavar="FILE")
    parser.add_argument("--devices", type=int, default=1, metavar="N")
    parser.add_argument("--epochs", type=int, default=8, metavar="N")
    options = parser.parse_args()
    jax.config.update("jax_num_cpu_devices", options.devices)
    with tempfile.TemporaryDirectory() as folder:
        path = options.data
        if path is None:
            path = Path(folder) / "episodes.parquet"
            write_episodes(path, updates=400)
        episodes = read_episodes(path)
        mesh, epochs = make_mesh(options.devices), options.epochs
        cloned = clone(path, mesh=mesh, epochs=epochs)
        learned = learn_values(path, mesh=mesh, epochs=epochs)
    say = sys.stdout.write
    say(f"{len(episodes):,} episodes, {sum(len(e['step']) for e in episodes):,} steps")
    say(f", {options.devices} devices\n")
    for name, skilled in (("random agent", False), ("PPO agent", True)):
        own = [e["reward"].sum() for e in episodes if e["skilled"][0] == skilled]
        say(f"{name:<20} return {np.mean(own):6.1f} in {len(own):,} episodes\n")
    for name, agent, found in (
        ("behaviour cloning", CLONE, cloned),
        ("offline Q-learning", GREEDY, learned),
    ):
        returns, losses = mean_return(agent, found.params), found.losses
        say(
            f"{name:<20} return {returns:6.1f} in 100 episodes, loss "
            f"{losses[:50].mean():.3f} to {losses[-50:].mean():.3f}\n"
        )


if __name__ == "__main__":
    main()

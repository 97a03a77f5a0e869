"""Small agents for tests: quick to compile, and one for every kind."""

import jax
import jax.numpy as jnp
import optax
from jax.sharding import PartitionSpec as P

import rlax_agents as ra

ENV = ra.Catch(rows=4, columns=3)


def adam(rate):
    return optax.chain(optax.clip_by_global_norm(1.0), optax.adam(rate))


class Recorder:
    """An agent that always does the same and keeps the last rollout in its state."""

    unroll_length = 7

    def __init__(self, env, action):
        self.env, self.action = env, action

    def init(self, key, num_envs):
        del key
        return jax.tree.map(
            lambda leaf: jnp.zeros(leaf.shape, leaf.dtype),
            jax.eval_shape(lambda: self._example(num_envs)),
        )

    def _example(self, num_envs):
        key = jax.random.key(0)
        _, now = jax.vmap(self.env.reset)(jax.random.split(key, num_envs))
        reward, last = now.reward, now.last()
        seen, action = now.observation, jnp.zeros(num_envs, jnp.int32)
        step = ra.Rollout(seen, action, reward, reward, last, last, seen, ())
        return jax.tree.map(lambda x: jnp.stack([x] * self.unroll_length), step)

    def act(self, state, key, observation):
        del state, key
        return jnp.full(len(observation), self.action, jnp.int32), ()

    def exploit(self, state, observation):
        return self.act(state, None, observation)[0]

    def update(self, state, key, rollout):
        del state, key
        return rollout, {}

    def specs(self, axis):
        return P(None, axis)


def small_policy(env=ENV):
    return ra.actor_critic(env.action_spec, hidden=(16,))


def small_values(env=ENV, atoms=None):
    return ra.action_values(env.action_spec.n, hidden=(16,), atoms=atoms)


POLICY, VALUES, LOGITS = small_policy(), small_values(), small_values(atoms=11)
RATE = adam(1e-2)

AGENTS = {
    "ppo": ra.PPO(
        ENV, network=POLICY, optimizer=RATE, unroll_length=6, minibatches=2, epochs=2
    ),
    "impala": ra.IMPALA(
        ENV, network=POLICY, optimizer=RATE, unroll_length=6, actor_period=2
    ),
    "dqn": ra.DQN(
        ENV,
        network=VALUES,
        optimizer=RATE,
        capacity=50,
        min_steps=6,
        batch_size=32,
        target_period=5,
    ),
    "categorical": ra.DQN(
        ENV,
        network=LOGITS,
        optimizer=RATE,
        capacity=50,
        min_steps=6,
        batch_size=32,
        target_period=5,
        n_step=3,
        atoms=ra.Atoms(-1.0, 1.0, 11),
    ),
    "mpo": ra.MPO(
        ENV,
        policy_network=ra.stochastic_policy(ENV.action_spec, hidden=(16,)),
        critic_network=VALUES,
        optimizer=RATE,
        capacity=50,
        min_steps=6,
        batch_size=32,
        target_period=5,
    ),
    "bonus": ra.WithBonus(
        ra.PPO(
            ENV,
            network=POLICY,
            optimizer=RATE,
            unroll_length=6,
            minibatches=2,
            epochs=1,
        ),
        beta=0.1,
        bits=6,
    ),
}

"""Small Haiku networks for the agents: what they take when they are given none.

Any `hk.Transformed` without state and without `rng` in apply, whose function maps one
batch of observations [batch, ...] to the same kind of outputs, can take their place.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np

from rlax_agents._distributions import Categorical, DiagonalGaussian, Policy
from rlax_agents._spaces import ActionSpec, Continuous


def mlp(
    observation: Any,
    hidden: Sequence[int],
    *,
    activation: Callable[[jax.Array], jax.Array] = jnp.tanh,
) -> jax.Array:
    """Features of a batch of observations: leaves flattened, joined, and a perceptron.

    To be called within `hk.transform`.

    Args:
      observation: pytree of arrays [batch, ...].
      hidden: widths of the layers.
      activation: after each layer.

    Returns:
      float[batch, hidden[-1]].

    Example:
      >>> import haiku as hk
      >>> net = hk.transform(lambda x: mlp(x, [16, 8]))
      >>> x = {"position": jnp.ones((4, 2)), "speed": jnp.ones(4)}
      >>> net.apply(net.init(jax.random.key(0), x), None, x).shape
      (4, 8)
    """
    leaves = [
        leaf.reshape(leaf.shape[0], -1).astype(jnp.float32)
        for leaf in jax.tree.leaves(observation)
    ]
    x = jnp.concatenate(leaves, axis=-1)
    for width in hidden:
        x = activation(hk.Linear(width, w_init=hk.initializers.Orthogonal(2**0.5))(x))
    return x


def policy_head(features: jax.Array, action_spec: ActionSpec) -> Policy:
    """A policy over the actions of a spec, near uniform at first.

    Continuous actions get a mean in the middle of their bounds, and a scale of a third
    of their half-width that is learned, but is the same in all states. To be called
    within `hk.transform`.

    Args:
      features: float[batch, width].
      action_spec: of the environment.

    Returns:
      A `Categorical` or a `DiagonalGaussian` of actions flattened to [batch, size].

    Example:
      >>> import haiku as hk
      >>> from rlax_agents import Discrete
      >>> net = hk.transform(lambda x: policy_head(x, Discrete(3)))
      >>> x = jnp.ones((4, 8))
      >>> net.apply(net.init(jax.random.key(0), x), None, x).logits.shape
      (4, 3)
    """
    small = hk.initializers.Orthogonal(0.01)
    if not isinstance(action_spec, Continuous):
        return Categorical(hk.Linear(action_spec.n, w_init=small)(features))
    low, high = (bound.ravel() for bound in action_spec.bounds())
    middle, half = (low + high) / 2, (high - low) / 2
    mean = middle[None] + half[None] * hk.Linear(low.size, w_init=small)(features)
    log_scale = hk.get_parameter("log_scale", low.shape, init=jnp.zeros)
    scale = half / 3 * jnp.exp(log_scale)
    return DiagonalGaussian(mean, jnp.broadcast_to(scale, mean.shape))


def actor_critic(
    action_spec: ActionSpec, *, hidden: Sequence[int] = (64, 64)
) -> hk.Transformed:
    """Two perceptrons, one for the policy and one for the value.

    Args:
      action_spec: of the environment.
      hidden: widths of the layers of each.

    Returns:
      Transformed; `apply(params, observation[batch])` gives (policy, v[batch]).

    Example:
      >>> import jax
      >>> from rlax_agents import Discrete
      >>> net = actor_critic(Discrete(3))
      >>> observation = jax.numpy.ones((8, 4))
      >>> policy, v = net.apply(net.init(jax.random.key(0), observation), observation)
      >>> policy.logits.shape, v.shape
      ((8, 3), (8,))
    """

    def forward(observation: Any) -> tuple[Policy, jax.Array]:
        policy = policy_head(mlp(observation, hidden), action_spec)
        v = hk.Linear(1, w_init=hk.initializers.Orthogonal(1.0))(
            mlp(observation, hidden)
        )
        return policy, v[..., 0]

    return hk.without_apply_rng(hk.transform(forward))


def action_values(
    n_actions: int, *, hidden: Sequence[int] = (64, 64), atoms: int | None = None
) -> hk.Transformed:
    """A perceptron for the values of discrete actions.

    Args:
      n_actions: how many actions there are.
      hidden: widths of the layers.
      atoms: how many logits each action has, for a categorical agent; None for values.

    Returns:
      Transformed; `apply(params, observation[batch])` gives [batch, actions] or
      [batch, actions, atoms].

    Example:
      >>> net = action_values(3, hidden=[8], atoms=51)
      >>> x = jnp.ones((4, 2))
      >>> net.apply(net.init(jax.random.key(0), x), x).shape
      (4, 3, 51)
    """

    def forward(observation: Any) -> jax.Array:
        x = mlp(observation, hidden, activation=jax.nn.relu)
        if atoms is None:
            return hk.Linear(n_actions)(x)
        return hk.Linear(n_actions * atoms)(x).reshape(-1, n_actions, atoms)

    return hk.without_apply_rng(hk.transform(forward))


def stochastic_policy(
    action_spec: ActionSpec, *, hidden: Sequence[int] = (64, 64)
) -> hk.Transformed:
    """A perceptron for a policy whose scale is a function of the state, too.

    Args:
      action_spec: of the environment.
      hidden: widths of the layers.

    Returns:
      Transformed; `apply(params, observation[batch])` gives a policy of flat actions.

    Example:
      >>> from rlax_agents import Continuous
      >>> net = stochastic_policy(Continuous((2,), -1.0, 1.0), hidden=[8])
      >>> x = jnp.ones((4, 3))
      >>> net.apply(net.init(jax.random.key(0), x), x).sample(jax.random.key(1)).shape
      (4, 2)
    """

    def forward(observation: Any) -> Policy:
        x = mlp(observation, hidden)
        if not isinstance(action_spec, Continuous):
            return policy_head(x, action_spec)
        low, high = (bound.ravel() for bound in action_spec.bounds())
        middle, half = (low + high) / 2, (high - low) / 2
        small = hk.initializers.Orthogonal(0.01)
        mean = middle[None] + half[None] * hk.Linear(low.size, w_init=small)(x)
        spread = jax.nn.softplus(hk.Linear(low.size, w_init=small)(x))
        # Half of the half-width at first: softplus of 0 is log 2.
        scale = half[None] * (spread * (0.5 / math.log(2)) + 1e-3)
        return DiagonalGaussian(mean, scale)

    return hk.without_apply_rng(hk.transform(forward))


def action_critic(*, hidden: Sequence[int] = (64, 64)) -> hk.Transformed:
    """A perceptron for the value of a continuous action.

    Args:
      hidden: widths of the layers.

    Returns:
      Transformed; `apply(params, observation[batch], a[batch, size])` gives [batch].

    Example:
      >>> net = action_critic(hidden=[8])
      >>> x, a = jnp.ones((4, 2)), jnp.ones((4, 1))
      >>> net.apply(net.init(jax.random.key(0), x, a), x, a).shape
      (4,)
    """

    def forward(observation: Any, a: jax.Array) -> jax.Array:
        x = mlp((observation, a), hidden, activation=jax.nn.relu)
        return hk.Linear(1)(x)[..., 0]

    return hk.without_apply_rng(hk.transform(forward))


def example_of(observation_spec: Any, num: int = 1) -> Any:
    """A batch of observations of a spec, all zeros, to make parameters with."""
    return jax.tree.map(
        lambda leaf: jnp.zeros((num, *leaf.shape), leaf.dtype), observation_spec
    )


def over_steps(apply: Callable[..., Any], params: Any, observation: Any) -> Any:
    """Applies a network of [batch, ...] to [time, batch, ...].

    The axes are not merged, so that a batch that is split over devices stays split.
    """
    return jax.vmap(apply, (None, 0))(params, observation)


def unflatten_actions(action: jax.Array, action_spec: ActionSpec) -> jax.Array:
    """Actions of the spec's shape from those that a Gaussian policy has flat."""
    if isinstance(action_spec, Continuous):
        action = action.reshape(*action.shape[:-1], *action_spec.shape)
    return action.astype(action_spec.dtype)


def flatten_actions(action: jax.Array, action_spec: ActionSpec) -> jax.Array:
    """The other way round."""
    if not isinstance(action_spec, Continuous):
        return action
    lead = action.ndim - len(action_spec.shape)
    return action.reshape(*action.shape[:lead], int(np.prod(action_spec.shape)))

"""Networks that policies and values are read from."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import haiku as hk
import jax
import jax.numpy as jnp

Activation = Callable[[jax.Array], jax.Array]


class MLP(hk.Module):
    """Linear layers with orthogonal weights, each followed by an activation.

    `hk.nets.MLP` starts from truncated normals and leaves the last layer linear, as a
    whole network wants it; this one is a torso: heads come on top. Orthogonal weights
    keep the lengths of signals and gradients at the start, which on-policy learning is
    sensitive to.

    Args:
      sizes: widths of the layers.
      activation: after each layer.
      layer_norm: whether each layer is normalised before its activation.
      name: the module's name, for Haiku; by default `mlp`.

    Example:
      >>> import haiku as hk, jax, jax.numpy as jnp
      >>> torso = hk.without_apply_rng(hk.transform(lambda x: MLP((64, 64))(x)))
      >>> params = torso.init(jax.random.key(0), jnp.ones((1, 4)))
      >>> torso.apply(params, jnp.ones((8, 4))).shape
      (8, 64)

    References:
      Saxe, McClelland, Ganguli, Exact solutions to the nonlinear dynamics of learning
      in deep linear neural networks, 2013, section 3, https://arxiv.org/abs/1312.6120
    """

    def __init__(
        self,
        sizes: Sequence[int],
        *,
        activation: Activation = jnp.tanh,
        layer_norm: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__(name=name or "mlp")
        self.sizes = tuple(sizes)
        self.activation = activation
        self.layer_norm = layer_norm

    def __call__(self, x: jax.Array) -> jax.Array:
        """Maps the last axis.

        Args:
          x: floats [..., n].

        Returns:
          Floats [..., sizes[-1]], of x's dtype.
        """
        for size in self.sizes:
            x = orthogonal_linear(size, gain=math.sqrt(2))(x)
            if self.layer_norm:
                x = hk.LayerNorm(axis=-1, create_scale=True, create_offset=True)(x)
            x = self.activation(x)
        return x


class ActorCriticOutput(NamedTuple):
    """What an actor-critic says of observations.

    Attributes:
      logits: float[..., actions], of the policy.
      value: float[...], the return that is expected.
    """

    logits: jax.Array
    value: jax.Array


class ActorCritic(hk.Module):
    """A policy over discrete actions, and a value, from torsos of their own.

    The policy's last layer starts a hundred times smaller than the value's, so that at
    first all actions are about as likely.

    Args:
      actions: how many there are.
      sizes: widths of each torso's layers.
      shared: whether policy and value read one torso; cheaper, and right for pixels,
        but then the two losses pull at the same weights.
      activation: after each layer.
      name: the module's name, for Haiku; by default `actor_critic`.

    Example:
      >>> import haiku as hk, jax, jax.numpy as jnp
      >>> net = hk.without_apply_rng(hk.transform(lambda x: ActorCritic(2)(x)))
      >>> params = net.init(jax.random.key(0), jnp.ones((1, 4)))
      >>> logits, value = net.apply(params, jnp.ones((8, 4)))
      >>> logits.shape, value.shape
      ((8, 2), (8,))

    References:
      Andrychowicz et al., What Matters In On-Policy Reinforcement Learning?, 2020,
      section 3.2, https://arxiv.org/abs/2006.05990
    """

    def __init__(
        self,
        actions: int,
        *,
        sizes: Sequence[int] = (64, 64),
        shared: bool = False,
        activation: Activation = jnp.tanh,
        name: str | None = None,
    ) -> None:
        super().__init__(name=name or "actor_critic")
        self.actions = actions
        self.sizes = tuple(sizes)
        self.shared = shared
        self.activation = activation

    def __call__(self, observations: jax.Array) -> ActorCriticOutput:
        """Judges observations.

        Args:
          observations: floats [..., n].

        Returns:
          Logits [..., actions] and values [...].
        """
        actor = MLP(self.sizes, activation=self.activation, name="actor")
        of_actor = actor(observations)
        of_critic = of_actor
        if not self.shared:
            critic = MLP(self.sizes, activation=self.activation, name="critic")
            of_critic = critic(observations)
        logits = orthogonal_linear(self.actions, gain=0.01, name="policy")(of_actor)
        value = orthogonal_linear(1, gain=1.0, name="value")(of_critic)
        return ActorCriticOutput(logits, value[..., 0])


def orthogonal_linear(size: int, *, gain: float, name: str | None = None) -> hk.Linear:
    """A linear layer with orthogonal weights times `gain`, and no bias at first.

    Args:
      size: width of the output.
      gain: the largest singular value of the weights.
      name: the module's name.

    Returns:
      The layer.
    """

    def w_init(shape: Sequence[int], dtype: Any) -> jax.Array:
        # QR has no half precision, and Haiku's own initialiser no strict promotion.
        wide = jnp.float32 if jnp.dtype(dtype).itemsize < 4 else dtype
        orthogonal = jax.nn.initializers.orthogonal(gain)
        return orthogonal(hk.next_rng_key(), tuple(shape), wide).astype(dtype)

    return hk.Linear(size, w_init=w_init, b_init=jnp.zeros, name=name)

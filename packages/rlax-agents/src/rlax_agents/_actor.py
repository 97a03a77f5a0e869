"""What the losses of policies share: checks, masks, and the terms they add up.

The agent was in the states of `tm1`, took `a_tm1` with log-probability `log_mu_tm1`,
and now has the policy `pi_tm1` there. All have the axes of the advantages in front.
"""

from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jax import lax

from rlax_agents._checks import (
    ArgumentError,
    as_array,
    check_float,
    check_mask,
    check_shape,
    read_values,
)
from rlax_agents._distributions import Categorical, Policy
from rlax_agents._mean import check_weights, widen
from rlax_agents._recurrence import fill_masked

P = TypeVar("P")


class Acted(NamedTuple):
    """Steps in which a policy acted, checked; what is filled is 0 at masked steps.

    Attributes:
      where: the function that asks.
      like: the name of the argument whose shape the steps have.
      shape: of the steps.
      mask_t: bool[*shape], or None.
    """

    where: str
    like: str
    shape: tuple[int, ...]
    mask_t: jax.Array | None

    def fill(self, name: str, value: Any) -> jax.Array:
        """Makes float[*shape] of an argument, at least float32.

        Raises:
          ArgumentError: if it holds no floats, or has another shape.
        """
        array = check_float(self.where, name, value)
        check_shape(self.where, name, array, self.shape, like=self.like)
        return widen(fill_masked(array, self.mask_t))

    def fill_policy(self, name: str, policy: P) -> P:
        """The policy in at least float32, with harmless numbers at masked steps.

        Raises:
          ArgumentError: if it is no policy, or is of other states.
        """
        if not isinstance(policy, Policy):
            raise ArgumentError(
                f"{self.where}: {name} is a {type(policy).__name__}, wanted a policy; "
                f"type Categorical({name}) if it holds logits"
            )

        steps = len(self.shape)

        def harmless(leaf: Any) -> jax.Array:
            array = check_float(self.where, f"an array of {name}", leaf)
            if array.shape[:steps] != self.shape:
                raise ArgumentError(self._mismatch(name, array.shape))
            # One is a logit, a mean and, unlike zero, a scale.
            one = jnp.ones((), array.dtype)
            return widen(array if self.mask_t is None else self._where(array, one))

        return jax.tree.map(harmless, policy)

    def _where(self, array: jax.Array, other: jax.Array) -> jax.Array:
        mask_t = jnp.asarray(self.mask_t)
        mask = mask_t.reshape(mask_t.shape + (1,) * (array.ndim - mask_t.ndim))
        return jnp.where(mask, array, other)

    def _mismatch(self, name: str, found: tuple[int, ...]) -> str:
        shape, remedy = self.shape, "both have to be of the same steps"
        if shape[-1:] == (1,) and found[: len(shape) - 1] == shape[:-1]:
            remedy = f"type {self.like}[..., 0]"
        elif len(shape) > 1 and found[:2] == (shape[1], shape[0]):
            remedy = f"time and batch are swapped: type jnp.swapaxes({self.like}, 0, 1)"
        return (
            f"{self.where}: {name} has shape {found}, wanted first axes "
            f"{shape} like {self.like}; {remedy}"
        )

    def log_prob(self, name: str, policy: Any, a_tm1: Any) -> jax.Array:
        """Log-probabilities of actions under a policy that was filled.

        Actions are what was done, so no gradient flows through them, even where they
        come from a `sample` that has one.

        Raises:
          ArgumentError: if the actions are none of the policy's.
        """
        a_tm1 = as_array(self.where, "a_tm1", a_tm1)
        if a_tm1.shape[: len(self.shape)] != self.shape:
            raise ArgumentError(self._mismatch("a_tm1", a_tm1.shape))
        a_tm1 = fill_masked(a_tm1, self.mask_t)
        if jnp.issubdtype(a_tm1.dtype, jnp.floating):
            a_tm1 = widen(a_tm1)
        try:
            log_prob = policy.log_prob(lax.stop_gradient(a_tm1))
        except ArgumentError as error:
            raise ArgumentError(
                f"{self.where}: a_tm1 are no actions of {name}: {error}"
            ) from None
        label = f"{name}.log_prob(a_tm1)"
        check_shape(self.where, label, log_prob, self.shape, like=self.like)
        return log_prob

    def behaviour(self, policy: Any, log_mu_tm1: Any) -> jax.Array:
        """What the actions had when they were taken, without a gradient.

        Raises:
          ArgumentError: if they are probabilities and not their logarithms.
        """
        log_mu_tm1 = self.fill("log_mu_tm1", log_mu_tm1)
        known = read_values(log_mu_tm1) if isinstance(policy, Categorical) else None
        if known is not None and (known > 1e-3).any():
            raise ArgumentError(
                f"{self.where}: log_mu_tm1 is up to {known.max():g}, wanted "
                f"log-probabilities, 0 or less; type jnp.log(log_mu_tm1) if it holds "
                f"probabilities"
            )
        return lax.stop_gradient(log_mu_tm1)

    def weights(self, weights: Any) -> jax.Array | None:
        """Factors of the steps, or None of None."""
        return check_weights(self.where, weights, self.shape, mask_t=self.mask_t)


def check_acted(where: str, *, mask_t: Any, **values: Any) -> Acted:
    """Steps of the shape of an argument, such as the advantages.

    Raises:
      ArgumentError: if the mask has another shape or is not bool.
    """
    ((like, value),) = values.items()
    shape = check_float(where, like, value).shape
    mask_t = check_mask(where, "mask_t", mask_t, shape, like=like)
    return Acted(where, like, shape, mask_t)

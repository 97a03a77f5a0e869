"""RMSprop, for targets that move: recurrent nets, reinforcement learning, critics."""

import optax

from optax_chains._checks import DECAY, MOMENTUM, NOT_NEGATIVE, check_numbers
from optax_chains._scale_by_rate import scale_by_rate


def rmsprop(
    learning_rate: optax.ScalarOrSchedule = 1e-3,
    *,
    decay: float = 0.99,
    eps: float = 1e-8,
    centered: bool = False,
    momentum: float | None = None,
) -> optax.GradientTransformation:
    r"""RMSprop with eps outside the root: g / (sqrt(nu) + eps).

    `optax.rmsprop` puts eps inside the root and forgets faster (0.9); these are the
    conventions of PyTorch and of most published reinforcement learning. With
    `momentum` the steps, after the rate, are accumulated.

    Args:
      learning_rate: a number or a schedule of the step.
      decay: decay of the mean of the squared gradients.
      eps: added to the root of that mean; large ones (0.1) damp small gradients.
      centered: whether to divide by the standard deviation instead of the root of the
        mean square.
      momentum: decay of the sum of the scaled gradients; None for none.

    Returns:
      A chain.

    Raises:
      ValueError: if `decay` is not from 0 up to 1, `momentum` not between -1 and 1, or
        another number negative or not finite.
      TypeError: if one is no number.

    Example:
      >>> import jax.numpy as jnp
      >>> chain = rmsprop(0.1, decay=0.75)
      >>> chain.update(jnp.ones(1), chain.init(jnp.ones(1)))[0]
      Array([-0.2], dtype=float32)

    References:
      Tieleman, Hinton, 2012, [Lecture 6.5 of Neural Networks for Machine Learning](
      https://www.cs.toronto.edu/~tijmen/csc321/slides/lecture_slides_lec6.pdf); Graves,
      2013, [Generating Sequences with Recurrent Neural
      Networks](https://arxiv.org/abs/1308.0850), equations 38 to 41, for the centred
      form.
    """
    check_numbers("rmsprop", DECAY, decay=decay)
    check_numbers("rmsprop", NOT_NEGATIVE, eps=eps)
    if momentum is not None:
        check_numbers("rmsprop", MOMENTUM, momentum=momentum)
    scale = optax.scale_by_stddev if centered else optax.scale_by_rms
    parts = [scale(decay=decay, eps=eps, eps_in_sqrt=False)]
    if momentum is not None:
        parts.append(optax.trace(decay=momentum))
    return optax.chain(*parts, scale_by_rate(learning_rate))

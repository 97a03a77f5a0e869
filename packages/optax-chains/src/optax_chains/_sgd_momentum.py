"""SGD with momentum, as image classifiers are trained."""

import jax
import optax

from optax_chains._checks import MOMENTUM, NOT_NEGATIVE, check_numbers
from optax_chains._decay_mask import check_mask, decay_mask
from optax_chains._scale_by_rate import scale_by_rate


def sgd_momentum(
    learning_rate: optax.ScalarOrSchedule = 0.1,
    *,
    momentum: float = 0.9,
    nesterov: bool = False,
    weight_decay: float = 0.0,
    mask: optax.MaskOrFn = decay_mask,
) -> optax.GradientTransformation:
    """SGD with momentum; weight decay is part of the gradient, as in L2.

    Args:
      learning_rate: a number or a schedule of the step.
      momentum: decay of the sum of the gradients, between -1 and 1.
      nesterov: whether to look one step ahead.
      weight_decay: factor of the weight that joins the gradient before the momentum.
      mask: which parameters decay; `decay_mask` spares biases and norms.

    Returns:
      A chain. Its update needs `params` where `weight_decay` is not 0, or a jax array.
      `optax.inject_hyperparams` takes functions for schedules: with decay, type
      `static_args="mask"` there.

    Raises:
      ValueError: if `momentum` is not between -1 and 1, another number negative or not
        finite, or `mask` False where `weight_decay` is not 0.
      TypeError: if one is no number.

    Example:
      >>> import jax.numpy as jnp
      >>> chain = sgd_momentum(0.1)
      >>> state = chain.init(jnp.ones(1))
      >>> first, state = chain.update(jnp.ones(1), state)
      >>> chain.update(jnp.ones(1), state)[0]
      Array([-0.19], dtype=float32)

    References:
      Sutskever et al., 2013, [On the importance of initialization and momentum in deep
      learning](https://proceedings.mlr.press/v28/sutskever13.html), equations 1 to 4;
      He et al., 2016, [Deep Residual Learning](https://arxiv.org/abs/1512.03385),
      section 3.4, for the setting 0.1, 0.9, 1e-4.
    """
    check_numbers("sgd_momentum", MOMENTUM, momentum=momentum)
    check_numbers("sgd_momentum", NOT_NEGATIVE, weight_decay=weight_decay)
    # An array may be known when the state is made and traced when it is used; the
    # chain must be the same.
    decays = isinstance(weight_decay, jax.Array) or weight_decay != 0
    if not isinstance(weight_decay, jax.core.Tracer) and weight_decay != 0:
        check_mask("sgd_momentum", mask)
    parts = [optax.add_decayed_weights(weight_decay, mask)] if decays else []
    trace = optax.trace(decay=momentum, nesterov=nesterov)
    return optax.chain(*parts, trace, scale_by_rate(learning_rate))

"""Gradients that give away little about any one example."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from optax_chains._checks import BOUNDED, NOT_NEGATIVE, check_key, check_numbers
from optax_chains._microbatches import rows_of, sum_over_microbatches
from optax_chains._norms import global_norm
from optax_chains._wide import wide, wide_zeros

# The norm is a float32 sum, and off by its rounding; clipping a little shorter keeps
# the true norm of what is summed below the bound that the noise is made for.
_SHORTER = 1 - 1e-5


def dp_sgd(
    loss: Callable[..., jax.Array],
    *,
    clip_norm: float,
    noise_multiplier: float,
    expected_batch_size: float,
    microbatch_size: int | None = None,
) -> Callable[..., tuple[jax.Array, Any]]:
    """Makes a differentially private gradient function of a loss of one example.

    Each example's gradient is clipped to `clip_norm`, the clipped ones are summed,
    Gaussian noise of standard deviation `noise_multiplier * clip_norm` is added to
    every number of the sum, and it is divided by the *expected* batch size, which
    unlike the true one is no secret. Adding or removing an example moves the sum by at
    most `clip_norm`. Any chain may take it from there. `epsilon` says what a run of
    such steps gives away; it counts on Poisson sampling, in which each example is in
    each batch by a toss of its own, so that batches vary in size and are padded.

    Only the gradients are private. The value is the plain mean loss: keep it to
    yourself, or out of the program.

    An example whose gradient has a norm that is not finite, or above 1.8e19, counts as
    zero. Floating
    point noise is not the ideal Gaussian of the theory; see Mironov, 2012, for what
    that means against an attacker who sees every bit.

    Args:
      loss: `(params, example, *shared) -> scalar`, of one example without a batch
        axis.
      clip_norm: the longest that an example's gradient may be.
      noise_multiplier: the noise's standard deviation in units of `clip_norm`; 0 for
        none, and no privacy.
      expected_batch_size: examples a batch on average: sampling rate times examples.
      microbatch_size: examples whose gradients are in memory at once, as float32
        trees like the parameters; it must divide the batch's rows. None for all.

    Returns:
      `gradient(params, batch, key, *shared, valid=None) -> (value, gradients)`. `batch`
      has a leading axis of rows in every leaf; `valid`, bool[rows], is False for rows
      that are padding, whatever is in them. `key` makes the noise: never use one
      twice, and take the first from the operating system, not from a seed that can be
      guessed. The gradients have the parameters' dtypes.

    Raises:
      ValueError: if `clip_norm` or `expected_batch_size` is not above 0 and finite,
        `noise_multiplier` is not 0 or more and finite, `microbatch_size` is below 1 or
        does not divide the rows, or there are no rows and no `microbatch_size`; if the
        leaves of `batch` are not equally long, `valid` is not as long, or `params` has
        no arrays.
      TypeError: if a number is none, `valid` is not of bools, or `key` is no key.

    Example:
      >>> import jax, jax.numpy as jnp
      >>> gradient = dp_sgd(
      ...     lambda params, x: jnp.sum(params * x),
      ...     clip_norm=1.0, noise_multiplier=0.0, expected_batch_size=2,
      ... )
      >>> x, valid = jnp.array([[3.0, 4.0], [0.0, 0.5]]), jnp.array([True, True])
      >>> value, grads = gradient(jnp.zeros(2), x, jax.random.key(0), valid=valid)
      >>> [round(float(g), 3) for g in grads]
      [0.3, 0.65]

    References:
      Abadi et al., 2016, [Deep Learning with Differential
      Privacy](https://arxiv.org/abs/1607.00133), algorithm 1; Ponomareva et al., 2023,
      [How to DP-fy ML](https://arxiv.org/abs/2303.00654), section 4.3, for Poisson
      batches and the fixed divisor; Mironov, 2012, [On significance of the least
      significant bits for differential privacy](https://doi.org/10.1145/2382196.2382264).
    """
    check_numbers(
        "dp_sgd", BOUNDED, clip_norm=clip_norm, expected_batch_size=expected_batch_size
    )
    check_numbers("dp_sgd", NOT_NEGATIVE, noise_multiplier=noise_multiplier)

    def sum_of_clipped(params: Any, rows: Any, shared: Any) -> tuple[jax.Array, Any]:
        examples, valid = rows
        values, grads = jax.vmap(
            lambda example: jax.value_and_grad(loss)(params, example, *shared)
        )(examples)
        grads = wide(grads)
        norms = jax.vmap(global_norm)(grads)
        counts = valid & jnp.isfinite(norms)
        factors = jnp.minimum(1.0, _SHORTER * clip_norm / norms)

        def total(g: jax.Array) -> jax.Array:
            over = (-1,) + (1,) * (g.ndim - 1)
            # A product with 0 would keep NaNs. A sum, and no matrix product: those
            # round to fewer bits on some devices, and the bound would not hold.
            factor = factors.reshape(over).astype(g.dtype)
            clipped = jnp.where(counts.reshape(over), g * factor, 0)
            return jnp.sum(clipped, 0)

        values = jnp.where(valid, values.astype(float), 0)
        return jnp.sum(values), jax.tree.map(total, grads)

    def gradient(
        params: Any, batch: Any, key: jax.Array, *shared: Any, valid: Any = None
    ) -> tuple[jax.Array, Any]:
        check_key("dp_sgd", key)
        if not jax.tree.leaves(params):
            raise ValueError(
                "dp_sgd: params has no arrays, wanted one or more; hand over what the "
                "loss is to be differentiated by"
            )
        rows = rows_of("dp_sgd", "batch", batch)
        valid = jnp.ones(rows, bool) if valid is None else jnp.asarray(valid)
        if valid.dtype != bool:
            raise TypeError(
                f"dp_sgd: valid has the dtype {valid.dtype}, wanted bool; type "
                "valid=valid != 0"
            )
        if valid.shape != (rows,):
            raise ValueError(
                f"dp_sgd: valid has the shape {valid.shape}, wanted one bool for each "
                f"row of the batch, ({rows},); type valid=jnp.ones({rows}, bool) for "
                "no padding"
            )
        value, total = sum_over_microbatches(
            "dp_sgd",
            lambda rows: sum_of_clipped(params, rows, shared),
            (batch, valid),
            size=microbatch_size,
            zero=(jnp.zeros(()), wide_zeros(params)),
        )
        leaves, treedef = jax.tree.flatten(total)
        keys = jax.random.split(key, len(leaves))
        scale = noise_multiplier * clip_norm
        noised = [
            g + scale * jax.random.normal(k, g.shape, g.dtype)
            for g, k in zip(leaves, keys, strict=True)
        ]
        grads = jax.tree.map(
            lambda g, p: (g / expected_batch_size).astype(p.dtype),
            jax.tree.unflatten(treedef, noised),
            params,
        )
        count = jnp.maximum(jnp.sum(valid), 1).astype(value.dtype)
        return value / count, grads

    return gradient

"""Every return with a batch for it: what the laws of returns run over."""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import return_oracle as oracle

import rlax_agents as ra

N_ACTIONS = 3


def floats(batch, *names, dtype=jnp.float32):
    return [jnp.asarray(batch[name], dtype) for name in names]


def action_values(seed=0):
    """Values, actions and policies of a batch for returns of action values."""
    rng = np.random.default_rng(seed + 100)
    wide, flat = (oracle.T, oracle.B, N_ACTIONS), (oracle.T, oracle.B)
    pi_t = rng.dirichlet(np.ones(N_ACTIONS), flat)
    mu_t = rng.dirichlet(np.ones(N_ACTIONS), flat)
    a_tm1, a_t = rng.integers(0, N_ACTIONS, (2, *flat))
    return {
        "q_tm1": rng.normal(size=wide),
        "q_t": rng.normal(size=wide),
        "a_tm1": a_tm1,
        "a_t": a_t,
        "pi_t": pi_t,
        "mu_t": np.take_along_axis(mu_t, a_t[..., None], -1)[..., 0],
    }


class Case(NamedTuple):
    """A return, the arrays it takes, and whether gradients flow by default."""

    function: object
    names: tuple[str, ...]
    learns: tuple[str, ...] = ()


def of_each_step(function):
    """The return with a lambda of each step, as its last array."""

    def with_lambda(*arrays, **options):
        return function(*arrays[:-1], lambda_=arrays[-1], **options)

    return functools.wraps(function)(with_lambda)


CASES = {
    "discounted": Case(ra.discounted_returns, ("r_t", "discount_t", "v_t")),
    "lambda": Case(
        functools.partial(ra.lambda_returns, lambda_=0.9), ("r_t", "discount_t", "v_t")
    ),
    "n_step": Case(
        functools.partial(ra.n_step_returns, n=3), ("r_t", "discount_t", "v_t")
    ),
    "gae": Case(ra.gae, ("r_t", "discount_t", "v_tm1", "v_t")),
    "vtrace": Case(
        functools.partial(ra.vtrace, lambda_=0.9),
        ("v_tm1", "v_t", "r_t", "discount_t", "rho_tm1"),
        ("v_tm1",),
    ),
    "general": Case(
        ra.general_off_policy_returns,
        ("v_tm1", "v_t", "r_t", "discount_t", "rho_tm1"),
    ),
    "retrace": Case(
        ra.retrace,
        ("q_tm1", "q_t", "a_tm1", "a_t", "r_t", "discount_t", "pi_t", "mu_t"),
        ("q_tm1",),
    ),
    "lambda_steps": Case(
        of_each_step(ra.lambda_returns), ("r_t", "discount_t", "v_t", "lambda_")
    ),
    "gae_steps": Case(
        of_each_step(ra.gae), ("r_t", "discount_t", "v_tm1", "v_t", "lambda_")
    ),
    "vtrace_steps": Case(
        of_each_step(ra.vtrace),
        ("v_tm1", "v_t", "r_t", "discount_t", "rho_tm1", "lambda_"),
        ("v_tm1",),
    ),
    "q_lambda": Case(
        ra.q_lambda, ("q_tm1", "a_tm1", "r_t", "discount_t", "q_t"), ("q_tm1",)
    ),
}


def arrays_of(case, *, dtype=jnp.float32, ends=True, seed=0):
    """The case's arrays and its flags."""
    batch = {**oracle.batch(seed, ends=ends), **action_values(seed)}
    arrays = [
        jnp.asarray(batch[n], dtype if batch[n].dtype == np.float64 else jnp.int32)
        for n in case.names
    ]
    flags = {n: jnp.asarray(batch[n]) for n in ("truncated_t", "mask_t")}
    return arrays, flags


def total(tree):
    """A number that depends on everything in the tree."""
    return sum(jnp.sum(jnp.sin(leaf)) for leaf in jax.tree.leaves(tree))


def by_rlax(function, *arrays):
    """Maps a function of rlax over the sequences of a batch."""
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        return jax.vmap(function, in_axes=1, out_axes=1)(*arrays)

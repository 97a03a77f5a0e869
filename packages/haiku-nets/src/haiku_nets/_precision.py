"""Mixed precision by path: which modules compute in which dtype.

Haiku sets a jmp policy for a class of modules. What must stay in float32 is usually a
place: the last layer, the loss, one normalisation.
"""

import fnmatch
from collections.abc import Callable, Mapping
from typing import Any

import haiku as hk
import jax
import jax.numpy as jnp
import jmp


def mixed_precision(
    fn: Callable[..., Any],
    policies: Mapping[str, jmp.Policy],
    *,
    rest: jmp.Policy | None = None,
) -> Callable[..., Any]:
    """Runs each module of a Haiku function by the policy that its path matches.

    A policy has the dtype that parameters are kept in, the one that is computed in and
    the one that comes out. Modules inside a module follow their own paths, and where
    no pattern matches them, `rest`.

    Args:
      fn: a function to be given to `hk.transform`.
      policies: glob over the module's path, such as `mlp/~/linear_2`, -> policy. `*`
        stands for anything, slashes too.
      rest: the policy of the modules that no pattern matches; None to leave them be.

    Returns:
      A function for `hk.transform`, of the same arguments.

    Raises:
      ValueError: when the function runs, if a module's path matches two patterns.

    Example:
      >>> import haiku as hk, jax, jax.numpy as jnp, jmp
      >>> half = jmp.get_policy("params=float32,compute=bfloat16,output=bfloat16")
      >>> full = jmp.get_policy("float32")
      >>> def f(x):
      ...     return hk.nets.MLP((8, 2))(x)
      >>> net = hk.without_apply_rng(
      ...     hk.transform(mixed_precision(f, {"mlp/~/linear_1": full}, rest=half))
      ... )
      >>> params = net.init(jax.random.key(0), jnp.ones((1, 4)))
      >>> {str(x.dtype) for x in jax.tree.leaves(params)}
      {'float32'}

    References:
      Micikevicius et al., Mixed Precision Training, 2017,
      https://arxiv.org/abs/1710.03740; the policies are jmp's,
      https://github.com/google-deepmind/jmp
    """

    def policy_of(module: hk.Module) -> jmp.Policy | None:
        path = module.module_name
        found = [p for p in policies if fnmatch.fnmatchcase(path, p)]
        if len(found) > 1:
            listed = ", ".join(map(repr, found))
            raise ValueError(
                f"mixed_precision: {path!r} matches {len(found)} patterns, {listed}; "
                "narrow all but one."
            )
        return policies[found[0]] if found else rest

    def create(
        next_creator: Any, shape: Any, dtype: Any, init: Any, context: Any
    ) -> Any:
        policy = context.module and policy_of(context.module)
        if policy and jnp.issubdtype(dtype, jnp.floating):
            dtype = policy.param_dtype
        return next_creator(shape, dtype, init)

    def get(next_getter: Any, value: jax.Array, context: Any) -> jax.Array:
        value = next_getter(value)
        policy = context.module and policy_of(context.module)
        return policy.cast_to_compute(value) if policy else value

    def call(next_fn: Any, args: Any, kwargs: Any, context: hk.MethodContext) -> Any:
        if context.method_name == "__init__":  # it has no name yet
            return next_fn(*args, **kwargs)
        policy = policy_of(context.module)
        if policy is None:
            return next_fn(*args, **kwargs)
        args, kwargs = policy.cast_to_compute((args, kwargs))
        return policy.cast_to_output(next_fn(*args, **kwargs))

    def with_policies(*args: Any, **kwargs: Any) -> Any:
        with (
            hk.custom_creator(create),
            hk.custom_getter(get),
            hk.intercept_methods(call),
        ):
            return fn(*args, **kwargs)

    return with_policies

"""Mixed precision by path: which modules compute in which dtype.

Haiku sets a jmp policy for a class of modules. What must stay in float32 is usually a
place: the last layer, the loss, one normalisation.
"""

import contextlib
import fnmatch
import warnings
from collections.abc import Callable, Generator, Mapping
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
      TypeError: if a policy is none.
      ValueError: when the function runs, if a module's path matches two patterns.

    Warns:
      UserWarning: by `init`, if a pattern matches no module that ran. Modules that run
        in training only, or in another function that shares the patterns, are right
        to be missing.

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
    _check_policies(policies, rest)

    def with_policies(*args: Any, **kwargs: Any) -> Any:
        seen: dict[str, None] = {}

        def policy_of(module: hk.Module) -> jmp.Policy | None:
            seen[module.module_name] = None
            return _policy_of(module.module_name, policies, rest)

        with _interception(policy_of):
            out = fn(*args, **kwargs)
        if hk.running_init():  # which runs most modules; apply may run a few
            _warn_of_unused(policies, seen)
        return out

    return with_policies


def _check_policies(policies: Any, rest: Any) -> None:
    given = dict(policies) if rest is None else {**policies, "rest": rest}
    for pattern, policy in given.items():
        if not isinstance(policy, jmp.Policy):
            raise TypeError(
                f"mixed_precision found {policy!r} for {pattern!r}, wanted a policy: "
                "pass jmp.get_policy('params=float32,compute=bfloat16,output=float32')."
            )


def _policy_of(
    path: str, policies: Mapping[str, jmp.Policy], rest: jmp.Policy | None
) -> jmp.Policy | None:
    found = [p for p in policies if fnmatch.fnmatchcase(path, p)]
    if len(found) > 1:
        listed = ", ".join(map(repr, found))
        raise ValueError(
            f"mixed_precision: {path!r} matches {len(found)} patterns, {listed}; "
            "narrow all but one."
        )
    return policies[found[0]] if found else rest


@contextlib.contextmanager
def _interception(
    policy_of: Callable[[hk.Module], jmp.Policy | None],
) -> Generator[None]:
    """Casts parameters, arguments and results of the modules that run in it."""

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

    with hk.custom_creator(create), hk.custom_getter(get), hk.intercept_methods(call):
        yield


def _warn_of_unused(
    policies: Mapping[str, jmp.Policy], seen: Mapping[str, None]
) -> None:
    for pattern in policies:
        if not any(fnmatch.fnmatchcase(path, pattern) for path in seen):
            paths = ", ".join(map(repr, list(seen)[:20])) or "none"
            warnings.warn(
                f"mixed_precision: {pattern!r} matches no module that ran; they are "
                f"{paths}: correct the pattern, or take it out.",
                stacklevel=3,
            )

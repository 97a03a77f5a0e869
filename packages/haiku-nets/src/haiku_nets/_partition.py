"""Where parameters lie on a mesh, by rules on their paths; optimizer state follows.

Haiku's parameters are a dict of dicts, so their paths name what they are. A few rules
say how each kind is split, and one function carries that over to any state that has a
copy of the parameters in it.
"""

import fnmatch
import math
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np
from jax.sharding import AbstractMesh, Mesh, NamedSharding, PartitionSpec


def partition(params: Any, rules: Mapping[str, PartitionSpec], mesh: Mesh) -> Any:
    """Gives each parameter the sharding of the rule that its path matches.

    Use the result as `in_shardings` and `out_shardings` of a jitted step, or with
    `jax.device_put`. Every parameter must be named by exactly one rule: one that is
    forgotten would be replicated without a word, which is how large models run out of
    memory.

    Args:
      params: a pytree of arrays or numbers, or of their shapes from
        `jax.eval_shape`.
      rules: glob over the whole path -> how the parameter is split. A path is written
        with slashes, `mlp/~/linear_0/w`; `*` stands for anything, slashes too. A spec
        shorter than the parameter's axes leaves the rest whole.
      mesh: the devices, with axes of any type.

    Returns:
      A tree of `NamedSharding`, of the structure of `params`.

    Raises:
      ValueError: if a path matches no rule or several, a rule matches no path, or a
        spec does not fit: too many axes, an axis that the mesh has not or that is
        named twice, one left unconstrained, or a length that does not divide.
      TypeError: if `mesh` is no mesh, or a rule is no `PartitionSpec`.

    Example:
      >>> import jax, jax.numpy as jnp
      >>> from jax.sharding import PartitionSpec as P
      >>> mesh = jax.make_mesh((1, 1), ("data", "model"))
      >>> params = {"mlp/linear": {"w": jnp.ones((4, 8)), "b": jnp.ones(8)}}
      >>> rules = {"*/w": P(None, "model"), "*/b": P("model")}
      >>> partition(params, rules, mesh)["mlp/linear"]["w"].spec == P(None, "model")
      True
    """
    if not isinstance(mesh, Mesh | AbstractMesh):
        raise TypeError(
            f"partition: mesh is {mesh!r}, wanted a jax.sharding.Mesh; type "
            "jax.make_mesh((jax.device_count(),), ('data',))."
        )
    for rule, spec in rules.items():
        if not isinstance(spec, PartitionSpec):
            raise TypeError(
                f"partition: the rule {rule!r} has {spec!r}, wanted a PartitionSpec; "
                f"type {_cure(spec)}."
            )
    unused = set(rules)

    def place(key_path: Any, leaf: Any) -> NamedSharding:
        path = _spell(key_path)
        found = [rule for rule in rules if fnmatch.fnmatchcase(path, rule)]
        if len(found) != 1:
            known = ", ".join(map(repr, found or rules))
            many = f"{len(found)} rules, {known}" if found else f"no rule of {known}"
            cure = "narrow all but one" if found else f"add {path!r}: PartitionSpec()"
            raise ValueError(f"partition: {path!r} matches {many}; {cure}.")
        unused.discard(found[0])
        _check_fits(path, np.shape(leaf), rules[found[0]], mesh)
        return NamedSharding(mesh, rules[found[0]])

    shardings = jax.tree.map_with_path(place, params)
    if unused:
        paths = [_spell(p) for p, _ in jax.tree.leaves_with_path(params)]
        raise ValueError(
            f"partition: the rule {min(unused)!r} matches no parameter; the paths are "
            f"{', '.join(map(repr, paths[:20]))}."
        )
    return shardings


def partition_like(state: Any, params: Any, shardings: Any) -> Any:
    """Carries the parameters' shardings over to a state that was made from them.

    A leaf of the state whose path ends in a parameter's, and has its shape, is split
    as that parameter: moments of Adam, traces, averages, accumulated gradients, at any
    depth of chains, masks and groups. All else, such as counts and factored moments,
    is replicated.

    Args:
      state: a pytree of arrays or shapes, such as `jax.eval_shape(chain.init, params)`.
      params: the parameters, or their shapes.
      shardings: what `partition` returned for them.

    Returns:
      A tree of `NamedSharding`, of the structure of `state`.

    Raises:
      ValueError: if `shardings` has another structure than `params`, or is empty.

    Example:
      >>> import jax, jax.numpy as jnp
      >>> from jax.sharding import PartitionSpec as P
      >>> mesh = jax.make_mesh((1,), ("model",))
      >>> params = {"linear": {"w": jnp.ones((4, 8))}}
      >>> shardings = partition(params, {"*/w": P(None, "model")}, mesh)
      >>> state = {"mu": params, "count": jnp.zeros((), int)}
      >>> placed = partition_like(state, params, shardings)
      >>> placed["mu"]["linear"]["w"].spec == P(None, "model")
      True
      >>> placed["count"].spec == P()
      True
    """
    leaves, wanted = jax.tree.flatten_with_path(params)
    placed, found = jax.tree.flatten(shardings)
    if found != wanted or not placed:
        raise ValueError(
            f"partition_like: shardings have the structure {found}, wanted that of the "
            f"parameters, {wanted}; pass what partition(params, ...) returned."
        )
    whole = NamedSharding(placed[0].mesh, PartitionSpec())
    by_path = {
        tuple(map(str, path)): (np.shape(leaf), sharding)
        for (path, leaf), sharding in zip(leaves, placed, strict=True)
    }

    def follow(key_path: Any, leaf: Any) -> NamedSharding:
        keys = tuple(map(str, key_path))
        for start in range(len(keys) + 1):  # the longest ending first
            if keys[start:] in by_path:
                shape, sharding = by_path[keys[start:]]
                # Of another shape it is a part of that parameter's, such as a factored
                # moment; a shorter ending would be another parameter.
                return sharding if shape == np.shape(leaf) else whole
        return whole

    return jax.tree.map_with_path(follow, state)


def _cure(spec: Any) -> str:
    if isinstance(spec, NamedSharding):
        return "sharding.spec for that sharding"
    axes = "" if spec is None else repr(spec)
    return f"PartitionSpec({'*' if isinstance(spec, tuple | list) else ''}{axes})"


def _check_fits(
    path: str, shape: tuple[int, ...], spec: PartitionSpec, mesh: Mesh
) -> None:
    if len(spec) > len(shape):
        raise ValueError(
            f"partition: {path!r} has shape {shape} and the rule {spec} has "
            f"{len(spec)} axes; shorten the rule."
        )
    used: list[str] = []
    for axis, (length, names) in enumerate(zip(shape, spec, strict=False)):
        if names is PartitionSpec.UNCONSTRAINED:
            raise ValueError(
                f"partition: axis {axis} of {path!r} is left unconstrained, wanted its "
                "place, which only jax.lax.with_sharding_constraint can leave open; "
                "type None to leave it whole."
            )
        named = () if names is None else (names,) if isinstance(names, str) else names
        for name in named:
            if name in used:
                raise ValueError(
                    f"partition: {path!r} is split along {name!r} twice by {spec}; "
                    "take one out."
                )
            used.append(name)
            if name not in mesh.shape:
                raise ValueError(
                    f"partition: {path!r} is split along {name!r}, and the mesh has "
                    f"the axes {', '.join(map(repr, mesh.shape))}; rename one."
                )
        parts = math.prod(mesh.shape[name] for name in named)
        if length % parts:
            raise ValueError(
                f"partition: axis {axis} of {path!r}, shape {shape}, does not divide "
                f"into {parts} parts along {named}; leave it whole or change the width."
            )


def _spell(key_path: Any) -> str:
    return jax.tree_util.keystr(key_path, simple=True, separator="/")

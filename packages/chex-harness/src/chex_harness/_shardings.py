"""Whether arrays are laid out over a mesh as a program means them to be.

A state that is replicated where it should be sharded is right, slow, and too big for
the machine it was meant for; `chex.assert_tree_is_sharded` compares sets of devices
and does not see it.
"""

import re
from collections.abc import Mapping
from typing import Any

import jax
from jax.sharding import AxisType, NamedSharding, PartitionSpec


def assert_sharding(
    tree: Any,
    specs: Any = None,
    *,
    by_path: Mapping[str, PartitionSpec] | None = None,
    mesh: jax.sharding.Mesh | None = None,
) -> None:
    """Asserts how each leaf is laid out.

    Replicated is not sharded, nor is one device replicated. An axis of size one
    cannot be told from no axis. Works on arrays and on `jax.ShapeDtypeStruct`; inside
    `jit` on meshes with Explicit axes only: on Auto axes the compiler decides later.

    Args:
      tree: a pytree of arrays.
      specs: a `PartitionSpec` (or a `Sharding`) for each leaf, or one for each of
        some subtrees: a prefix of the tree.
      by_path: instead of `specs`, what leaves have by the first pattern that is found
        in their path, written "layer/w"; every leaf must match one.
      mesh: what the specs mean where an array does not say; by default the mesh of
        the leaf, or of any other leaf.

    Raises:
      AssertionError: if a leaf is laid out otherwise, with one line a leaf.
      ValueError: if both or neither of `specs` and `by_path` are given, `specs` is no
        prefix of the tree, no mesh is found, or a leaf is traced on a mesh with axes
        that are not Explicit.

    Example:
      >>> import jax, jax.numpy as jnp
      >>> from jax.sharding import NamedSharding, PartitionSpec as P
      >>> mesh = jax.make_mesh((8,), ("data",))
      >>> x = jax.device_put(jnp.zeros((8, 3)), NamedSharding(mesh, P("data")))
      >>> assert_sharding({"x": x}, P("data"))
      >>> assert_sharding({"x": x}, by_path={"x$": P("data"), "": P()})
    """
    if (specs is None) == (by_path is None):
        raise ValueError("assert_sharding: wanted one of specs and by_path")
    found = jax.tree.leaves_with_path(tree)
    if by_path is None:
        try:
            whole = jax.tree.broadcast(specs, tree, is_leaf=_is_spec)
            _refuse_others(whole)
        except ValueError as error:
            raise ValueError(
                "assert_sharding: specs are no prefix of the tree:\n  specs "
                f"{jax.tree.structure(specs, is_leaf=_is_spec)}\n  tree  "
                f"{jax.tree.structure(tree)}\nType P() for a leaf that is replicated, "
                "one spec for a whole subtree, or by_path={'': P()}"
            ) from error
        wanted = jax.tree.leaves(whole, is_leaf=_is_spec)
    else:
        wanted = [_by_path(path, by_path) for path, _ in found]
    mesh = mesh or next((m for _, leaf in found if (m := _mesh(leaf))), None)
    lines = []
    for (path, leaf), want in zip(found, wanted, strict=True):
        _refuse_undecided(path, leaf)
        complaint = _compare(leaf, want, mesh)
        if complaint:
            lines.append(f"{jax.tree_util.keystr(path) or 'the leaf'} {complaint}")
    if lines:
        raise AssertionError(
            f"{len(lines)} of {len(found)} leaves are laid out otherwise:\n  "
            + "\n  ".join(lines)
        )


def _refuse_others(specs: Any) -> None:
    if not all(map(_is_spec, jax.tree.leaves(specs, is_leaf=_is_spec))):
        raise ValueError("a leaf of specs is neither a PartitionSpec nor a Sharding")


def _is_spec(leaf: Any) -> bool:
    return isinstance(leaf, PartitionSpec | jax.sharding.Sharding)


def _by_path(path: Any, by_path: Mapping[str, PartitionSpec]) -> Any:
    name = jax.tree_util.keystr(path, simple=True, separator="/")
    for pattern, spec in by_path.items():
        if re.search(pattern, name):
            return spec
    raise AssertionError(
        f"no pattern is found in the path {name!r}; there are "
        f"{', '.join(map(repr, by_path))}. Add it, or '' for all others."
    )


def _sharding(leaf: Any) -> Any:
    if isinstance(leaf, jax.core.Tracer):
        leaf = jax.typeof(leaf)
    return getattr(leaf, "sharding", None)


def _mesh(leaf: Any) -> Any:
    mesh = getattr(_sharding(leaf), "mesh", None)
    return None if mesh is None or mesh.empty else mesh


def _refuse_undecided(path: Any, leaf: Any) -> None:
    """While jax traces, only Explicit axes have a layout."""
    if not isinstance(leaf, jax.core.Tracer):
        return
    mesh = _mesh(leaf)
    kinds = () if mesh is None else mesh.axis_types
    if kinds and all(kind == AxisType.Explicit for kind in kinds):
        return
    axes = ", ".join(map(str, kinds)) or "no mesh that jax knows of"
    raise ValueError(
        f"{jax.tree_util.keystr(path) or 'the leaf'} is traced, on {axes}: its layout "
        "is not decided yet. Check it outside jit, or use a mesh with Explicit axes: "
        "jax.make_mesh(shape, names, (AxisType.Explicit,) * len(names))."
    )


def _compare(leaf: Any, wanted: Any, mesh: Any) -> str | None:
    sharding = _sharding(leaf)
    if sharding is None:
        return f"is a {type(leaf).__name__}, which lies on no device; wanted {wanted}"
    rank = len(leaf.shape)
    if isinstance(wanted, PartitionSpec):
        own = _mesh(leaf) or mesh
        if own is None:
            raise ValueError(
                f"no mesh to read {wanted} with: the arrays lie on {sharding}. Pass "
                "mesh=."
            )
        if len(wanted) > rank:
            return f"has {rank} axes, too few for {wanted}"
        target = NamedSharding(own, wanted)
    else:
        target = wanted
    if _is_abstract(target):
        same = _padded(sharding.spec, rank) == _padded(target.spec, rank)
    else:
        same = sharding.device_set == target.device_set
        same = same and sharding.is_equivalent_to(target, rank)
    if same:
        return None
    return f"{list(leaf.shape)} is {_described(sharding)}; wanted {wanted}"


def _is_abstract(sharding: Any) -> bool:
    return isinstance(getattr(sharding, "mesh", None), jax.sharding.AbstractMesh)


def _padded(spec: PartitionSpec, rank: int) -> list[Any]:
    """A spec with one entry an axis, each None or a tuple of names."""
    entries = [(e,) if isinstance(e, str) else e or None for e in spec]
    return entries + [None] * (rank - len(entries))


def _described(sharding: Any) -> str:
    if _is_abstract(sharding):
        return f"{sharding.spec}"
    n = len(sharding.device_set)
    if n == 1:
        return f"on one device, {next(iter(sharding.device_set))}"
    if sharding.is_fully_replicated:
        return f"replicated over {n} devices"
    return f"laid out as {getattr(sharding, 'spec', sharding)} over {n} devices"

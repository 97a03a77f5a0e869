"""Running `shard_map` code of many devices on one.

A bug in a collective shows on one device as well, if the blocks of the mesh are there:
here they are rows of one array. The body is traced by jax's own `shard_map` on a mesh
without devices, so its checks of specs and of what varies over which axis hold, and
gradients inside the body are those of the mesh; then it runs under `vmap`, one level
for each axis.
"""

import contextlib
import math
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any
from unittest import mock

import jax
import jax.extend.core as jex
import jax.numpy as jnp
from jax.sharding import AbstractMesh, AxisType, PartitionSpec


@contextlib.contextmanager
def fake_mesh(axes: Mapping[str, int]) -> Generator[AbstractMesh]:
    """Makes `jax.shard_map` run on one device as if there were a mesh.

    The code under test gets the mesh as an argument and calls `jax.shard_map` with it.
    What it cannot do: `from jax import shard_map` done before, `NamedSharding` and
    `device_put` on the mesh (there are no devices to put anything on), `axis_names=`
    for some of the axes, and custom derivatives when the whole is differentiated
    (their bodies are). A collective over an axis that the mesh has not is refused by
    jax itself, with an AssertionError that has no text, at its line. It shows that the
    blocks are right, not how they are laid out.

    Args:
      axes: names and sizes of the mesh's axes.

    Yields:
      The mesh.

    Raises:
      TypeError: if `axes` is no dict from str to int.
      ValueError: if there is no axis, or a size is below 1.

    Example:
      >>> import jax, jax.numpy as jnp
      >>> from jax.sharding import PartitionSpec as P
      >>> with fake_mesh({"data": 64}) as mesh:
      ...     f = jax.shard_map(
      ...         lambda x: jax.lax.psum(x, "data"),
      ...         mesh=mesh, in_specs=P("data"), out_specs=P())
      ...     f(jnp.ones(64))
      Array([64.], dtype=float32)
    """
    _check_axes(axes)
    kinds = (AxisType.Auto,) * len(axes)
    mesh = AbstractMesh(tuple(axes.values()), tuple(axes), kinds)
    real: Any = jax.shard_map

    def shard_map(f: Any = None, /, **options: Any) -> Any:
        if f is None:
            return lambda f: shard_map(f, **options)
        if options.get("mesh", mesh) != mesh:
            return real(f, **options)
        return _on_rows(real(f, **{**options, "mesh": mesh}), mesh)

    with mock.patch.object(jax, "shard_map", shard_map):
        yield mesh


def _check_axes(axes: Any) -> None:
    if not isinstance(axes, Mapping):
        raise TypeError(
            f"fake_mesh: axes is of type {type(axes).__name__}: wanted a dict from "
            "names to sizes. Type fake_mesh({'data': 4})"
        )
    if not axes:
        raise ValueError("fake_mesh: no axes. Type fake_mesh({'data': 4})")
    for name, size in axes.items():
        if not isinstance(name, str):
            raise TypeError(f"fake_mesh: the axis {name!r} is no name. Type a str")
        told = f"fake_mesh: the axis {name!r} has size {size!r}: wanted "
        if isinstance(size, bool) or not isinstance(size, int):
            raise TypeError(told + "an int, as in {'data': 4}")
        if size < 1:
            raise ValueError(told + "1 or more, as in {'data': 4}")


def _on_rows(mapped: Callable[..., Any], mesh: AbstractMesh) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        closed, shape = jax.make_jaxpr(mapped, return_shape=True)(*args)
        leaves = jax.tree.leaves(args)
        env = dict(zip(closed.jaxpr.constvars, closed.consts, strict=True))
        env.update(zip(closed.jaxpr.invars, leaves, strict=True))
        outs = _evaluate(closed.jaxpr, env, mesh)
        return jax.tree.unflatten(jax.tree.structure(shape), outs)

    return call


def _evaluate(jaxpr: Any, env: dict[Any, Any], mesh: AbstractMesh) -> list[Any]:
    """Runs a jaxpr with our rules for what a mesh has and `vmap` has not."""

    def read(var: Any) -> Any:
        return var.val if isinstance(var, jex.Literal) else env[var]

    for eqn in jaxpr.eqns:
        values = [read(v) for v in eqn.invars]
        rule = _RULES.get(eqn.primitive.name, _as_it_is)
        outs = rule(eqn, values, mesh)
        env.update(zip(eqn.outvars, outs, strict=True))
    return [read(v) for v in jaxpr.outvars]


def _call(inner: Any, values: Sequence[Any], mesh: AbstractMesh) -> list[Any]:
    jaxpr = getattr(inner, "jaxpr", inner)
    env = dict(zip(jaxpr.constvars, getattr(inner, "consts", ()), strict=True))
    env.update(zip(jaxpr.invars, values, strict=True))
    return _evaluate(jaxpr, env, mesh)


def _as_it_is(eqn: Any, values: Sequence[Any], mesh: AbstractMesh) -> Sequence[Any]:
    del mesh
    # Types inside the body name the mesh and what varies over it; `vmap` has neither,
    # so operations are bound anew.
    params = {
        name: None if _is_manual(value) else value for name, value in eqn.params.items()
    }
    out = eqn.primitive.bind(*values, **params)
    return out if eqn.primitive.multiple_results else [out]


def _is_manual(value: Any) -> bool:
    return isinstance(value, jax.sharding.NamedSharding)


def _inline(eqn: Any, values: Sequence[Any], mesh: AbstractMesh) -> Sequence[Any]:
    keys = ("jaxpr", "call_jaxpr", "fun_jaxpr")
    inner = next(eqn.params[key] for key in keys if key in eqn.params)
    return _call(inner, values, mesh)


def _scan(eqn: Any, values: Sequence[Any], mesh: AbstractMesh) -> Sequence[Any]:
    body = eqn.params["jaxpr"]
    inner = body.jaxpr
    pairs = zip(eqn.outvars, inner.outvars, strict=True)
    carries = sum(len(a.aval.shape) == len(b.aval.shape) for a, b in pairs)
    pairs = zip(eqn.invars, inner.invars, strict=True)
    stacked = sum(len(a.aval.shape) > len(b.aval.shape) for a, b in pairs)
    consts = values[: len(values) - stacked - carries]
    carry = values[len(consts) : len(values) - stacked]

    def step(carry: Any, xs: Any) -> tuple[Any, Any]:
        outs = _call(body, [*consts, *carry, *xs], mesh)
        return outs[:carries], outs[carries:]

    options = {key: eqn.params[key] for key in ("length", "reverse", "unroll")}
    xs = values[len(values) - stacked :]
    carry, ys = jax.lax.scan(step, list(carry), list(xs), **options)
    return [*carry, *ys]


def _while(eqn: Any, values: Sequence[Any], mesh: AbstractMesh) -> Sequence[Any]:
    n, m = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
    cond, body = eqn.params["cond_jaxpr"], eqn.params["body_jaxpr"]
    return jax.lax.while_loop(
        lambda carry: _call(cond, [*values[:n], *carry], mesh)[0],
        lambda carry: _call(body, [*values[n : n + m], *carry], mesh),
        list(values[n + m :]),
    )


def _cond(eqn: Any, values: Sequence[Any], mesh: AbstractMesh) -> Sequence[Any]:
    branches = [
        lambda *values, branch=branch: _call(branch, values, mesh)
        for branch in eqn.params["branches"]
    ]
    return jax.lax.switch(values[0], branches, *values[1:])


def _psum(eqn: Any, values: Sequence[Any], mesh: AbstractMesh) -> Sequence[Any]:
    del mesh
    return [jax.lax.psum(x, eqn.params["axes"]) for x in values]


def _same(eqn: Any, values: Sequence[Any], mesh: AbstractMesh) -> Sequence[Any]:
    del eqn, mesh
    return values


def _gather(eqn: Any, values: Sequence[Any], mesh: AbstractMesh) -> Sequence[Any]:
    del mesh
    axis, tiled = eqn.params["all_gather_dimension"], eqn.params["tiled"]
    name = eqn.params["axis_name"]
    return [jax.lax.all_gather(x, name, axis=axis, tiled=tiled) for x in values]


def _rows(eqn: Any, values: Sequence[Any], mesh: AbstractMesh) -> Sequence[Any]:
    """The shard_map itself: blocks in front, one `vmap` for each axis."""
    # jax 0.9 and 0.12 have another name for it.
    manual = eqn.params.get("manual_axes") or eqn.params.get("newly_manual_axes")
    if manual is not None and set(manual) != set(mesh.axis_names):
        raise NotImplementedError(
            f"fake_mesh: this shard_map is over the axes {sorted(manual)} of "
            f"{list(mesh.axis_names)}; it can only be over all of them"
        )
    blocks = [
        _split(x, spec, mesh)
        for x, spec in zip(values, eqn.params["in_specs"], strict=True)
    ]

    def body(*values: Any) -> list[Any]:
        return _call(eqn.params["jaxpr"], values, mesh)

    for name in reversed(mesh.axis_names):
        body = jax.vmap(body, axis_name=name, axis_size=mesh.shape[name])
    outs = body(*blocks)
    specs = eqn.params["out_specs"]
    return [_join(x, spec, mesh) for x, spec in zip(outs, specs, strict=True)]


def _names(spec: PartitionSpec, rank: int) -> list[tuple[str, ...]]:
    entries = [(e,) if isinstance(e, str) else tuple(e or ()) for e in spec]
    return entries + [()] * (rank - len(entries))


def _split(x: Any, spec: PartitionSpec, mesh: AbstractMesh) -> jax.Array:
    """(..., n, ...) to (sizes of all axes of the mesh, ..., n / size, ...)."""
    x = jnp.asarray(x)
    names = _names(spec, x.ndim)
    shape: list[int] = []
    where: dict[str, int] = {}
    kept: list[int] = []
    for size, dims in zip(x.shape, names, strict=True):
        for name in dims:
            where[name] = len(shape)
            shape.append(mesh.shape[name])
        kept.append(len(shape))
        shape.append(size // math.prod(mesh.shape[name] for name in dims))
    mapped = [name for name in mesh.axis_names if name in where]
    x = x.reshape(shape).transpose([where[name] for name in mapped] + kept)
    sizes = [mesh.shape[name] if name in where else 1 for name in mesh.axis_names]
    x = x.reshape(*sizes, *(shape[i] for i in kept))
    return jnp.broadcast_to(x, (*mesh.axis_sizes, *x.shape[len(sizes) :]))


def _join(x: jax.Array, spec: PartitionSpec, mesh: AbstractMesh) -> jax.Array:
    """The way back; along axes that the spec does not name all blocks are one."""
    n = len(mesh.axis_names)
    names = _names(spec, x.ndim - n)
    named = {name for dims in names for name in dims}
    x = x[tuple(slice(None) if a in named else 0 for a in mesh.axis_names)]
    mapped = [a for a in mesh.axis_names if a in named]
    order: list[int] = []
    shape: list[int] = []
    for axis, dims in enumerate(names):
        order += [*(mapped.index(name) for name in dims), len(mapped) + axis]
        size = x.shape[len(mapped) + axis]
        shape.append(size * math.prod(mesh.shape[name] for name in dims))
    return x.transpose(order).reshape(shape)


_RULES: dict[str, Callable[[Any, Sequence[Any], AbstractMesh], Sequence[Any]]] = {
    "shard_map": _rows,
    "psum_invariant": _psum,
    "pvary": _same,
    "pcast": _same,
    "all_gather_invariant": _gather,
    "all_gather_reduced": _gather,
    "scan": _scan,
    "while": _while,
    "cond": _cond,
    **dict.fromkeys(
        (
            "jit",
            "pjit",
            "closed_call",
            "remat2",
            "checkpoint",
            "custom_jvp_call",
            "custom_vjp_call",
            "custom_vjp_call_jaxpr",
        ),
        _inline,
    ),
}

"""Finding the operation that made the first NaN or infinity.

`jax_debug_nans` stops at the first NaN of any program, wanted or not, and says nothing
of infinities. Here the jaxpr of one function is run step by step, and what reached the
result is followed back to where it was made, into `jit`, `scan`, `while`, `cond` and
custom derivatives.
"""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.extend.core as jex
import jax.numpy as jnp
import numpy as np

_HIDDEN = (str(Path(jax.__file__).parent), __file__)


@dataclasses.dataclass(frozen=True, kw_only=True)
class NonFinite:
    """Where a value that is not finite was made.

    Attributes:
      kind: "nan" or "inf".
      primitive: the name of jax's operation; "argument" or "constant" for a value
        that the function was given.
      source: file, line and function that asked for it, or which argument it is.
      path: the programs it lies in, as "jit(step)/scan[3]", with the iteration of a
        loop and the branch of a cond.
      inputs: what the operation was given: types and ranges.
      infinity: for a NaN made from an infinity, where that was made.
    """

    kind: str
    primitive: str
    source: str
    path: str
    inputs: tuple[str, ...] = ()
    infinity: "NonFinite | None" = None

    def __str__(self) -> str:
        inside = f" in {self.path}" if self.path else ""
        given = f", given {', '.join(self.inputs)}" if self.inputs else ""
        text = f"{self.kind} from {self.primitive}{inside}, at {self.source}{given}"
        return text if self.infinity is None else f"{text}; the {self.infinity}"


def find_nonfinite(fn: Callable[..., Any], *args: Any) -> NonFinite | None:
    """Finds where the first value that is not finite and reaches the result is made.

    What is made and masked out again is not found: it does no harm, except in a
    gradient (give `jax.grad(fn)` to search that). Operations run one by one, on the
    values themselves, and nothing is donated: slow, and rounding may differ from the
    compiled program's. A `shard_map` and a Pallas kernel are one operation each.

    Args:
      fn: the function, jitted or not.
      *args: its arguments.

    Returns:
      Where, or None if the result is finite.

    Example:
      >>> import jax, jax.numpy as jnp
      >>> found = find_nonfinite(jax.jit(lambda x: jnp.sqrt(x - 2)), jnp.ones(3))
      >>> found.kind, found.primitive
      ('nan', 'sqrt')
    """
    closed = jax.make_jaxpr(fn)(*args)
    leaves = jax.tree.leaves_with_path(args)
    names = [f"args{jax.tree_util.keystr(path)}" for path, _ in leaves]
    values = [jnp.asarray(leaf) for _, leaf in leaves]
    return _search(closed.jaxpr, closed.consts, values, names, ())


def _search(
    jaxpr: Any,
    consts: Sequence[Any],
    values: Sequence[Any],
    names: Sequence[str],
    path: tuple[str, ...],
) -> NonFinite | None:
    """Runs a jaxpr and follows its first bad output back."""
    env: dict[Any, Any] = {}
    maker: dict[Any, int] = {}
    env.update(zip(jaxpr.constvars, consts, strict=True))
    env.update(zip(jaxpr.invars, values, strict=True))
    for index, eqn in enumerate(jaxpr.eqns):
        for var, value in zip(eqn.outvars, _run(jaxpr, eqn, env), strict=True):
            env[var], maker[var] = value, index

    def follow(bad: list[Any]) -> NonFinite | None:
        if not bad:
            return None
        # The one that was made first; arguments come before all.
        var = min(bad, key=lambda v: maker.get(v, -1))
        kind = _kind(_read(env, var))
        if var not in maker:
            where = dict(zip(jaxpr.invars, names, strict=True)).get(var)
            return NonFinite(
                kind=kind or "inf",
                primitive="constant" if where is None else "argument",
                source=where or "a constant of the function",
                path="/".join(path),
            )
        eqn = jaxpr.eqns[maker[var]]
        inputs = [v for v in eqn.invars if not isinstance(v, jex.Literal)]
        same = [v for v in inputs if _kind(env[v]) == kind]
        if same:
            return follow(same)
        earlier = follow([v for v in inputs if _kind(env[v])])
        given = [_read(env, v) for v in eqn.invars]
        inner = None if earlier else _descend(eqn, given, path)
        return inner or NonFinite(
            kind=kind or "inf",
            primitive=eqn.primitive.name,
            source=_source(eqn),
            path="/".join(path),
            inputs=tuple(map(_shown, given)),
            infinity=earlier,
        )

    bad = [v for v in jaxpr.outvars if _kind(_read(env, v))]
    made = [v for v in bad if not isinstance(v, jex.Literal)]
    return follow(made) if made else _constant(bad, path)


def _constant(bad: list[Any], path: tuple[str, ...]) -> NonFinite | None:
    """An output that is written into the program as a number."""
    if not bad:
        return None
    return NonFinite(
        kind=_kind(bad[0].val) or "inf",
        primitive="constant",
        source="a constant of the function",
        path="/".join(path),
    )


def _read(env: dict[Any, Any], var: Any) -> Any:
    return var.val if isinstance(var, jex.Literal) else env[var]


def _run(jaxpr: Any, eqn: Any, env: dict[Any, Any]) -> Sequence[Any]:
    """Runs one operation, as a program of its own: the public way, in any version."""
    used = dict.fromkeys(v for v in eqn.invars if not isinstance(v, jex.Literal))
    if "donated_invars" in eqn.params:  # the values are read again, and the caller's
        kept = (False,) * len(eqn.params["donated_invars"])
        eqn = eqn.replace(params={**eqn.params, "donated_invars": kept})
    info = jaxpr.debug_info._replace(
        arg_names=("",) * len(used), result_paths=("",) * len(eqn.outvars)
    )
    alone = jaxpr.replace(
        constvars=[],
        invars=list(used),
        outvars=eqn.outvars,
        eqns=[eqn],
        effects=eqn.effects,
        debug_info=info,
    )
    return jex.jaxpr_as_fun(jex.ClosedJaxpr(alone, ()))(*(env[v] for v in used))


def _descend(eqn: Any, values: list[Any], path: tuple[str, ...]) -> NonFinite | None:
    """Looks inside an operation that has programs of its own."""
    params, name = eqn.params, eqn.primitive.name
    if name == "scan":
        return _loop(
            params["jaxpr"], _scanned(params, values, eqn.outvars), (*path, "scan")
        )
    if name == "while":
        return _loop(params["body_jaxpr"], _whiled(params, values), (*path, "while"))
    if name == "cond":
        index = int(np.clip(int(values[0]), 0, len(params["branches"]) - 1))
        return _enter(params["branches"][index], values[1:], (*path, f"cond[{index}]"))
    if name in {"shard_map", "pallas_call"}:
        return None
    for key in ("jaxpr", "call_jaxpr", "fun_jaxpr"):
        inner = params.get(key)
        if inner is not None:
            label = f"jit({params['name']})" if "name" in params else name
            return _enter(inner, values, (*path, label))
    return None


def _enter(inner: Any, values: list[Any], path: tuple[str, ...]) -> NonFinite | None:
    jaxpr, consts = _open(inner)
    if len(jaxpr.invars) != len(values):
        return None
    names = ["an input"] * len(values)
    return _search(jaxpr, consts, values, names, path)


def _open(inner: Any) -> tuple[Any, Sequence[Any]]:
    if isinstance(inner, jex.ClosedJaxpr):
        return inner.jaxpr, inner.consts
    return inner, ()


def _loop(
    body: Any, iterations: Iterator[tuple[list[Any], list[Any]]], path: tuple[str, ...]
) -> NonFinite | None:
    *outer, label = path
    for step, (values, outs) in enumerate(iterations):
        if any(map(_kind, outs)):
            return _enter(body, values, (*outer, f"{label}[{step}]"))
    return None


def _scanned(
    params: dict[str, Any], values: list[Any], outvars: list[Any]
) -> Iterator[tuple[list[Any], list[Any]]]:
    # What is stacked has one axis more than the body sees; this holds in any version.
    inner = params["jaxpr"].jaxpr
    stacked = sum(
        np.ndim(x) > len(v.aval.shape)
        for x, v in zip(values, inner.invars, strict=True)
    )
    m = sum(
        len(a.aval.shape) == len(b.aval.shape)
        for a, b in zip(outvars, inner.outvars, strict=True)
    )
    n = len(values) - stacked - m
    body = jax.jit(jex.jaxpr_as_fun(params["jaxpr"]))
    consts, carry, xs = values[:n], values[n : n + m], values[n + m :]
    steps = range(params["length"])
    for step in reversed(steps) if params["reverse"] else steps:
        given = [*consts, *carry, *(x[step] for x in xs)]
        outs = list(body(*given))
        yield given, outs
        carry = outs[:m]


def _whiled(
    params: dict[str, Any], values: list[Any]
) -> Iterator[tuple[list[Any], list[Any]]]:
    n, m = params["cond_nconsts"], params["body_nconsts"]
    goes_on = jax.jit(jex.jaxpr_as_fun(params["cond_jaxpr"]))
    body = jax.jit(jex.jaxpr_as_fun(params["body_jaxpr"]))
    carry = values[n + m :]
    # Under vmap there is one condition for each example; those at their end rest.
    while bool(jnp.any(alive := goes_on(*values[:n], *carry)[0])):
        given = [*values[n : n + m], *carry]
        moved = body(*given)
        carry = [_where(alive, a, b) for a, b in zip(moved, carry, strict=True)]
        yield given, carry


def _where(alive: Any, moved: Any, rested: Any) -> Any:
    if not alive.ndim:
        return moved
    alive = alive.reshape(alive.shape + (1,) * (moved.ndim - alive.ndim))
    return jnp.where(alive, moved, rested)


def _kind(value: Any) -> str | None:
    if not jnp.issubdtype(jnp.result_type(value), jnp.inexact):
        return None
    if bool(jnp.isnan(value).any()):
        return "nan"
    return None if bool(jnp.isfinite(value).all()) else "inf"


def _shown(value: Any) -> str:
    if not hasattr(value, "shape") or not value.shape:
        return f"{value}"
    text = f"{value.dtype}{list(value.shape)}"
    if value.size and jnp.issubdtype(value.dtype, jnp.number):
        text += f" from {jnp.min(value):.3g} to {jnp.max(value):.3g}"
    return text


def _source(eqn: Any) -> str:
    """The innermost line of the caller's own code."""
    trace = eqn.source_info.traceback
    for frame in trace.frames if trace is not None else ():
        if not frame.file_name.startswith(_HIDDEN):
            return f"{frame.file_name}:{frame.line_num} ({frame.function_name})"
    return "an unknown line"

"""The laws themselves: each holds for one specimen or raises.

What a law compares is computed twice from the same arguments, in two ways.
"""

import pickle
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from chex_harness._compiles import assert_compiles
from chex_harness._nonfinite import find_nonfinite
from chex_harness._shardings import assert_sharding
from chex_harness._spec import assert_spec
from chex_harness._specimen import Specimen
from chex_harness._trees import assert_trees_close


def _close(specimen: Specimen, found: Any, wanted: Any) -> None:
    assert_trees_close(found, wanted, rtol=specimen.rtol, atol=specimen.atol)


def _is_key(leaf: Any) -> bool:
    dtype = getattr(leaf, "dtype", None)
    return dtype is not None and jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key)


def _is_floating(leaf: Any) -> bool:
    return not _is_key(leaf) and jnp.issubdtype(jnp.result_type(leaf), jnp.floating)


def _other(args: Any) -> Any:
    """Other values of the same types and signs; integers stay, which may be indices."""

    def change(x: Any) -> Any:
        if _is_key(x):
            folded = jax.vmap(jax.random.fold_in, (0, None))(x.reshape(-1), 1)
            return folded.reshape(x.shape)
        return x * 0.75 if _is_floating(x) else x

    return jax.tree.map(change, args)


def _turned(args: Any) -> Any:
    """The same numbers, the last first."""
    return jax.tree.map(lambda x: x[::-1] if jnp.ndim(x) else x, args)


def _differ(a: Any, b: Any) -> bool:
    pairs = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    return any(bool(jnp.any(x != y)) for x, y in pairs)


def _arguments(specimen: Specimen) -> tuple[Any, ...]:
    args = specimen.args("float32")
    for name in ("rows", "grad"):
        if (last := max(getattr(specimen, name), default=0)) >= len(args):
            raise ValueError(
                f"{name} has the position {last}, and there are {len(args)} arguments, "
                f"from 0; correct {name}="
            )
    if specimen.carry > len(args):
        raise ValueError(
            f"carry is {specimen.carry}, and there are {len(args)} arguments; correct "
            "carry="
        )
    return args


def jit_equals_eager(specimen: Specimen) -> None:
    """Compiled or not, the result is one, and something to compare."""
    args, fn = _arguments(specimen), specimen.fn
    jitted = isinstance(fn, jax.stages.Wrapped)  # whose "eager" would be compiled
    eager = getattr(fn, "__wrapped__", fn) if jitted else fn
    wanted = eager(*args)
    numbers = [leaf for leaf in jax.tree.leaves(wanted) if not _is_key(leaf)]
    if not jax.tree.leaves(wanted):
        raise AssertionError("the result holds no arrays, so no law says anything")
    if numbers and all(bool(jnp.all(jnp.isnan(leaf))) for leaf in numbers):
        raise AssertionError(
            "the result is NaN everywhere, so no law says anything: "
            f"{find_nonfinite(fn, *args)}"
        )
    _close(specimen, jax.jit(fn)(*args), wanted)


def vmap_equals_a_loop(specimen: Specimen) -> None:
    """`vmap` over two sets of arguments gives what a loop gives."""
    args = _arguments(specimen)
    other = _other(args)
    other = other if _differ(args, other) else _turned(args)
    if not _differ(args, other):
        raise AssertionError(
            "both rows are the same, so the law says nothing; make the arguments larger"
        )
    both = [args, other]
    stacked = jax.tree.map(lambda *x: jnp.stack(x), *both)
    loop = [specimen.fn(*one) for one in both]
    found = jax.vmap(specimen.fn)(*stacked)
    _close(specimen, found, jax.tree.map(lambda *x: jnp.stack(x), *loop))


def dtype_is_kept(specimen: Specimen) -> None:
    """Floating outputs have the dtype of the arguments."""
    for dtype in specimen.dtypes:
        out = jax.eval_shape(specimen.fn, *specimen.args(dtype))
        wrong = [
            f"out{jax.tree_util.keystr(path)} is {leaf.dtype}"
            for path, leaf in jax.tree.leaves_with_path(out)
            if _is_floating(leaf) and leaf.dtype != dtype
        ]
        if wrong:
            raise AssertionError(f"of {dtype} arguments, {', '.join(wrong)}")


def promotion_is_strict(specimen: Specimen) -> None:
    """No dtype is promoted implicitly."""
    args = _arguments(specimen)
    with jax.numpy_dtype_promotion("strict"):
        jax.eval_shape(specimen.fn, *args)


def second_call_compiles_nothing(specimen: Specimen) -> None:
    """What comes out of a step goes in again without another compilation."""
    args = _arguments(specimen)
    args = tuple(jax.tree.map(jnp.asarray, args))
    others = _other(args)

    def fresh(*args: Any) -> Any:  # jit's cache belongs to the function
        return specimen.fn(*args)

    jitted = jax.jit(fresh)
    with assert_compiles(1):
        out = jitted(*args)
        jitted(*(_fed(specimen, out, args) if specimen.carry else others))


def _fed(specimen: Specimen, out: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    # A NamedTuple is one state, a plain tuple is several outputs.
    carried = out if type(out) is tuple else (out,)
    return (*carried[: specimen.carry], *args[specimen.carry :])


def init_works_abstractly(specimen: Specimen) -> None:
    """`jax.eval_shape` of `init` gives the types of the real state."""
    if specimen.init is None:
        return
    args = specimen.init_args()
    assert_spec(specimen.init(*args), jax.eval_shape(specimen.init, *args))


def sharding_is_kept(specimen: Specimen) -> None:
    """A step leaves what it carries where it was."""
    args = _arguments(specimen)
    n = jax.device_count()
    mesh = jax.make_mesh((n,), ("data",), (AxisType.Auto,))

    def place(leaf: Any) -> Any:
        shape = jnp.shape(leaf)
        rows = shape and shape[0] % n == 0 and shape[0] > 0
        spec = PartitionSpec("data") if rows else PartitionSpec()
        return NamedSharding(mesh, spec)

    carried = args[: specimen.carry]
    where = jax.tree.map(place, carried)
    if not any(s.spec for s in jax.tree.leaves(where)):
        raise AssertionError(
            f"no carried leaf has a first axis that {n} devices divide, so the law "
            "says nothing; make the arguments larger"
        )
    carried = jax.device_put(carried, where)
    rest = args[specimen.carry :]
    after = jax.jit(specimen.fn)(*carried, *rest)
    assert_sharding(_fed(specimen, after, args)[: specimen.carry], where)


def it_pickles(specimen: Specimen) -> None:
    """State and parameters go through pickle, and the function takes them after."""
    args = _arguments(specimen)
    tree = (
        args if specimen.init is None else (specimen.init(*specimen.init_args()), args)
    )
    plain = jax.tree.map(lambda x: jax.random.key_data(x) if _is_key(x) else x, tree)
    again = pickle.loads(pickle.dumps(jax.device_get(plain)))  # noqa: S301  (our own)
    assert_trees_close(again, jax.device_get(plain), rtol=0)
    back = again if specimen.init is None else again[1]
    back = jax.tree.map(
        lambda x, old: jax.random.wrap_key_data(x) if _is_key(old) else x, back, args
    )
    _close(specimen, specimen.fn(*back), specimen.fn(*args))


def gradient_is_finite(specimen: Specimen) -> None:
    """Gradients are finite, and reach every leaf."""
    args = _arguments(specimen)

    def loss(*args: Any) -> jax.Array:
        leaves = [y for y in jax.tree.leaves(specimen.fn(*args)) if _is_floating(y)]
        if not leaves:
            raise AssertionError("no output is floating, so leave grad out")
        return jnp.sum(jnp.stack([jnp.mean(jnp.square(y)) for y in leaves]))

    if not any(map(_is_floating, jax.tree.leaves([args[i] for i in specimen.grad]))):
        raise AssertionError(
            f"no leaf of the arguments grad={specimen.grad} is floating, so the law "
            "says nothing; name others or leave grad out"
        )
    gradient = jax.grad(loss, specimen.grad, allow_int=True)
    found = jax.jit(gradient)(*args)
    leaves = jax.tree.leaves_with_path(found)
    leaves = [(p, g) for p, g in leaves if g.dtype != jax.dtypes.float0]
    if not all(bool(jnp.isfinite(g).all()) for _, g in leaves):
        raise AssertionError(f"not finite: {find_nonfinite(gradient, *args)}")
    for path, g in leaves:
        if not bool((g != 0).any()):
            position = specimen.grad[getattr(path[0], "idx", 0)]
            where = f"args[{position}]{jax.tree_util.keystr(path[1:])}"
            raise AssertionError(f"the gradient by {where} is 0 everywhere")


def auto_mesh_agrees(specimen: Specimen) -> None:
    """A batch over all devices gives what one device gives; Auto axes."""
    _mesh_agrees(specimen, AxisType.Auto)


def explicit_mesh_agrees(specimen: Specimen) -> None:
    """A batch over all devices gives what one device gives; Explicit axes."""
    _mesh_agrees(specimen, AxisType.Explicit)


def _mesh_agrees(specimen: Specimen, kind: AxisType) -> None:
    args, n = _arguments(specimen), jax.device_count()
    for i in specimen.rows:
        for path, leaf in jax.tree.leaves_with_path(args[i]):
            if not jnp.ndim(leaf) or jnp.shape(leaf)[0] % n:
                raise AssertionError(
                    f"a row, args[{i}]{jax.tree_util.keystr(path)}, has the shape "
                    f"{list(jnp.shape(leaf))}; wanted a first axis that {n} devices "
                    "divide: make it longer, or correct rows="
                )
    mesh = jax.make_mesh((n,), ("data",), (kind,))
    rows = NamedSharding(mesh, PartitionSpec("data"))
    copies = NamedSharding(mesh, PartitionSpec())
    placed = [
        jax.device_put(x, rows if i in specimen.rows else copies)
        for i, x in enumerate(args)
    ]

    def fresh(*args: Any) -> Any:  # a trace for one mesh must not serve another
        return specimen.fn(*args)

    try:
        with jax.set_mesh(mesh):
            found = jax.jit(fresh)(*placed)
    except Exception as error:
        if type(error).__name__ != "ShardingTypeError":  # has no public name
            raise
        raise AssertionError(
            f"on a mesh with Explicit axes: {error}\nName the layout of that result "
            "(out_sharding=), or exclude the law: "
            "Specimen(without={'explicit_mesh_agrees': 'why'})"
        ) from error
    _close(specimen, jax.device_get(found), jax.device_get(jax.jit(specimen.fn)(*args)))

"""Gradients against finite differences, leaf by leaf.

A `custom_vjp` that is wrong by a factor trains, only worse. Single precision leaves
little room for finite differences: a step too short drowns in rounding, one too long
sees curvature and kinks. Here the step is searched for, and the error it leaves is
part of the verdict.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

_RTOL = {"float64": 1e-6, "float32": 5e-3}
_FEW = 16  # elements of a leaf that are moved one by one


class _Difference(NamedTuple):
    value: float
    error: float


def assert_gradients(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    *,
    rtol: float | None = None,
    directions: int = 2,
    seed: int = 0,
) -> None:
    """Asserts that the derivatives of a function are its finite differences.

    For each floating leaf of the arguments, in random Gaussian directions, reverse
    mode, forward mode (where there is one) and central differences must agree; a leaf
    of 16 elements or fewer is also moved one element at a time. The
    difference is extrapolated (Richardson) over steps from eps^(1/5) downwards, and of
    these the one with the smallest estimated error is taken; the sums run in float64
    on the host, the function in its own precision. At a kink, as of relu at 0, there
    is no derivative to compare with. Each leaf is judged on the scale of its own
    derivative, so that a large one beside it hides nothing; one that is 0 must leave
    the output unchanged to the bit, or is too noisy to tell.

    What can be missed: in a leaf of up to 16 elements, an error of an element below
    `rtol` of it, or below `rtol` / 100 of the norm of the leaf's gradient. In a larger
    one, an error whose norm is below about `rtol` of that norm: with 1,000 equal
    elements, a single one that is wrong by 16% at 5e-3. An error ten times as large
    escapes two directions by chance 1 time in 250, and one as large as the gradient 1
    time in 100,000; twice the `directions` square that.

    Args:
      fn: takes `args`; returns a pytree. Outputs that are not floating are ignored.
      args: pytrees; leaves that are not floating are held fixed, and those without
        elements have no derivative.
      rtol: relative tolerance; by default 5e-3, or 1e-6 for float64.
      directions: random directions for each leaf, 1 or more, beside its elements.
      seed: of the directions.

    Raises:
      AssertionError: if a derivative differs, is not finite, or if rounding leaves
        too little of the difference to tell; names each leaf, the direction or
        the element, and the three values.
      TypeError: if `args` is no tuple, or a leaf or an output is complex, or narrower
        than float32.
      ValueError: if no leaf or no output is floating, or `directions` is below 1.

    Example:
      >>> import jax.numpy as jnp
      >>> assert_gradients(lambda w: jnp.sum(jnp.tanh(w) ** 3), (jnp.ones(4),))
    """
    _check_arguments(args, directions)
    leaves, treedef = jax.tree.flatten_with_path(args)
    names = [f"args{jax.tree_util.keystr(path)}" for path, _ in leaves]
    values = [leaf for _, leaf in leaves]
    moving = [i for i, leaf in enumerate(values) if _is_floating(names[i], leaf)]
    if not moving:
        raise ValueError("assert_gradients: no leaf of args is floating")

    def of(floating: list[jax.Array]) -> list[jax.Array]:
        filled = list(values)
        for i, x in zip(moving, floating, strict=True):
            filled[i] = x
        out = jax.tree.leaves(fn(*jax.tree.unflatten(treedef, filled)))
        return [y for y in map(jnp.asarray, out) if _is_floating("the output", y)]

    rng = np.random.default_rng(seed)
    x = [jnp.asarray(values[i]) for i in moving]
    evaluate = jax.jit(of)
    out = evaluate(x)
    if not out:
        raise ValueError(
            "assert_gradients: no output of the function is floating, so that it has "
            "no derivative"
        )
    weights: list[Any] = [
        jnp.asarray(rng.standard_normal(y.shape), y.dtype) for y in out
    ]
    (reverse,) = jax.jit(lambda x: jax.vjp(of, x)[1](weights))(x)
    pushed = jax.jit(lambda x, v: jax.jvp(of, (x,), (v,))[1])

    lines = []
    for j, i in enumerate(moving):
        if x[j].size == 0:
            continue
        rows = []
        usual = float(np.linalg.norm(np.float64(reverse[j])))
        for label, way in _ways(rng, x[j].shape, directions):
            step = way.astype(x[j].dtype)
            v = [
                jnp.asarray(step) if k == j else jnp.zeros_like(x[k])
                for k in range(len(x))
            ]
            backward = _dot([reverse[j]], [step])
            forward = _forward(pushed, x, v, weights)
            found = _difference(evaluate, x, v, j, weights, slope=usual)
            told = f"{names[i]}, {label}"
            rows.append((told, x[j].dtype.name, backward, forward, found))
        # Directions that cancel are judged on the scale of the leaf's others.
        largest = max(usual, *(abs(row[4].value) for row in rows))
        lines += [line for row in rows if (line := _verdict(row, rtol, largest))]
    if lines:
        raise AssertionError(
            "derivatives are not those of the function:\n  " + "\n  ".join(lines)
        )


def _check_arguments(args: Any, directions: int) -> None:
    if not isinstance(args, tuple):
        raise TypeError(
            f"assert_gradients: args is of type {type(args).__name__}: wanted a tuple "
            "of all arguments. Type assert_gradients(fn, (x,)) for one"
        )
    if directions < 1:
        raise ValueError(
            f"assert_gradients: directions is {directions}, wanted 1 or more"
        )


def _ways(
    rng: np.random.Generator, shape: tuple[int, ...], directions: int
) -> Iterator[tuple[str, np.ndarray]]:
    """Gaussian directions of mean square 1, and the elements of a small leaf."""
    for d in range(directions):
        way = rng.standard_normal(shape)
        yield f"direction {d}", way / np.sqrt(np.mean(np.square(way)))
    if np.prod(shape) <= _FEW:
        for index in np.ndindex(shape):
            way = np.zeros(shape)
            way[index] = 1.0
            yield f"element {list(index)}", way


def _forward(
    pushed: Callable[..., Any], x: list[Any], v: list[Any], weights: list[Any]
) -> float | None:
    """The derivative by forward mode; a function with a `custom_vjp` has none."""
    try:
        return _dot(pushed(x, v), weights)
    except TypeError as error:
        if "custom_vjp" in str(error):
            return None
        raise


def _is_floating(name: str, leaf: Any) -> bool:
    dtype = jax.dtypes.result_type(leaf) if not hasattr(leaf, "dtype") else leaf.dtype
    if jnp.issubdtype(dtype, jnp.complexfloating):
        raise TypeError(f"{name} is {dtype}; assert_gradients takes real arrays")
    if not jnp.issubdtype(dtype, jnp.floating):
        return False
    if jnp.finfo(dtype).bits < 32:
        raise TypeError(
            f"{name} is {dtype}, too coarse for finite differences; check the function "
            "in float32, and the narrow one against that"
        )
    return True


def _dot(a: list[Any], b: list[Any]) -> float:
    pairs = zip(a, b, strict=True)
    with np.errstate(invalid="ignore"):  # a NaN is told by the verdict
        return float(sum(np.sum(np.float64(x) * np.float64(y)) for x, y in pairs))


def _difference(
    evaluate: Callable[..., Any],
    x: list[jax.Array],
    v: list[jax.Array],
    j: int,
    weights: list[Any],
    *,
    slope: float,
) -> _Difference:
    """Richardson's extrapolation of central differences, at the best of six steps."""
    eps = float(jnp.finfo(x[j].dtype).eps)
    way = np.float64(v[j])
    size = float(jnp.sqrt(jnp.mean(jnp.square(x[j])))) if x[j].size else 1.0
    h = eps**0.2 * max(size, 1e-2)
    best, before = _Difference(0.0, np.inf), None
    for _ in range(6):
        plus = [a + np.asarray(h, a.dtype) * b for a, b in zip(x, v, strict=True)]
        minus = [a - np.asarray(h, a.dtype) * b for a, b in zip(x, v, strict=True)]
        high, low = evaluate(plus), evaluate(minus)
        # What was really stepped, after rounding: along the direction, and beside it.
        step = np.float64(plus[j]) - np.float64(minus[j])
        width = np.sum(step * way) / np.sum(way * way)
        astray = np.sqrt(np.mean(np.square(step - width * way)))
        rise = [np.float64(a) - np.float64(b) for a, b in zip(high, low, strict=True)]
        now = _dot(rise, weights) / width
        noise = eps * _dot([np.abs(y) for y in high], [np.abs(w) for w in weights])
        noise += astray * (slope if np.isfinite(slope) else 0.0)
        if before is not None:
            better = now + (now - before) / 15  # steps shrink by 4, their error by 16
            error = abs(better - now) + noise / width
            if error < best.error:
                best = _Difference(better, error)
        before, h = now, h / 4
    return best


def _verdict(
    row: tuple[str, str, float, float | None, _Difference],
    rtol: float | None,
    largest: float,
) -> str | None:
    name, dtype, backward, forward, found = row
    rtol = _RTOL[dtype] if rtol is None else rtol
    derivatives = [backward] if forward is None else [backward, forward]
    scale = max(abs(backward), abs(found.value))
    told = (
        f"{name}: reverse {backward:.6g}, forward "
        f"{'none' if forward is None else f'{forward:.6g}'}, "
        f"finite difference {found.value:.6g} +- {found.error:.1g}"
    )
    if not np.isfinite([*derivatives, found.value]).all():
        return f"{told}: not finite (find_nonfinite says where)"
    if not any([*derivatives, found.value, largest]):
        return None
    allowed = rtol * max(scale, 0.01 * largest) + 3 * found.error
    for derivative in derivatives:
        if abs(derivative - found.value) > allowed:
            return told
    if 3 * found.error > max(0.1 * scale, 0.01 * largest):
        return (
            f"{told}: too noisy to tell; shift the output towards 0, use x64, or leave "
            "out a leaf whose derivative is 0"
        )
    return None

"""Strategies for hypothesis: `pip install "chex-harness[hypothesis]"`.

Shapes come from small fixed sets: a property test that draws a new shape each time
compiles each time, and finds no more than one that draws values for a few.
"""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st
from jax.sharding import AxisType, NamedSharding, PartitionSpec

__all__ = ["DTYPES", "SHAPES", "arrays", "keys", "meshes", "pytrees", "shardings"]

SHAPES: tuple[tuple[int, ...], ...] = ((), (1,), (8,), (8, 4), (2, 8, 3), (0, 4))
DTYPES = ("float32", "bfloat16", "int32", "uint8", "bool")
# Bounds of what is drawn: sums and squares of them are finite in every dtype.
_LARGEST = 64


def arrays(
    *,
    shapes: Sequence[tuple[int, ...]] = SHAPES,
    dtypes: Sequence[Any] = DTYPES,
    sharding: Any = None,
    allow_nan: bool = False,
) -> st.SearchStrategy[jax.Array]:
    """Arrays of a few shapes and dtypes, with values that shrink to 0.

    Args:
      shapes: the shapes to draw from.
      dtypes: the dtypes to draw from.
      sharding: a `Sharding`, or a strategy of them; axes that do not divide are
        replicated. Without it, arrays are where jax puts them.
      allow_nan: whether floating arrays hold NaN and infinities at times.

    Returns:
      A strategy.

    Example:
      >>> from hypothesis import given
      >>> @given(arrays(shapes=[(8,)], dtypes=["float32"]))
      ... def test_it(x):
      ...     assert x.shape == (8,)
      >>> test_it()
    """
    placed = sharding if isinstance(sharding, st.SearchStrategy) else st.just(sharding)

    @st.composite
    def draw_array(draw: st.DrawFn) -> jax.Array:
        shape = draw(st.sampled_from(list(shapes)))
        dtype = jnp.dtype(draw(st.sampled_from(list(dtypes))))
        size = int(np.prod(shape))
        values = draw(st.lists(_values(dtype, allow_nan), min_size=size, max_size=size))
        array = np.asarray(values, np.float64).reshape(shape).astype(dtype)
        where = draw(placed)
        return jnp.asarray(array) if where is None else _put(array, where)

    return draw_array()


def _values(dtype: Any, allow_nan: bool) -> st.SearchStrategy[Any]:  # noqa: FBT001
    if dtype.kind == "b":
        return st.booleans()
    if jnp.issubdtype(dtype, jnp.integer):
        low = 0 if jnp.issubdtype(dtype, jnp.unsignedinteger) else -_LARGEST
        return st.integers(low, _LARGEST)
    finite = st.integers(-8 * _LARGEST, 8 * _LARGEST).map(lambda n: n / 8)
    if not allow_nan:
        return finite
    return finite | st.sampled_from([np.nan, np.inf, -np.inf])


def _put(array: np.ndarray, sharding: Any) -> jax.Array:
    if isinstance(sharding, NamedSharding):
        spec = list(sharding.spec)[: array.ndim]
        entries = [(e,) if isinstance(e, str) else tuple(e or ()) for e in spec]
        counts = [int(np.prod([sharding.mesh.shape[a] for a in e])) for e in entries]
        kept = [
            e if n % count == 0 else None
            for e, n, count in zip(spec, array.shape, counts, strict=False)
        ]
        sharding = NamedSharding(sharding.mesh, PartitionSpec(*kept))
    return jax.device_put(array, sharding)


def pytrees(
    leaves: st.SearchStrategy[Any] | None = None, *, max_leaves: int = 5
) -> st.SearchStrategy[Any]:
    """Trees of dicts, tuples, lists and None, with a leaf at least.

    Args:
      leaves: a strategy of leaves; by default `arrays()`.
      max_leaves: about how many.

    Returns:
      A strategy.

    Example:
      >>> from hypothesis import given
      >>> @given(pytrees(st.integers()))
      ... def test_it(tree):
      ...     assert jax.tree.leaves(tree)
      >>> test_it()
    """
    names = st.sampled_from(["w", "b", "layer", "0"])

    def larger(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        some = inner | st.none()
        return (
            st.dictionaries(names, some, max_size=3)
            | st.lists(some, max_size=3)
            | st.tuples(inner, some)
        )

    trees = st.recursive(
        arrays() if leaves is None else leaves, larger, max_leaves=max_leaves
    )
    return trees.filter(lambda tree: bool(jax.tree.leaves(tree)))


def keys(*, shape: tuple[int, ...] = ()) -> st.SearchStrategy[jax.Array]:
    """Typed random keys.

    Args:
      shape: the shape of the key array.

    Returns:
      A strategy.

    Example:
      >>> from hypothesis import given
      >>> @given(keys())
      ... def test_it(key):
      ...     assert jax.random.uniform(key) < 1
      >>> test_it()
    """

    def make(seed: int) -> jax.Array:
        key = jax.random.key(seed)
        return jax.random.split(key, shape) if shape else key

    return st.integers(0, 2**31 - 1).map(make)


def meshes(
    *, names: Sequence[str] = ("data", "model"), axis_type: AxisType = AxisType.Auto
) -> st.SearchStrategy[jax.sharding.Mesh]:
    """Meshes over all devices or some, of one axis or two.

    Args:
      names: the names of the axes; a mesh has the first, or the first two.
      axis_type: of all axes.

    Returns:
      A strategy.

    Example:
      >>> from hypothesis import given
      >>> @given(meshes())
      ... def test_it(mesh):
      ...     assert mesh.size in {1, 2, 4, 8}
      >>> test_it()
    """

    def shapes() -> list[tuple[int, ...]]:
        n = jax.device_count()
        powers = [2**i for i in range(n.bit_length()) if 2**i <= n]
        one: list[tuple[int, ...]] = [(a,) for a in powers]
        if len(names) < 2:
            return one
        return one + [(a, b) for a in powers for b in powers if b > 1 and a * b <= n]

    def make(shape: tuple[int, ...]) -> jax.sharding.Mesh:
        devices = jax.devices()[: int(np.prod(shape))]
        kinds = (axis_type,) * len(shape)
        return jax.make_mesh(shape, tuple(names[: len(shape)]), kinds, devices=devices)

    # Asks for the devices when it is drawn from, not when a module is imported.
    return st.deferred(lambda: st.sampled_from(shapes()).map(make))


def shardings(
    mesh: st.SearchStrategy[jax.sharding.Mesh] | None = None,
) -> st.SearchStrategy[NamedSharding]:
    """Layouts over a mesh: replicated, or with the first axis of the array shared.

    Args:
      mesh: a strategy of meshes; by default `meshes()`.

    Returns:
      A strategy, to be used as `arrays(sharding=shardings())`.

    Example:
      >>> from hypothesis import given
      >>> @given(arrays(shapes=[(8, 4)], sharding=shardings()))
      ... def test_it(x):
      ...     assert x.shape == (8, 4)
      >>> test_it()
    """

    def specs(mesh: jax.sharding.Mesh) -> st.SearchStrategy[NamedSharding]:
        first, *others = mesh.axis_names
        found = [PartitionSpec(), PartitionSpec(first)]
        if others:
            found += [
                PartitionSpec(first, others[0]),
                PartitionSpec((first, others[0])),
            ]
        return st.sampled_from([NamedSharding(mesh, spec) for spec in found])

    return (meshes() if mesh is None else mesh).flatmap(specs)

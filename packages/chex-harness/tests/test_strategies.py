import jax
import jax.numpy as jnp
import pytest
from hypothesis import HealthCheck, find, given, settings
from hypothesis import strategies as st
from jax.sharding import AxisType, NamedSharding

from chex_harness import strategies

few = settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)


@few
@given(strategies.arrays())
def test_arrays_are_of_the_set_and_finite(x):
    assert x.shape in strategies.SHAPES
    assert x.dtype.name in strategies.DTYPES
    assert jnp.isfinite(x.astype(float)).all()


def test_nan_is_drawn_where_it_is_allowed():
    some = strategies.arrays(shapes=[(8,)], dtypes=["float32"], allow_nan=True)
    found = find(some, lambda x: bool(jnp.isnan(x).any()), settings=few)
    assert found.shape == (8,)


@pytest.mark.devices(8)
@few
@given(strategies.arrays(shapes=[(8, 4), (3,)], sharding=strategies.shardings()))
def test_shardings_are_kept_where_they_divide(x):
    assert isinstance(x.sharding, NamedSharding)


@few
@given(strategies.pytrees(st.integers(0, 3)))
def test_trees_have_leaves(tree):
    assert all(isinstance(leaf, int) for leaf in jax.tree.leaves(tree))
    assert jax.tree.leaves(tree)


@few
@given(strategies.keys(shape=(2,)))
def test_keys_are_typed(keys):
    assert keys.shape == (2,)
    assert jax.dtypes.issubdtype(keys.dtype, jax.dtypes.prng_key)


@pytest.mark.devices(8)
@few
@given(strategies.meshes(names=("a", "b"), axis_type=AxisType.Explicit))
def test_meshes_have_the_names(mesh):
    assert mesh.axis_names in {("a",), ("a", "b")}
    assert set(mesh.axis_types) == {AxisType.Explicit}

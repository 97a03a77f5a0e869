import contextlib
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

from chex_harness import assert_sharding

pytestmark = pytest.mark.devices(8)


@pytest.fixture
def put(mesh):
    return lambda x, *spec: jax.device_put(x, NamedSharding(mesh, P(*spec)))


def test_replicated_is_not_sharded(put):
    x = put(jnp.zeros((8, 8)))
    assert_sharding(x, P())
    with pytest.raises(
        AssertionError, match=r"replicated over 8 devices; wanted .*data"
    ):
        assert_sharding(x, P("data"))


def test_another_axis_is_another_layout(put):
    x = put(jnp.zeros((8, 8)), None, "data")
    assert_sharding(x, P(None, "data"))
    with pytest.raises(AssertionError, match=r"laid out as .*None, 'data'.*wanted"):
        assert_sharding({"w": x}, {"w": P("data")})


def test_one_device_is_not_replicated(put, mesh):
    with pytest.raises(AssertionError, match=r"\['b'\] \[8\] is on one device"):
        assert_sharding({"a": put(jnp.zeros(8)), "b": jnp.zeros(8)}, P())
    with pytest.raises(AssertionError, match="on one device"):
        assert_sharding(jnp.zeros(8), P(), mesh=mesh)
    with pytest.raises(ValueError, match="Pass mesh="):
        assert_sharding(jnp.zeros(8), P())


def test_a_prefix_and_patterns(put):
    tree = {"net": {"w": put(jnp.zeros((8, 2)), "data"), "b": put(jnp.zeros(2))}}
    assert_sharding(tree, {"net": {"w": P("data"), "b": P()}})
    assert_sharding(tree, by_path={"net/w": P("data"), "": P()})
    with pytest.raises(AssertionError, match=r"1 of 2 .*\n *\['net'\]\['b'\]"):
        assert_sharding(tree, {"net": P("data")})
    with pytest.raises(AssertionError, match="no pattern is found in the path 'net/b'"):
        assert_sharding(tree, by_path={"w$": P("data")})


def test_what_is_on_no_device_is_said(put, mesh):
    with pytest.raises(AssertionError, match="ndarray, which lies on no device"):
        assert_sharding(np.zeros(8), P("data"), mesh=mesh)
    with pytest.raises(AssertionError, match="has 1 axes, too few"):
        assert_sharding(put(jnp.zeros(8)), P(None, "data"))


def test_one_of_specs_and_patterns():
    with pytest.raises(ValueError, match="one of specs and by_path"):
        assert_sharding(jnp.zeros(8))


def test_results_of_jit_and_structs(put, mesh):
    x = put(jnp.zeros((8, 2)), "data")
    assert_sharding(jax.jit(lambda x: x + 1)(x), P("data"))
    struct = jax.ShapeDtypeStruct((8,), jnp.float32, sharding=x.sharding)
    assert_sharding(struct, P("data"))
    assert_sharding(struct, x.sharding)


def test_inside_jit_on_explicit_axes(devices):
    mesh = jax.make_mesh((8,), ("data",), (AxisType.Explicit,), devices=devices)

    @partial(jax.jit, static_argnames="spec")
    def f(x, *, spec):
        assert_sharding(x, spec)
        return x

    x = jax.device_put(jnp.zeros(8), NamedSharding(mesh, P("data")))
    with jax.set_mesh(mesh):
        f(x, spec=P("data"))
        with pytest.raises(AssertionError, match="wanted"):
            f(x, spec=P())


@pytest.mark.parametrize("set_", [True, False])
def test_inside_jit_on_auto_axes_nothing_is_known(put, mesh, set_):
    @jax.jit
    def f(x):
        assert_sharding({"x": x}, P(), mesh=mesh)
        return x

    x = put(jnp.zeros(8), "data")
    context = jax.set_mesh(mesh) if set_ else contextlib.nullcontext()
    with context, pytest.raises(ValueError, match=r"\['x'\].*outside jit.*Explicit"):
        f(x)


@pytest.mark.parametrize("specs", [{"a": P()}, {"a": P(), "c": P()}, [P()], "data"])
def test_specs_of_another_structure_are_told(put, specs):
    tree = {"a": put(jnp.zeros(8)), "b": put(jnp.zeros(8))}
    told = r"no prefix of the tree:\n  specs .*\n  tree .*\n.*Type P\(\) for a leaf"
    with pytest.raises(ValueError, match=told):
        assert_sharding(tree, specs)

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

from jraph_kit._rows import explicit_sharding, graph_numbers, take_rows


@pytest.mark.parametrize("lengths", [[2, 0, 3], [0, 5], [5, 0, 0], [1] * 5])
def test_graph_numbers_are_numpys_repeat(lengths):
    found = graph_numbers(jnp.asarray(lengths), 5)
    np.testing.assert_array_equal(found, np.repeat(np.arange(len(lengths)), lengths))


def test_rows_beyond_the_last_graph_belong_to_none():
    assert graph_numbers(jnp.array([1, 1]), 4).tolist() == [0, 1, 2, 2]


@pytest.mark.devices(4)
def test_rows_lie_as_the_indices_do(devices):
    mesh = jax.make_mesh((4,), ("x",), axis_types=(AxisType.Explicit,), devices=devices)
    x = np.arange(32.0, dtype="float32").reshape(8, 4)
    indices = np.array([3, 1, 0, 7])
    specs = [
        (P("x"), P("x"), P("x", None)),
        (P(None, "x"), P("x"), P("x", None)),
        (P(None, "x"), P(), P(None, "x")),
        (P("x"), P(), P(None, None)),
    ]
    with jax.set_mesh(mesh):
        for x_spec, i_spec, wanted in specs:
            rows = jax.device_put(x, NamedSharding(mesh, x_spec))
            at = jax.device_put(indices, NamedSharding(mesh, i_spec))
            found = jax.jit(take_rows)(rows, at)
            assert found.sharding.is_equivalent_to(NamedSharding(mesh, wanted), 2)
            np.testing.assert_array_equal(found, x[indices])


@pytest.mark.devices(4)
def test_graph_numbers_lie_as_the_rows_do(devices):
    mesh = jax.make_mesh((4,), ("x",), axis_types=(AxisType.Explicit,), devices=devices)
    lies = NamedSharding(mesh, P("x"))
    with jax.set_mesh(mesh):
        rows = jax.device_put(np.zeros((8, 2)), lies)
        for lengths in (np.array([3, 5]), jax.device_put(np.array([3, 1, 4, 0]), lies)):
            found = jax.jit(lambda a, b: graph_numbers(a, 8, like=b))(lengths, rows)
            assert found.sharding.is_equivalent_to(lies, 1)
            wanted = np.repeat(np.arange(len(lengths)), lengths)
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.devices(4)
def test_auto_axes_are_left_to_the_compiler(devices):
    mesh = jax.make_mesh((4,), ("x",), axis_types=(AxisType.Auto,), devices=devices)
    x = jax.device_put(np.zeros((8, 2)), NamedSharding(mesh, P("x")))
    assert explicit_sharding(x) is None

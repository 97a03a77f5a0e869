import jax
import jax.numpy as jnp
import pytest
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

from chex_harness import assert_collectives, collectives
from chex_harness._collectives import _bytes

pytestmark = pytest.mark.devices(8)


@pytest.fixture
def rows(mesh):
    return jax.device_put(jnp.ones((8, 4)), NamedSharding(mesh, P("data")))


def loss(w, x):
    return jnp.mean((x @ w) ** 2)


def test_data_parallel_gradients_are_all_reduces(mesh, rows):
    w = jax.device_put(jnp.ones(4), NamedSharding(mesh, P()))
    assert_collectives(jax.grad(loss), (w, rows), all_reduce=1, at_most_bytes=16)


def test_a_gather_that_nobody_wanted_is_listed(mesh, rows):
    gather = jax.jit(lambda x: x * 2, out_shardings=NamedSharding(mesh, P()))
    (found,) = collectives(gather, rows)
    assert (found.kind, found.type, found.size) == ("all_gather", "f32[8,4]", 128)
    with pytest.raises(AssertionError) as caught:
        assert_collectives(gather, (rows,), all_reduce=1, at_most_bytes=100)
    assert (
        "all_reduce: 0, wanted 1; all_gather: 1, wanted 0; 128 bytes, at most 100 "
        in (str(caught.value))
    )
    assert "all_gather f32[8,4]" in str(caught.value)


def test_all_kinds_are_found(mesh):
    def everything(x):
        x = jax.lax.ppermute(x, "data", [(i, (i + 1) % 8) for i in range(8)])
        x = jax.lax.all_to_all(x, "data", 1, 0, tiled=True)
        return jax.lax.psum_scatter(x, "data", tiled=True)

    spec = P("data")
    fn = jax.shard_map(everything, mesh=mesh, in_specs=spec, out_specs=spec)
    x = jnp.ones((64, 8))
    assert_collectives(fn, (x,), collective_permute=1, all_to_all=1, reduce_scatter=1)


def test_structs_with_a_sharding_will_do(devices):
    mesh = jax.make_mesh((8,), ("data",), (AxisType.Explicit,), devices=devices)
    rows = NamedSharding(mesh, P("data"))
    x = jax.ShapeDtypeStruct((8,), jnp.float32, sharding=rows)
    assert_collectives(jnp.sum, (x,), all_reduce=1)


def test_none_is_none():
    with pytest.raises(AssertionError, match=r"all_reduce: 0, wanted 2. It has none"):
        assert_collectives(jnp.sum, (jnp.ones(3),), all_reduce=2)


def test_booleans_are_a_byte_each(mesh):
    x = jax.device_put(jnp.ones(64, bool), NamedSharding(mesh, P("data")))
    gather = jax.jit(jnp.logical_not, out_shardings=NamedSharding(mesh, P()))
    (found,) = collectives(gather, x)
    assert (found.type, found.size) == ("pred[64]", 64)
    with pytest.raises(AssertionError, match="64 bytes, at most 63 wanted"):
        assert_collectives(gather, (x,), all_gather=1, at_most_bytes=63)


@pytest.mark.parametrize(
    ("type_", "size"),
    [
        ("pred[]", 1),
        ("(pred[2,3]{1,0}, f32[4]{0})", 22),
        ("f8e4m3fn[5]", 5),
        ("bf16[2]", 4),
        ("s4[4]", 2),
    ],
)
def test_bytes_of_a_type(type_, size):
    assert _bytes(type_) == size

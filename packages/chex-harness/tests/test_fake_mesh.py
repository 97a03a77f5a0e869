import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import AxisType
from jax.sharding import PartitionSpec as P

from chex_harness import assert_trees_close, fake_mesh

pytestmark = pytest.mark.devices(8)
X = jnp.arange(32.0).reshape(8, 4) / 7
W = jnp.linspace(-1, 1, 4)
RING = [(i, (i + 1) % 4) for i in range(4)]


def collect(x, w):
    return {
        "index": x + lax.axis_index("data"),
        "mean": lax.pmean(x.sum(0), "data"),
        "gathered": lax.all_gather(x, "data", tiled=True),
        "ring": lax.ppermute(x, "data", RING),
        "max": lax.pmax(x.max(), ("data", "model")),
    }


COLLECTED = {
    "index": P("data", "model"),
    "mean": P("model"),
    "gathered": P("data", "model"),
    "ring": P("data", "model"),
    "max": P(),
}


def gradients(x, w):
    """A pmean outside and inside of a gradient: where fakes are wrong by a factor."""

    def loss(w):
        return lax.pmean(jnp.sum((x * w) ** 2), ("data", "model"))

    inside = jax.grad(lambda w: jnp.sum((x * w) ** 2))(w)
    return jax.grad(loss)(w), inside


def control(x, w):
    def step(c, y):
        return c + lax.psum(y.sum(), "data"), c * y

    total, _ = lax.scan(step, lax.pcast(0.0, ("model",), to="varying"), x)
    _, total = lax.while_loop(
        lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2), (0, total)
    )
    branch = lax.cond(lax.axis_index("data") > 1, lambda x: x * 2, lambda x: x, x)
    return total[None], branch, jax.jit(lambda x: jax.checkpoint(jnp.sin)(x) * 2)(x)


BODIES = {
    "collect": (collect, COLLECTED),
    "gradients": (gradients, (P("model"), P("model"))),
    "control": (control, (P("model"), P("data", "model"), P("data", "model"))),
}
IN = (P("data", "model"), P("model"))


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("jitted", [True, False])
def test_it_is_what_a_mesh_gives(name, jitted, devices):
    body, out = BODIES[name]
    auto = (AxisType.Auto,) * 2
    real = jax.make_mesh((4, 2), ("data", "model"), auto, devices=devices)
    wanted = jax.jit(jax.shard_map(body, mesh=real, in_specs=IN, out_specs=out))(X, W)
    with fake_mesh({"data": 4, "model": 2}) as mesh:
        fake = jax.shard_map(body, mesh=mesh, in_specs=IN, out_specs=out)
        found = (jax.jit(fake) if jitted else fake)(X, W)
    assert_trees_close(found, jax.tree.map(np.asarray, wanted), rtol=1e-5)
    assert len(jax.tree.leaves(found)[0].sharding.device_set) == 1


def test_gradients_through_it_are_those_of_a_mesh(devices):
    auto = (AxisType.Auto,)
    real = jax.make_mesh((8,), ("data",), auto, devices=devices)

    def loss_on(mesh):
        def body(x, w):
            return lax.psum(jnp.sum((x @ w) ** 2), "data")

        mapped = jax.shard_map(
            body, mesh=mesh, in_specs=(P("data"), P()), out_specs=P()
        )
        return jax.jit(jax.value_and_grad(lambda w: mapped(X, w)))

    wanted = loss_on(real)(W)
    with fake_mesh({"data": 8}) as mesh:
        found = loss_on(mesh)(W)
    assert_trees_close(found, jax.tree.map(np.asarray, wanted), rtol=1e-5)


def test_the_checks_of_shard_map_hold():
    with fake_mesh({"data": 4}) as mesh:
        wrong = jax.shard_map(lambda x: x, mesh=mesh, in_specs=P("data"), out_specs=P())
        with pytest.raises(ValueError, match="out_specs"):
            wrong(jnp.ones(4))
        uneven = jax.shard_map(
            jnp.sin, mesh=mesh, in_specs=P("data"), out_specs=P("data")
        )
        with pytest.raises(ValueError, match="divisible"):
            uneven(jnp.ones(6))


def test_more_axes_than_there_are_devices_and_a_spec_of_two():
    with fake_mesh({"a": 16, "b": 4}) as mesh:
        spec = P(("b", "a"))
        f = jax.shard_map(
            lambda x: x + lax.axis_index("a") + 100 * lax.axis_index("b"),
            mesh=mesh,
            in_specs=spec,
            out_specs=spec,
        )
        found = f(jnp.zeros(64, int))
    assert found.tolist() == [100 * b + a for b in range(4) for a in range(16)]


def test_some_of_the_axes_are_refused():
    with fake_mesh({"a": 2, "b": 2}) as mesh:
        f = jax.shard_map(
            jnp.sin, mesh=mesh, in_specs=P("a"), out_specs=P("a"), axis_names={"a"}
        )
        with pytest.raises(NotImplementedError, match="only be over all of them"):
            f(jnp.ones(4))


def test_shard_map_is_itself_again():
    before = jax.shard_map
    with fake_mesh({"a": 2}):
        assert jax.shard_map is not before
    assert jax.shard_map is before


@pytest.mark.parametrize(
    ("axes", "error", "told"),
    [
        ({"data": 0}, ValueError, "the axis 'data' has size 0: wanted 1 or more"),
        ({"data": 2.0}, TypeError, "the axis 'data' has size 2.0: wanted an int"),
        ({3: 2}, TypeError, "the axis 3 is no name"),
        ({}, ValueError, "no axes"),
        (("data", 2), TypeError, r"of type tuple.*Type fake_mesh\(\{'data': 4\}\)"),
    ],
)
def test_axes_are_names_with_sizes(axes, error, told):
    with pytest.raises(error, match=told), fake_mesh(axes):
        pass


def test_an_axis_that_the_mesh_has_not_is_refused_by_jax():
    with fake_mesh({"data": 2}) as mesh:
        f = jax.shard_map(
            lambda x: lax.psum(x, "model"), mesh=mesh, in_specs=P("data"), out_specs=P()
        )
        with pytest.raises((AssertionError, NameError)):  # has no text, as is told
            f(jnp.ones(4))
        g = jax.shard_map(jnp.sin, mesh=mesh, in_specs=P("model"), out_specs=P())
        with pytest.raises(ValueError, match="refers to 'model'"):
            g(jnp.ones(4))
    assert "an axis that the mesh has not is refused" in fake_mesh.__doc__

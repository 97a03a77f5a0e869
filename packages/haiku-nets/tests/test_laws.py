"""What every public module keeps to; a new module adds one row."""

import functools

import haiku as hk
import jax
import jax.numpy as jnp
import pytest

import haiku_nets
from chex_harness import Laws, Specimen, assert_sharding
from haiku_nets import (
    MLP,
    ActorCritic,
    BatchNormGenerator,
    BatchStatisticsNorm,
    Conv2D,
    Conv2DTranspose,
    DCGANDiscriminator,
    DCGANGenerator,
    LeNet,
    ReferenceDiscriminator,
    ReferenceGenerator,
)

ROWS = 8


def _relu_of(module):
    return lambda x: jax.nn.relu(module(x))


# How to make the module, and the shape of one example of its input.
_MODULES = {
    "ActorCritic": (lambda: ActorCritic(3, sizes=(5, 4)), (6,)),
    "BatchNormGenerator": (BatchNormGenerator, (20,)),
    # The mean square of what it returns would not depend on all of its parameters.
    "BatchStatisticsNorm": (lambda: _relu_of(BatchStatisticsNorm()), (5, 3)),
    "Conv2D": (lambda: Conv2D(4, 5, stride=2), (7, 6, 3)),
    "Conv2DTranspose": (lambda: Conv2DTranspose(4, 5, stride=2), (4, 3, 2)),
    "DCGANDiscriminator": (
        lambda: DCGANDiscriminator((3, 4), spectral_norm=True),
        (12, 12, 1),
    ),
    "DCGANGenerator": (lambda: DCGANGenerator((4, 3), kernel_shape=3), (5,)),
    "LeNet": (lambda: lambda x: LeNet(channels=(3, 4))(x).logits, (12, 12, 1)),
    "MLP": (lambda: MLP((5, 4), layer_norm=True), (6,)),
    "ReferenceDiscriminator": (ReferenceDiscriminator, (28, 28, 1)),
    "ReferenceGenerator": (ReferenceGenerator, (20,)),
}


def _network(name):
    make, example = _MODULES[name]

    def forward(x):
        return make()(x)

    x = jax.random.normal(jax.random.key(0), (ROWS, *example))
    return hk.without_apply_rng(hk.transform(forward)), x


@functools.cache
def _params(name):
    net, x = _network(name)
    return jax.jit(net.init)(jax.random.key(1), x)


def _loss(net, params, x):
    out = jax.tree.leaves(net.apply(params, x))
    return sum(jnp.mean(jnp.square(y)) for y in out)


def _specimen(name):
    net, x = _network(name)

    def args(dtype):
        return jax.tree.map(lambda leaf: leaf.astype(dtype), (_params(name), x))

    return Specimen(
        fn=net.apply,
        args=args,
        init=net.init,
        init_args=lambda: (jax.random.key(1), x),
        rows=(1,),
        grad=(0,),
        rtol=1e-4,
        atol=1e-5,
    )


PUBLIC = [
    name
    for name in haiku_nets.__all__
    if isinstance(getattr(haiku_nets, name), type)
    and issubclass(getattr(haiku_nets, name), hk.Module)
]
test_laws = Laws({name: _specimen(name) for name in _MODULES}, public=PUBLIC).test()


@pytest.mark.parametrize("name", _MODULES)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_parameters_and_gradients_have_the_dtype_of_the_images(name, dtype):
    net, x = _network(name)
    x = x.astype(dtype)
    params = jax.eval_shape(net.init, jax.random.key(1), x)
    gradients = jax.eval_shape(jax.grad(lambda p: _loss(net, p, x)), params)
    for array in jax.tree.leaves((params, gradients)):
        assert array.dtype == dtype


@pytest.mark.parametrize("name", _MODULES)
def test_gradients_of_a_batch_over_devices_are_those_of_one(
    name, devices, assert_close
):
    net, x = _network(name)
    params = _params(name)
    kinds = (jax.sharding.AxisType.Explicit,)
    mesh = jax.make_mesh((8,), ("data",), kinds, devices=devices)
    rows = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))
    copies = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())

    def step(params, x):
        return net.apply(params, x), jax.grad(lambda p: _loss(net, p, x))(params)

    wanted = jax.jit(step)(params, x)[1]
    with jax.set_mesh(mesh):
        out, found = jax.jit(step)(
            jax.device_put(params, copies), jax.device_put(x, rows)
        )
    assert_sharding(out, jax.tree.map(lambda _: rows, out))
    assert_close(found, wanted, to=1e-5)

"""What every public module keeps to; a new module adds one row."""

import pickle

import haiku as hk
import jax
import jax.numpy as jnp
import pytest

import haiku_nets
from chex_harness import assert_compiles
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


def _relu_of(module):
    return lambda x: jax.nn.relu(module(x))


def _joined(module):
    def both(x):
        logits, value = module(x)
        return jnp.concatenate([logits, value[..., None]], -1)

    return both


# How to make the module, and the shape of one example of its input.
_MODULES = {
    "ActorCritic": (lambda: _joined(ActorCritic(3, sizes=(5, 4))), (6,)),
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


@pytest.fixture(scope="module", params=_MODULES)
def module(request):
    """(network, batch of 8 inputs, parameters) of one module."""
    make, example = _MODULES[request.param]

    def forward(x):
        return make()(x)

    net = hk.without_apply_rng(hk.transform(forward))
    x = jax.random.normal(jax.random.key(0), (8, *example))
    return net, x, jax.jit(net.init)(jax.random.key(1), x)


def _loss(net, params, x):
    return jnp.mean(jnp.square(net.apply(params, x)))


def test_the_table_holds_every_public_module():
    public = {
        name
        for name in haiku_nets.__all__
        if isinstance(getattr(haiku_nets, name), type)
        and issubclass(getattr(haiku_nets, name), hk.Module)
    }
    assert public == set(_MODULES)


def test_jit_equals_eager(module, assert_close):
    net, x, params = module
    assert_close(jax.jit(net.apply)(params, x), net.apply(params, x), to=1e-5)


def test_vmap_equals_a_loop(module, assert_close):
    net, x, params = module
    x = x.reshape(2, 4, *x.shape[1:])
    apply = jax.jit(net.apply)
    found = jax.jit(jax.vmap(net.apply, in_axes=(None, 0)))(params, x)
    assert_close(found, jnp.stack([apply(params, row) for row in x]), to=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_dtype_is_kept(module, dtype):
    net, x, _ = module
    x = x.astype(dtype)
    params = jax.eval_shape(net.init, jax.random.key(1), x)
    gradients = jax.eval_shape(jax.grad(lambda p: _loss(net, p, x)), params)
    out = jax.eval_shape(net.apply, params, x)
    for array in jax.tree.leaves((params, gradients, out)):
        assert array.dtype == dtype


def test_the_second_call_compiles_nothing(module):
    net, x, params = module
    other = x + 1
    step = jax.jit(lambda p, x: jax.grad(lambda p: _loss(net, p, x))(p))
    step(params, x)
    with assert_compiles(0):
        step(params, other)


def test_abstract_parameters_are_those_of_init(module):
    net, x, params = module
    abstract = jax.eval_shape(net.init, jax.random.key(1), x)
    assert abstract == jax.eval_shape(lambda: params)


def test_parameters_pickle(module, assert_close):
    _, _, params = module
    assert_close(pickle.loads(pickle.dumps(params)), params, to=0)


def test_gradients_are_finite_and_reach_every_parameter(module):
    net, x, params = module
    for gradient in jax.tree.leaves(jax.grad(lambda p: _loss(net, p, x))(params)):
        assert jnp.isfinite(gradient).all()
        assert jnp.abs(gradient).max() > 0


@pytest.mark.parametrize("axis_type", ["Auto", "Explicit"])
def test_a_batch_over_eight_devices_gives_what_one_device_gives(
    module, axis_type, devices, assert_close
):
    net, x, params = module
    kinds = (getattr(jax.sharding.AxisType, axis_type),)
    mesh = jax.make_mesh((8,), ("data",), kinds, devices=devices)
    rows = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))
    copies = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())

    def step(params, x):
        gradients = jax.grad(lambda p: _loss(net, p, x))(params)
        return net.apply(params, x), gradients

    wanted = jax.jit(step)(params, x)
    with jax.set_mesh(mesh):
        found = jax.jit(step)(jax.device_put(params, copies), jax.device_put(x, rows))
    assert found[0].sharding.is_equivalent_to(rows, found[0].ndim)
    assert_close(found, wanted, to=1e-5)

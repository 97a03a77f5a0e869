"""What every public module keeps to; a new module adds one row."""

import functools

import haiku as hk
import jax
import jax.numpy as jnp
import jmp
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
    ema_init,
    ema_params,
    ema_update,
    largest_singular_value,
    mixed_precision,
    spectral_norm,
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


def _of_trees(fn, **options):
    """A function of parameters alone."""
    return Specimen(
        fn=fn,
        args=lambda dtype: ({"w": jnp.linspace(-1, 1, 24, dtype=dtype).reshape(8, 3)},),
        **options,
    )


def _average(ema, params):
    return ema_update(ema, params, decay=0.9), params


def _with_average(dtype):
    params = {"w": jnp.linspace(-1, 1, 24, dtype=dtype).reshape(8, 3)}
    return jax.jit(ema_update)(ema_init(params), params, decay=0.5), params


def _half(x):
    half = jmp.get_policy("params=float32,compute=bfloat16,output=float32")
    return mixed_precision(MLP((5, 4)), {"mlp": half})(x)


_MIXED = hk.without_apply_rng(hk.transform(_half))
_ROWS_OF_MIXED = jnp.linspace(-1, 1, ROWS * 6).reshape(ROWS, 6)
_FUNCTIONS = {
    "ema_init": _of_trees(ema_init, dtypes=("float32",)),
    "ema_params": Specimen(
        fn=lambda ema, params: ema_params(ema, like=params),
        args=_with_average,
        dtypes=(),  # an average is wider than what it is of
    ),
    "ema_update": Specimen(
        fn=_average,
        args=_with_average,
        init=ema_init,
        init_args=lambda: ({"w": jnp.ones((8, 3))},),
        carry=1,
        dtypes=(),
    ),
    "largest_singular_value": _of_trees(
        lambda params: largest_singular_value(params["w"]), grad=(0,), atol=1e-5
    ),
    "mixed_precision": Specimen(
        fn=_MIXED.apply,
        args=lambda dtype: (
            _MIXED.init(jax.random.key(1), _ROWS_OF_MIXED),
            _ROWS_OF_MIXED.astype(dtype),
        ),
        init=_MIXED.init,
        init_args=lambda: (jax.random.key(1), _ROWS_OF_MIXED),
        rows=(1,),
        grad=(0,),
        rtol=2e-2,
        dtypes=(),  # the policy says which
    ),
    "spectral_norm": _of_trees(
        lambda params: spectral_norm(lambda w: w, params["w"], None),
        grad=(0,),
        atol=1e-5,
    ),
}
# What takes or gives no arrays, with the reason why no law is about it.
_OTHERS = {
    "ActorCriticOutput": "a pair of arrays",
    "Ema": "a pair of a tree and an array",
    "Judgement": "a pair of arrays",
    "Lowering": "a type of words",
    "ParameterRow": "a row of names, shapes and counts",
    "Summary": "a table of names, shapes and counts",
    "conv_lowering": "from words to a word",
    "count_parameters": "from shapes to a Python int",
    "load_safetensors": "from a file, which nothing traces",
    "parameter_table": "from shapes to names and counts",
    "partition": "from shapes to shardings",
    "partition_like": "from shapes to shardings",
    "save_safetensors": "to a file, which nothing traces",
    "summarize": "from shapes to counts",
}
_MODULE_LAWS = {name: _specimen(name) for name in _MODULES}
test_laws = Laws(
    _MODULE_LAWS | _FUNCTIONS,
    public=[name for name in haiku_nets.__all__ if name not in _OTHERS],
).test()


def test_every_public_name_has_laws_or_a_reason():
    assert {*_MODULE_LAWS, *_FUNCTIONS, *_OTHERS} == set(haiku_nets.__all__)
    assert not _OTHERS.keys() & {*_MODULE_LAWS, *_FUNCTIONS}
    for name in _OTHERS:
        module = getattr(haiku_nets, name)
        assert not (isinstance(module, type) and issubclass(module, hk.Module)), name


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

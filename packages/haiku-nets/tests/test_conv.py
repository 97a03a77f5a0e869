import haiku as hk
import jax
import jax.numpy as jnp
import pytest

from haiku_nets import Conv2D, parameter_table

# Image (rows, columns, channels), and options of the layer.
_CASES = {
    "same": ((7, 6, 3), {"kernel_shape": 5}),
    "same, stride 2": ((7, 6, 3), {"kernel_shape": 5, "stride": 2}),
    "valid": ((7, 6, 3), {"kernel_shape": 3, "padding": "VALID"}),
    "valid, last rows unused": (
        (8, 9, 3),
        {"kernel_shape": 3, "stride": (2, 3), "padding": "VALID"},
    ),
    "oblong": ((7, 6, 2), {"kernel_shape": (1, 4), "stride": (3, 2)}),
    "pointwise": ((5, 4, 3), {"kernel_shape": 1}),
    "stride above kernel": ((7, 6, 3), {"kernel_shape": 1, "stride": 2}),
    "patches": ((8, 8, 2), {"kernel_shape": 4, "stride": 4}),
    "pairs": (
        (5, 6, 2),
        {"kernel_shape": 3, "stride": 2, "padding": [(2, 0), (1, 3)]},
    ),
    "pairs wider than the kernel": (
        (3, 3, 1),
        {"kernel_shape": 2, "padding": [(3, 4), (4, 3)]},
    ),
    "padding function": (
        (5, 5, 1),
        {"kernel_shape": 3, "padding": hk.pad.causal},
    ),
    "no bias": ((5, 5, 1), {"kernel_shape": 3, "with_bias": False}),
    "initialisers": (
        (5, 5, 1),
        {
            "kernel_shape": 3,
            "w_init": hk.initializers.RandomNormal(),
            "b_init": hk.initializers.Constant(2.0),
        },
    ),
    "mask": (
        (5, 5, 1),
        {"kernel_shape": 2, "mask": jnp.arange(4.0).reshape(2, 2, 1, 1).repeat(4, 3)},
    ),
    "dilation": ((7, 7, 2), {"kernel_shape": 3, "rate": 2}),
    "groups": ((5, 5, 2), {"kernel_shape": 3, "feature_group_count": 2}),
    "channels first": ((2, 5, 5), {"kernel_shape": 3, "data_format": "NCHW"}),
}


def _net(cls, options):
    def forward(x):
        return cls(4, **options)(x)

    return hk.without_apply_rng(hk.transform(forward))


@pytest.mark.parametrize("case", _CASES)
def test_all_derivatives_are_those_of_haiku(case, assert_close, derivatives):
    image, options = _CASES[case]
    ours, plain = _net(Conv2D, options), _net(hk.Conv2D, options)
    x = jax.random.normal(jax.random.key(0), (2, *image))
    params = ours.init(jax.random.key(1), x)
    assert_close(params, plain.init(jax.random.key(1), x), to=0)
    found, wanted = derivatives(ours, params, x), derivatives(plain, params, x)
    assert_close(found, wanted, to=1e-5)


@pytest.mark.parametrize(("dtype", "to"), [("bfloat16", 2e-2), ("float16", 2e-3)])
def test_half_precision_is_that_of_haiku(dtype, to, assert_close):
    options = {"kernel_shape": 5, "stride": 2}
    ours, plain = _net(Conv2D, options), _net(hk.Conv2D, options)
    x = jax.random.normal(jax.random.key(0), (2, 7, 6, 3), dtype)
    params = ours.init(jax.random.key(1), x)

    def loss(params, net):
        return net.apply(params, x).sum()

    assert_close(params, plain.init(jax.random.key(1), x), to=0)
    assert_close(ours.apply(params, x), plain.apply(params, x), to=to)
    assert_close(jax.grad(loss)(params, ours), jax.grad(loss)(params, plain), to=to)


def test_an_image_without_batch_is_that_row_of_a_batch(assert_close):
    net = _net(Conv2D, {"kernel_shape": 3, "stride": 2})
    x = jax.random.normal(jax.random.key(0), (2, 5, 5, 1))
    params = net.init(jax.random.key(1), x)
    assert_close(net.apply(params, x[1]), net.apply(params, x)[1], to=1e-6)


def test_haiku_names_and_knows_the_layer():
    net = _net(Conv2D, {"kernel_shape": 3})
    params = jax.eval_shape(net.init, jax.random.key(0), jnp.ones((1, 5, 5, 1)))
    assert [row[:2] for row in parameter_table(params)] == [
        ("conv2_d", "b"),
        ("conv2_d", "w"),
    ]
    assert issubclass(Conv2D, hk.Conv2D)


@pytest.mark.parametrize("shape", [(5, 5), (1, 1, 5, 5, 1)])
def test_another_rank_is_refused_as_by_haiku(shape):
    net = _net(Conv2D, {"kernel_shape": 3})
    with pytest.raises(ValueError, match="needs to have rank in"):
        net.init(jax.random.key(0), jnp.ones(shape))


def test_an_image_below_the_kernel_gives_nothing_as_in_haiku():
    options = {"kernel_shape": 5, "padding": "VALID"}
    x = jnp.ones((1, 3, 3, 1))
    for net in (_net(Conv2D, options), _net(hk.Conv2D, options)):
        assert net.apply(net.init(jax.random.key(0), x), x).shape == (1, 0, 0, 4)


def test_per_example_gradients_are_those_of_haiku(assert_close):
    options = {"kernel_shape": 3, "stride": 2}
    ours, plain = _net(Conv2D, options), _net(hk.Conv2D, options)
    x = jax.random.normal(jax.random.key(0), (3, 5, 5, 2))
    params = ours.init(jax.random.key(1), x)

    def each(net):
        def loss(params, x):
            return jnp.sum(jnp.tanh(net.apply(params, x)))

        return jax.vmap(jax.grad(loss), in_axes=(None, 0))(params, x)

    assert_close(each(ours), each(plain), to=1e-5)


def test_a_batch_of_layers_is_that_of_haiku(assert_close):
    options = {"kernel_shape": 3, "stride": 2}
    ours, plain = _net(Conv2D, options), _net(hk.Conv2D, options)
    x = jax.random.normal(jax.random.key(0), (2, 3, 5, 5, 2))
    params = jax.vmap(ours.init)(jax.random.split(jax.random.key(1)), x)
    assert_close(
        jax.vmap(ours.apply)(params, x), jax.vmap(plain.apply)(params, x), to=1e-5
    )


def test_gradients_in_a_data_parallel_shard_map_are_those_of_one_device(
    mesh, assert_close
):
    net = _net(Conv2D, {"kernel_shape": 3, "stride": 2})
    x = jax.random.normal(jax.random.key(0), (8, 5, 5, 2))
    params = net.init(jax.random.key(1), x)
    spec = jax.sharding.PartitionSpec

    def loss(params, x):
        return jnp.sum(jnp.tanh(net.apply(params, x)))

    @jax.jit
    @jax.shard_map(
        mesh=mesh, in_specs=(spec(), spec("data")), out_specs=(spec(), spec("data"))
    )
    def sharded(params, x):
        return jax.grad(loss, argnums=(0, 1))(params, x)

    assert_close(sharded(params, x), jax.grad(loss, argnums=(0, 1))(params, x), to=1e-5)

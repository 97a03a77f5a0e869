import haiku as hk
import jax
import jax.numpy as jnp
import pytest

from haiku_nets import Conv2DTranspose, parameter_table

# Image (rows, columns, channels), and options of the layer.
_CASES = {
    "same": ((4, 3, 2), {"kernel_shape": 5}),
    "same, stride 2": ((4, 3, 2), {"kernel_shape": 5, "stride": 2}),
    "same, even kernel": ((4, 3, 2), {"kernel_shape": 4, "stride": 2}),
    "same, stride above kernel": ((4, 3, 2), {"kernel_shape": 2, "stride": 3}),
    "valid": ((4, 3, 2), {"kernel_shape": 3, "padding": "VALID"}),
    "valid, stride 2": (
        (4, 3, 2),
        {"kernel_shape": 5, "stride": 2, "padding": "VALID"},
    ),
    "valid, stride above kernel": (
        (3, 3, 1),
        {"kernel_shape": 2, "stride": 3, "padding": "VALID"},
    ),
    "oblong": ((4, 3, 2), {"kernel_shape": (3, 5), "stride": (1, 3)}),
    "pairs": (
        (4, 3, 2),
        {"kernel_shape": 3, "stride": 2, "padding": [(1, 2), (3, 0)]},
    ),
    "output shape": ((4, 4, 1), {"kernel_shape": 3, "stride": 2, "output_shape": 7}),
    "no bias": ((3, 3, 1), {"kernel_shape": 3, "with_bias": False}),
    "initialisers": (
        (3, 3, 1),
        {
            "kernel_shape": 3,
            "w_init": hk.initializers.RandomNormal(),
            "b_init": hk.initializers.Constant(2.0),
        },
    ),
    "mask": (
        (3, 3, 1),
        {"kernel_shape": 2, "mask": jnp.arange(4.0).reshape(2, 2, 1, 1).repeat(4, 2)},
    ),
    "channels first": (
        (2, 3, 3),
        {"kernel_shape": 3, "stride": 2, "data_format": "NCHW"},
    ),
}


def _net(cls, options):
    def forward(x):
        return cls(4, **options)(x)

    return hk.without_apply_rng(hk.transform(forward))


@pytest.mark.parametrize("case", _CASES)
def test_all_derivatives_are_those_of_haiku(case, assert_close, derivatives):
    image, options = _CASES[case]
    ours, plain = _net(Conv2DTranspose, options), _net(hk.Conv2DTranspose, options)
    x = jax.random.normal(jax.random.key(0), (2, *image))
    params = ours.init(jax.random.key(1), x)
    assert_close(params, plain.init(jax.random.key(1), x), to=0)
    found, wanted = derivatives(ours, params, x), derivatives(plain, params, x)
    assert_close(found, wanted, to=1e-5)


@pytest.mark.parametrize(("dtype", "to"), [("bfloat16", 2e-2), ("float16", 2e-3)])
def test_half_precision_is_that_of_haiku(dtype, to, assert_close):
    options = {"kernel_shape": 5, "stride": 2}
    ours, plain = _net(Conv2DTranspose, options), _net(hk.Conv2DTranspose, options)
    x = jax.random.normal(jax.random.key(0), (2, 4, 3, 2), dtype)
    params = ours.init(jax.random.key(1), x)

    def loss(params, net):
        return net.apply(params, x).sum()

    assert_close(params, plain.init(jax.random.key(1), x), to=0)
    assert_close(ours.apply(params, x), plain.apply(params, x), to=to)
    assert_close(jax.grad(loss)(params, ours), jax.grad(loss)(params, plain), to=to)


def test_an_image_without_batch_is_that_row_of_a_batch(assert_close):
    net = _net(Conv2DTranspose, {"kernel_shape": 3, "stride": 2})
    x = jax.random.normal(jax.random.key(0), (2, 3, 3, 1))
    params = net.init(jax.random.key(1), x)
    assert_close(net.apply(params, x[1]), net.apply(params, x)[1], to=1e-6)


def test_haiku_names_and_knows_the_layer():
    net = _net(Conv2DTranspose, {"kernel_shape": 3})
    params = jax.eval_shape(net.init, jax.random.key(0), jnp.ones((1, 5, 5, 1)))
    assert [row[:2] for row in parameter_table(params)] == [
        ("conv2_d_transpose", "b"),
        ("conv2_d_transpose", "w"),
    ]
    assert issubclass(Conv2DTranspose, hk.Conv2DTranspose)


def test_another_rank_is_refused_as_by_haiku():
    net = _net(Conv2DTranspose, {"kernel_shape": 3})
    with pytest.raises(ValueError, match="needs to have rank in"):
        net.init(jax.random.key(0), jnp.ones((5, 5)))


def test_padding_that_does_not_exist_is_named():
    net = _net(Conv2DTranspose, {"kernel_shape": 3, "padding": "FULL"})
    with pytest.raises(ValueError, match="padding='FULL': wanted 'SAME', 'VALID'"):
        net.init(jax.random.key(0), jnp.ones((1, 5, 5, 1)))


@pytest.mark.parametrize("padding", [((1, 1),), (1, 1), 1, [(1, 1), (1,)]])
def test_padding_that_is_not_one_pair_for_each_axis_is_refused(padding):
    net = _net(Conv2DTranspose, {"kernel_shape": 3, "padding": padding})
    wanted = r"Conv2DTranspose found padding=.*, wanted .* pass padding=\(\(1, 1\)"
    with pytest.raises(ValueError, match=wanted):
        net.init(jax.random.key(0), jnp.ones((1, 5, 5, 1)))

"""Numbers that cannot be are refused in words; known ones, while others are traced."""

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haiku_nets import Conv2D, Conv2DTranspose, largest_singular_value
from haiku_nets._checks import check_counts, check_decay


@pytest.mark.parametrize(
    "bad",
    [True, np.True_, 2.5, 1.0, "33", None, 0, -1, (3, 0), (3, 2.5), (True, 3)],
)
@pytest.mark.parametrize("layer", [Conv2D, Conv2DTranspose])
@pytest.mark.parametrize("argument", ["kernel_shape", "stride"])
def test_sizes_of_convolutions(layer, argument, bad):
    def f(x):
        return layer(**({"output_channels": 2, "kernel_shape": 3} | {argument: bad}))(x)

    wanted = rf"{layer.__name__} found {argument}=.*, wanted .*: pass {argument}=1"
    with pytest.raises((TypeError, ValueError), match=wanted):
        hk.transform(f).init(jax.random.key(0), jnp.ones((1, 4, 4, 1)))


@pytest.mark.parametrize("kind", [np.array, np.int64, jnp.int32])
@pytest.mark.parametrize("layer", [Conv2D, Conv2DTranspose])
def test_sizes_of_any_kind(layer, kind):
    def f(x, kind):
        return layer(kind(2), kind(3), stride=(kind(2), 1))(x)

    x = jnp.ones((1, 4, 4, 1))
    shapes = [hk.testing.transform_and_run(f)(x, k).shape for k in (kind, int)]
    assert shapes[0] == shapes[1]


def test_a_size_with_a_point_is_told_to_be_whole():
    wanted = (
        r"found kernel_shape=3\.0, wanted a whole number, or one for each axis: pass "
        "kernel_shape=1 or more, without a point"
    )
    with pytest.raises(TypeError, match=wanted):
        check_counts("Conv2D", kernel_shape=3.0)


@pytest.mark.parametrize("bad", [0, -3, True, 2.0])
def test_iterations(bad):
    with pytest.raises((TypeError, ValueError), match=f"iterations={bad}, wanted"):
        largest_singular_value(jnp.eye(2), iterations=bad)


@pytest.mark.parametrize("bad", [-0.5, 1.0, 1.5, np.nan, np.inf, 1, jnp.float32(2)])
def test_decays_out_of_range(bad):
    with pytest.raises(ValueError, match=r"f found decay=.*, wanted 0 or more"):
        check_decay("f", bad)


@pytest.mark.parametrize("bad", [True, "0.9", None, 0.9j, np.ones(2), np.True_])
def test_decays_that_are_no_numbers(bad):
    with pytest.raises(TypeError, match=r"f found decay=.*, wanted a number: pass"):
        check_decay("f", bad)


def test_traced_and_other_numbers_pass():
    for decay in (0, 0.0, np.float32(0.9), jnp.float32(0.9), np.array(0.5)):
        check_decay("f", decay)
    jax.eval_shape(lambda decay: check_decay("f", decay), 0.5)
    for count, wanted in [
        (1, 1),
        (np.int8(1), 1),
        ((1, np.int64(2)), (1, 2)),
        ([3, 4], (3, 4)),
        (jnp.int32(1), 1),
    ]:
        found = check_counts("f", n=count)
        assert found == {"n": wanted}
        assert {type(n) for n in jax.tree.leaves(found)} == {int}
    with pytest.raises(TypeError, match="wanted a whole number"):
        jax.eval_shape(lambda n: check_counts("f", n=n), 1)

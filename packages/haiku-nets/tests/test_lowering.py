import re

import haiku as hk
import jax
import jax.numpy as jnp
import pytest

from haiku_nets import Conv2D, Conv2DTranspose, conv_lowering

_PLAIN = {Conv2D: hk.Conv2D, Conv2DTranspose: hk.Conv2DTranspose}
_CANONICAL = "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]"
_UNDILATED = "lhs_dilate = [1, 1]"


def _convolutions(cls, platform, **options):
    """The convolutions of a layer and its gradients, as XLA is given them."""

    def forward(x):
        return cls(4, 5, stride=2, **options)(x)

    net = hk.without_apply_rng(hk.transform(forward))

    def loss(params, x):
        return jnp.sum(jnp.tanh(net.apply(params, x)))

    x = jnp.ones((1, 8, 8, 3))
    params = jax.eval_shape(net.init, jax.random.key(0), x)
    lowered = jax.jit(jax.grad(loss, argnums=(0, 1))).trace(params, x)
    text = lowered.lower(lowering_platforms=(platform,)).as_text()
    return sorted(re.findall(r"stablehlo.convolution\(.*\) (dim_numbers.*)", text))


@pytest.mark.parametrize("platform", ["tpu", "cuda", "rocm"])
def test_an_accelerator_is_given_the_convolutions_of_haiku(platform):
    found = _convolutions(Conv2D, platform)
    assert len(found) == 3
    assert found == _convolutions(hk.Conv2D, platform)
    assert conv_lowering(platform=platform) == "native"


@pytest.mark.parametrize("platform", ["tpu", "cuda", "rocm"])
def test_an_accelerator_is_given_those_of_the_transposed_layer(platform):
    found = _convolutions(Conv2DTranspose, platform)
    plain = _convolutions(hk.Conv2DTranspose, platform)
    assert len(found) == len(plain) == 3
    # jax dilates the one operand for the kernel's gradient, this package the other.
    assert len(set(found) & set(plain)) == 2
    assert not any(_CANONICAL in c and _UNDILATED in c for c in set(found) - set(plain))


@pytest.mark.parametrize("cls", _PLAIN)
def test_the_cpu_is_given_canonical_convolutions(cls):
    found = _convolutions(cls, "cpu")
    assert len(found) == 3
    for convolution in found:
        assert _CANONICAL in convolution
        assert _UNDILATED in convolution
    assert conv_lowering(platform="cpu") == "canonical"


@pytest.mark.parametrize("cls", _PLAIN)
def test_haiku_gives_the_cpu_others(cls):
    found = _convolutions(_PLAIN[cls], "cpu")
    assert not all(_CANONICAL in convolution for convolution in found)
    assert not all(_UNDILATED in convolution for convolution in found)


@pytest.mark.parametrize("cls", _PLAIN)
def test_the_choice_can_be_overruled(cls):
    assert _convolutions(cls, "cpu", lowering="native") == _convolutions(
        _PLAIN[cls], "cpu"
    )
    assert _convolutions(cls, "tpu", lowering="canonical") == _convolutions(cls, "cpu")


@pytest.mark.parametrize(
    "facts",
    [{"channels_last": False}, {"rate": (1, 2)}, {"groups": 2}],
)
def test_what_has_no_canonical_form_is_native(facts):
    assert conv_lowering(platform="cpu", **facts) == "native"


@pytest.mark.parametrize(
    "options",
    [{"data_format": "NCHW"}, {"rate": 2}, {"feature_group_count": 3}],
)
def test_a_form_that_does_not_exist_is_refused(options):
    with pytest.raises(ValueError, match=r"lowering='canonical' with .*wanted"):
        _convolutions(Conv2D, "cpu", lowering="canonical", **options)


@pytest.mark.parametrize("cls", _PLAIN)
def test_a_word_that_is_no_form_is_named(cls):
    with pytest.raises(ValueError, match="lowering='fast': wanted 'native'"):
        _convolutions(cls, "cpu", lowering="fast")

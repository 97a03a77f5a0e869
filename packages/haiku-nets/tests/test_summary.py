"""What a network costs, against counts by hand."""

import haiku as hk
import jax
import jax.numpy as jnp
import pytest

from haiku_nets import ReferenceDiscriminator, summarize


def test_a_matrix_product_costs_two_flops_a_multiply_add():
    def product(x):
        return hk.Linear(32, with_bias=False)(x)

    net = hk.transform(product)
    found = summarize(net, jnp.ones((16, 64)))
    assert found.flops == 2 * 16 * 64 * 32
    assert (found.parameters, found.bytes) == (64 * 32, 4 * 64 * 32)
    assert found.output.shape == (16, 32)


def test_abstract_inputs_do_and_nothing_is_computed():
    def refuse(x):
        jax.debug.callback(lambda: pytest.fail("was run"))
        return hk.Linear(3)(x)

    x = jax.ShapeDtypeStruct((8, 2), jnp.bfloat16)
    found = summarize(hk.transform(refuse), x)
    assert (found.parameters, found.bytes) == (9, 18)


def test_networks_with_state_and_settings():
    def f(x, is_training):
        return hk.BatchNorm(create_scale=True, create_offset=True, decay_rate=0.9)(
            x, is_training
        )

    for net in (
        hk.transform_with_state(f),
        hk.without_apply_rng(hk.transform_with_state(f)),
    ):
        with jax.numpy_dtype_promotion("standard"):  # which Haiku's layer relies on
            found = summarize(net, jnp.ones((8, 2)), is_training=True)
        assert found.parameters == 4  # the statistics are state
        assert found.output[0].shape == (8, 2)


def test_the_key_is_handed_to_networks_that_take_one():
    net = hk.transform(lambda x: x + jax.random.normal(hk.next_rng_key(), x.shape))
    assert summarize(net, jnp.ones((8, 2))).parameters == 0


def test_it_prints_a_line_a_parameter_and_the_sum():
    def judge(x):
        return ReferenceDiscriminator()(x)

    net = hk.without_apply_rng(hk.transform(judge))
    text = str(summarize(net, jnp.ones((64, 28, 28, 1))))
    lines = text.splitlines()
    assert len(lines) == 13
    assert lines[0].startswith("reference_discriminator/conv2_d/b    float32[8] ")
    assert lines[-1].startswith("276,546 parameters, 1.11 MB; a call: ")
    assert " MFLOP, " in lines[-1]


def test_something_else_is_refused():
    with pytest.raises(TypeError, match=r"found function, wanted what hk\.transf"):
        summarize(test_something_else_is_refused, 1)

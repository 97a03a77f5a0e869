import jax
import jax.numpy as jnp
import numpy as np
import pytest

from chex_harness import assert_gradients

W = {"w": jnp.linspace(-1, 1, 12).reshape(3, 4), "b": jnp.linspace(0.1, 0.4, 4)}
X = jnp.linspace(-2, 2, 15).reshape(5, 3)


def net(params, x, labels):
    logits = jax.nn.relu(x @ params["w"] + params["b"])
    return jax.nn.log_softmax(logits)[jnp.arange(5), labels].mean(), logits


def test_a_network_passes_with_integers_and_several_outputs():
    assert_gradients(net, (W, X, jnp.arange(5) % 4))


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
def test_scales_and_functions(scale):
    x = jnp.linspace(0.5, 1.5, 6) * scale
    assert_gradients(lambda x: jnp.sum(jnp.sin(x / scale) * x), (x,))


@jax.custom_vjp
def tenth_too_much(x):
    return jnp.sin(x)


tenth_too_much.defvjp(
    lambda x: (tenth_too_much(x), x), lambda x, g: (1.1 * g * jnp.cos(x),)
)


@jax.custom_jvp
def wrong_at_one_element(x):
    return x * 3


wrong_at_one_element.defjvp(
    lambda p, t: (p[0] * 3, t[0] * jnp.where(jnp.arange(3) == 1, 3.2, 3.0))
)


def test_a_wrong_rule_is_found_and_its_leaf_named():
    args = ({"a": jnp.ones(3), "b": jnp.ones(2)},)
    with pytest.raises(AssertionError, match=r"args\[0\]\['a'\]") as caught:
        assert_gradients(
            lambda p: jnp.sum(wrong_at_one_element(p["a"])) + jnp.sum(p["b"] ** 2), args
        )
    assert "['b']" not in str(caught.value)
    assert "finite difference" in str(caught.value)


def test_a_rule_for_reverse_mode_only_is_compared_in_reverse_mode():
    with pytest.raises(AssertionError, match=r"reverse .*, finite difference"):
        assert_gradients(lambda x: jnp.sum(tenth_too_much(x)), (jnp.ones(3),))


def test_a_nan_is_not_close_to_anything():
    with pytest.raises(AssertionError, match="not finite"):
        assert_gradients(lambda x: jnp.sum(jnp.sqrt(x)), (jnp.zeros(2),))


def test_what_rounding_hides_is_said():
    with pytest.raises(AssertionError, match="too noisy to tell"):
        assert_gradients(lambda x: jnp.sum(1e8 + x), (jnp.ones(3),))


def test_types_that_do_not_work_are_refused():
    with pytest.raises(TypeError, match=r"args\[0\] is bfloat16, too coarse"):
        assert_gradients(jnp.sum, (jnp.ones(2, jnp.bfloat16),))
    with pytest.raises(TypeError, match="is complex64"):
        assert_gradients(jnp.sum, (jnp.ones(2, jnp.complex64),))
    with pytest.raises(ValueError, match="no leaf of args is floating"):
        assert_gradients(jnp.sum, (np.arange(3),))

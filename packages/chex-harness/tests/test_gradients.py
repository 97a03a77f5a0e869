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


@jax.custom_vjp
def negated(x):
    return x * 1.0


negated.defvjp(lambda x: (negated(x), None), lambda _, g: (-g,))


@pytest.mark.parametrize("large", [10.0, 1e3, 1e6])
def test_a_small_leaf_is_judged_on_its_own_scale(large):
    def f(a, b):
        return large * jnp.sum(a) + 0.01 * jnp.sum(negated(b))

    with pytest.raises(AssertionError, match=r"args\[1\], direction") as caught:
        assert_gradients(f, (jnp.ones(3), jnp.ones(3)))
    assert "args[0]" not in str(caught.value)
    assert ("too noisy to tell" in str(caught.value)) == (large > 10)


def test_leaves_that_change_nothing_and_leaves_without_elements_pass():
    assert_gradients(
        lambda a, b, c: jnp.sum(a**2) + jnp.sum(c) + 0 * jnp.sum(b),
        (jnp.ones(3), jnp.ones(2), jnp.zeros((0, 4))),
    )
    assert_gradients(jnp.sum, (jnp.zeros(0),))


def misplaced(order):
    """The sum of c * x, whose gradient comes back in another order."""

    @jax.custom_vjp
    def f(x, c):
        return jnp.sum(c * x)

    f.defvjp(lambda x, c: (f(x, c), c), lambda c, g: (g * order(c), jnp.zeros_like(c)))
    return f


@pytest.mark.parametrize("n", range(2, 13))
def test_a_reversed_gradient_is_found(n):
    f, c = misplaced(lambda c: c[::-1]), jnp.arange(1.0, n + 1)
    with pytest.raises(AssertionError, match=r"args\[0\], element \[0\]: reverse"):
        assert_gradients(lambda x: f(x, c), (jnp.ones(n),))


@pytest.mark.parametrize("seed", range(20))
def test_a_transposed_gradient_is_found(seed):
    f, c = misplaced(jnp.transpose), jnp.arange(4.0).reshape(2, 2)
    with pytest.raises(AssertionError, match=r"args\[0\], direction") as caught:
        assert_gradients(lambda x: f(x, c), (jnp.ones((2, 2)),), seed=seed)
    assert "element [0, 1]" in str(caught.value)
    assert "element [1, 1]" not in str(caught.value)


@pytest.mark.parametrize("seed", range(20))
def test_directions_alone_find_a_permutation(seed):
    f, c = misplaced(lambda c: c[::-1]), jnp.arange(1.0, 21)
    with pytest.raises(AssertionError, match="direction"):
        assert_gradients(lambda x: f(x, c), (jnp.ones(20),), seed=seed)


@pytest.mark.parametrize(("error", "seen"), [(0.05, False), (2.0, True)])
def test_one_wrong_element_of_a_thousand_is_seen_when_it_is_large(error, seen):
    f = misplaced(lambda c: c.at[7].multiply(1 + error))
    try:
        assert_gradients(lambda x: f(x, jnp.ones(1000)), (jnp.ones(1000),))
    except AssertionError:
        assert seen
    else:
        assert not seen


@pytest.mark.parametrize("seed", range(5))
def test_right_gradients_pass_whatever_the_seed(seed):
    x = jnp.array([1e-3, -0.2, 3.0, 40.0])
    assert_gradients(lambda x: jnp.sum(jnp.sin(x) * x[::-1]), (x,), seed=seed)
    assert_gradients(net, (W, X, jnp.arange(5) % 4), seed=seed)


def test_what_cannot_be_checked_is_refused():
    with pytest.raises(ValueError, match="no output of the function is floating"):
        assert_gradients(jnp.argmax, (jnp.ones(3),))
    with pytest.raises(ValueError, match="directions is 0, wanted 1 or more"):
        assert_gradients(jnp.sum, (jnp.ones(3),), directions=0)


@pytest.mark.parametrize("args", [jnp.ones(3), {"a": jnp.ones(3)}, [jnp.ones(3)]])
def test_arguments_are_a_tuple(args):
    name = type(args).__name__
    told = rf"args is of type {name}.*wanted a tuple.*Type assert_gradients\(fn, \(x,\)"
    with pytest.raises(TypeError, match=told):
        assert_gradients(jnp.sum, args)

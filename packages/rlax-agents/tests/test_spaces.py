import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rlax_agents import ArgumentError, Continuous, Discrete


def test_samples_are_in_range_and_reach_all_of_it():
    keys = jax.random.split(jax.random.key(0), 300)
    drawn = jax.vmap(Discrete(4).sample)(keys)
    assert set(drawn.tolist()) == {0, 1, 2, 3}
    assert drawn.dtype == jnp.int32
    spec = Continuous((2,), low=(-1.0, 3.0), high=(1.0, 7.0))
    drawn = jax.vmap(spec.sample)(keys)
    low, high = np.asarray(drawn).min(0), np.asarray(drawn).max(0)
    assert (low >= [-1, 3]).all()
    assert (high <= [1, 7]).all()
    np.testing.assert_allclose(low, [-1, 3], atol=0.1)
    np.testing.assert_allclose(high, [1, 7], atol=0.1)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int32, np.uint32])
def test_integers_of_any_width_are_actions(dtype):
    checked = Discrete(300).check("f", dtype(7))
    assert (int(checked), checked.dtype) == (7, jnp.int32)


def test_known_discrete_actions_out_of_range_raise():
    with pytest.raises(ArgumentError, match=r"f: action is 3, wanted \[0, 2\]"):
        Discrete(3).check("f", 3)
    with pytest.raises(ArgumentError, match="action is -1"):
        Discrete(3).check("f", jnp.int32(-1))


def test_unknown_discrete_actions_are_clipped():
    clipped = jax.jit(jax.vmap(lambda a: Discrete(3).check("f", a)))(
        jnp.array([-5, 0, 2, 9])
    )
    assert clipped.tolist() == [0, 0, 2, 2]


def test_continuous_actions_are_clipped_and_nan_raises():
    spec = Continuous((2,), -1.0, 2.0)
    assert spec.check("f", jnp.array([-3.0, 3.0])).tolist() == [-1, 2]
    with pytest.raises(ArgumentError, match=r"action is \[nan, 0.0\], wanted no NaN"):
        spec.check("f", jnp.array([jnp.nan, 0]))
    assert spec.check("f", jnp.zeros(2, jnp.bfloat16)).dtype == jnp.float32


def test_shapes_that_differ_raise():
    with pytest.raises(
        ArgumentError, match=r"shape \(\), wanted \(1,\); type action.re"
    ):
        Continuous((1,), -1.0, 1.0).check("f", 0.5)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Discrete(0), "Discrete: n is 0, wanted 1 or more"),
        (lambda: Discrete(2.0), "Discrete: n is 2.0, wanted an int"),
        (lambda: Discrete(n=True), "Discrete: n is True, wanted an int"),
        (lambda: Continuous((1,), 1.0, 1.0), "finite numbers, low below high"),
        (lambda: Continuous((1,), -np.inf, 1.0), "wanted finite numbers"),
        (lambda: Continuous((1,), (1.0, 2.0), 3.0), r"broadcast to shape \(1,\)"),
    ],
)
def test_bad_specs_raise(make, text):
    with pytest.raises(ArgumentError, match=text):
        make()


def test_specs_hash():
    assert len({Discrete(3), Discrete(3), Discrete(4)}) == 2
    assert len({Continuous((2,), 0.0, 1.0), Continuous((2,), 0.0, 1.0)}) == 1

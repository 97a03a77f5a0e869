import jax.numpy as jnp
import numpy as np
import pytest

from rlax_agents import ArgumentError, Categorical, DiagonalGaussian
from rlax_agents._actor import check_acted

ADV = jnp.ones((2, 3))
MASK = jnp.asarray([[True, False, True], [True, True, False]])


def acted(shape=(2, 3), mask_t=None):
    return check_acted("f", adv_tm1=jnp.ones(shape), mask_t=mask_t)


def test_masked_steps_have_harmless_policies():
    bad = jnp.full((2, 3, 1), jnp.nan)
    pi = acted(mask_t=MASK).fill_policy("pi", DiagonalGaussian(bad, bad))
    masked = ~np.asarray(MASK)
    for leaf in pi:
        assert (np.asarray(leaf)[masked] == 1).all()
        assert np.isnan(np.asarray(leaf)[~masked]).all()


def test_policies_are_widened_and_other_pytrees_are_none():
    pi = Categorical(jnp.zeros((2, 3, 4), jnp.bfloat16))
    assert acted().fill_policy("pi", pi).logits.dtype == jnp.float32
    message = r"f: pi is a ArrayImpl, wanted a policy; type Categorical\(pi\)"
    with pytest.raises(ArgumentError, match=message):
        acted().fill_policy("pi", pi.logits)


def test_policies_of_other_states_raise():
    def fill(shape, *steps):
        return acted(steps).fill_policy("pi", Categorical(jnp.zeros(shape)))

    message = (
        r"pi has shape \(4, 5\), wanted first axes \(4, 1\) .*adv_tm1\[\.\.\., 0\]"
    )
    with pytest.raises(ArgumentError, match=message):
        fill((4, 5), 4, 1)
    with pytest.raises(ArgumentError, match=r"type jnp.swapaxes\(adv_tm1, 0, 1\)"):
        fill((3, 2, 5), 2, 3)
    with pytest.raises(ArgumentError, match=r"both have to be of the same steps"):
        fill((2, 4, 5), 2, 3)


def test_actions_that_are_none_of_the_policy_raise():
    steps = acted()
    discrete = Categorical(jnp.zeros((2, 3, 4)))
    gaussian = DiagonalGaussian(jnp.zeros((2, 3, 1)), jnp.ones((2, 3, 1)))
    cases = [
        (discrete, jnp.zeros((2, 3)), r"a_tm1 are no actions of pi: .* dtype float32"),
        (discrete, jnp.zeros((2, 3, 1), int), r"a has shape \(2, 3, 1\)"),
        (gaussian, jnp.zeros((2, 3)), r"a has shape \(2, 3\), wanted \(2, 3, 1\)"),
        (discrete, jnp.zeros((3, 2), int), r"a_tm1 has shape .* swapped"),
    ]
    for pi, a, message in cases:
        with pytest.raises(ArgumentError, match=message):
            steps.log_prob("pi", pi, a)


def test_a_policy_of_columns_against_columns_raises():
    pi = Categorical(jnp.zeros((4, 1)))  # four states of one action
    message = r"pi.log_prob\(a_tm1\) has shape|a has shape \(4, 1\), wanted \(4,\)"
    with pytest.raises(ArgumentError, match=message):
        acted((4, 1)).log_prob("pi", pi, jnp.zeros((4, 1), int))


def test_probabilities_where_their_logarithms_belong_raise():
    pi = Categorical(jnp.zeros((2, 3, 4)))
    message = r"log_mu_tm1 is up to 0.25, wanted .*type jnp.log\(log_mu_tm1\)"
    with pytest.raises(ArgumentError, match=message):
        acted().behaviour(pi, jnp.full((2, 3), 0.25))
    gaussian = DiagonalGaussian(jnp.zeros((2, 3, 1)), jnp.ones((2, 3, 1)))
    assert (acted().behaviour(gaussian, ADV) == 1).all()

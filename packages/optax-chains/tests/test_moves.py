import functools

import jax.numpy as jnp
import optax
import pytest

import optax_chains as oc
from optax_chains import Players
from optax_chains._moves import init_both, move

GAMES = {
    "two_player": oc.two_player,
    "alternating": oc.alternating,
    "several_disc_steps": functools.partial(oc.several_disc_steps, n=2),
    "optimistic": oc.optimistic,
    "extragradient": oc.extragradient,
}


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("argument", ["chains", "gradients"])
def test_a_plain_tuple_is_refused_with_what_to_type(name, argument):
    arguments = {"chains": Players(1, 2), "gradients": Players(1, 2), argument: (1, 2)}
    message = rf"{name}: {argument} is tuple, wanted Players; type {argument}=Players\("
    with pytest.raises(TypeError, match=message):
        GAMES[name](**arguments)


def test_a_move_is_one_step_of_one_chain():
    chains = Players(optax.sgd(0.5), optax.sgd(1.0, momentum=0.9))
    state = init_both(chains, Players(jnp.ones(1), jnp.ones(2)))
    params, trace = move(chains.disc, jnp.ones(2), state.disc, jnp.zeros(2))
    assert params.tolist() == [-1.0, -1.0]
    assert trace[0].trace.tolist() == [1.0, 1.0]

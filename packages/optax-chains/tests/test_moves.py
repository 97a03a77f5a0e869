import functools

import jax.numpy as jnp
import optax
import pytest

import optax_chains as oc
from optax_chains import Players
from optax_chains._moves import init_both, move, move_both

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


@pytest.mark.parametrize("name", GAMES)
def test_parameters_that_are_no_players_and_a_chain_that_is_none(name):
    gradients = oc.own_gradients(Players(lambda p, *_: p.gen, lambda p, *_: p.disc))
    game = GAMES[name](Players(optax.sgd(1.0), optax.sgd(1.0)), gradients)
    ones = Players(jnp.ones(()), jnp.ones(()))
    message = r": params is tuple, wanted Players; type params=Players\(gen=..., disc="
    with pytest.raises(TypeError, match=message):
        game.init(tuple(ones))
    with pytest.raises(TypeError, match=message):
        game.update(tuple(ones), game.init(ones), jnp.ones(2))
    with pytest.raises(TypeError, match=r"chains.disc is None, wanted a chain; type"):
        GAMES[name](Players(optax.sgd(1.0), None), gradients)


def test_a_move_is_one_step_of_one_chain():
    chains = Players(optax.sgd(0.5), optax.sgd(1.0, momentum=0.9))
    state = init_both("a game", chains, Players(jnp.ones(1), jnp.ones(2)))
    params, trace = move(chains.disc, jnp.ones(2), state.disc, jnp.zeros(2))
    assert params.tolist() == [-1.0, -1.0]
    assert trace[0].trace.tolist() == [1.0, 1.0]


def test_both_move_from_one_point_by_the_gradients_of_another():
    gradients = oc.own_gradients(
        Players(gen=lambda p, x: p.gen * p.disc * x, disc=lambda p, x: p.disc**2)
    )
    chains = Players(optax.sgd(1.0), optax.sgd(1.0))
    start, at = Players(jnp.float32(5), jnp.float32(7)), Players(2.0, 3.0)
    state = init_both("a game", chains, start)
    params, _, values = move_both(
        chains, gradients, start, state, 10.0, at=Players(*map(jnp.float32, at))
    )
    assert (float(params.gen), float(params.disc)) == (5 - 30, 7 - 6)
    assert (float(values.gen), float(values.disc)) == (60, 9)

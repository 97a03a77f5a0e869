import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import optax_chains as oc
from optax_chains import Players, read_report, report


def numbers(state):
    return {name: round(float(x), 5) for name, x in read_report(state).items()}


def test_norms_and_the_rate_of_the_last_step():
    chain = report(oc.sgd_momentum(lambda t: 1.0 / (t + 1), momentum=0.5))
    grads = {"a": jnp.float32(3), "b": jnp.full((2, 2), 2.0)}
    state = chain.init(grads)
    _, state = chain.update(grads, state)
    assert numbers(state) == {"grad_norm": 5, "update_norm": 5, "learning_rate": 1}
    _, state = chain.update(grads, state)
    wanted = {"grad_norm": 5, "update_norm": 3.75, "learning_rate": 0.5}
    assert numbers(state) == wanted


def test_watching_changes_no_bit():
    chain, x = oc.gan_adam(0.1), jnp.array([0.3, -2.0])
    watched = report(chain)
    updates, state = jax.jit(chain.update)(x, chain.init(x))
    seen, noted = jax.jit(watched.update)(x, watched.init(x))
    for a, b in zip(
        jax.tree.leaves((updates, state)),
        jax.tree.leaves((seen, noted.inner_state)),
        strict=True,
    ):
        np.testing.assert_array_equal(a, b)


def test_a_skipped_step_does_not_move_the_schedule():
    chain = oc.skip_nonfinite(report(oc.sgd_momentum(lambda t: 1.0 / (t + 1))))
    state = chain.init(jnp.float32(1))
    for g in (1.0, jnp.nan, 1.0):
        _, state = chain.update(jnp.float32(g), state)
    found = numbers(state)
    assert (found["learning_rate"], found["skipped"]) == (0.5, 1)


def test_notes_are_named_after_groups_and_players():
    params = {"w": jnp.ones(1), "b": jnp.ones(1)}
    chain = oc.by_path({"w": report(oc.rmsprop(0.1))}, rest=oc.gan_adam(0.2))
    state = Players(gen=chain.init(params), disc=oc.gan_adam(0.3).init(params))
    assert numbers(state) == {
        "gen/<rest>/learning_rate": 0.2,
        "gen/w/grad_norm": 0,
        "gen/w/update_norm": 0,
        "gen/w/learning_rate": 0.1,
        "disc/learning_rate": 0.3,
    }


def test_games_around_games_leave_the_players_their_names():
    chains = Players(oc.gan_adam(0.1), oc.gan_adam(0.2))
    gradients = oc.own_gradients(Players(lambda p: p.gen, lambda p: p.disc))
    game = oc.lookahead(oc.two_player(chains, gradients))
    state = game.init(Players(jnp.ones(()), jnp.ones(())))
    wanted = {"gen/learning_rate": 0.1, "disc/learning_rate": 0.2}
    assert numbers(state) == wanted


def test_two_notes_of_one_name_are_told_apart_by_their_paths():
    chain = optax.chain(report(optax.clip(1.0)), report(oc.scale_by_rate(0.1)))
    found = read_report(chain.init(jnp.ones(1)))
    assert sorted(found) == [
        "0/grad_norm",
        "0/update_norm",
        "1/grad_norm",
        "1/update_norm",
        "learning_rate",
    ]


def test_nothing_to_read_is_refused():
    with pytest.raises(ValueError, match=r"no notes; type report\(chain\)"):
        read_report(optax.adam(0.1).init(jnp.ones(1)))

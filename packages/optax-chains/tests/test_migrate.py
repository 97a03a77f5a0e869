import itertools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.sharding import NamedSharding, PartitionSpec

import optax_chains as oc
from chex_harness import assert_trees_close
from optax_chains import Players, migrate


def net(*names, size=2):
    return {n: {"w": jnp.ones((3, size)), "b": jnp.ones(size)} for n in names}


def trained(chain, params, steps=3):
    state = chain.init(params)
    for t in range(steps):
        grads = jax.tree.map(lambda p: p * (t + 1) * 0.1, params)  # noqa: B023
        updates, state = chain.update(grads, state, params)
        params = optax.apply_updates(params, updates)
    return params, state


def adam():
    return optax.scale_by_adam()


CHAINS = {
    "plain": lambda: optax.chain(adam(), optax.trace(0.9)),
    "other order": lambda: optax.chain(optax.trace(0.9), adam()),
    "parts without state": lambda: optax.chain(
        oc.clip_by_global(1.0), optax.chain(adam(), optax.trace(0.9)), optax.scale(-1.0)
    ),
    "named": lambda: optax.named_chain(("t", optax.trace(0.9)), ("a", adam())),
    "groups": lambda: oc.by_path(
        {"*/w": optax.chain(adam(), optax.trace(0.9))},
        rest=optax.chain(adam(), optax.trace(0.9)),
    ),
    "other groups": lambda: optax.chain(
        oc.by_path({"a/*": adam(), "b/*": adam()}), optax.trace(0.9)
    ),
}


@pytest.mark.parametrize(("one", "other"), list(itertools.permutations(CHAINS, 2)))
def test_there_and_back_every_number_is_where_it_was(one, other):
    params, state = trained(CHAINS[one](), net("a", "b"))
    there = migrate(state, CHAINS[other](), params)
    fresh = CHAINS[other]().init(params)
    assert jax.tree.structure(there) == jax.tree.structure(fresh)
    back = migrate(there, CHAINS[one](), params)
    for a, b in zip(jax.tree.leaves(back), jax.tree.leaves(state), strict=True):
        np.testing.assert_array_equal(a, b)


def test_training_goes_on_as_if_nothing_had_changed():
    params, state = trained(oc.gan_adam(0.1), net("a"))
    new = oc.skip_nonfinite(oc.report(oc.by_path({"*": oc.gan_adam(0.1)})))
    moved = migrate(jax.device_get(state), new, params)
    grads = jax.tree.map(lambda p: p * 0.7, params)
    wanted, _ = oc.gan_adam(0.1).update(grads, state, params)
    found, _ = new.update(grads, moved, params)
    assert_trees_close(found, wanted, atol=0.0)


def test_new_parts_and_new_parameters_start_afresh():
    params, state = trained(adam(), net("a"))
    params = params | net("head")
    new = oc.with_ema(oc.by_path({"a/*": adam(), "head/*": adam()}), 0.9)
    moved = migrate(state, new, params)
    groups = moved.inner_state.inner_states
    assert int(groups["a/*"].inner_state.count) == 3
    assert int(groups["head/*"].inner_state.count) == 0
    mu = groups["a/*"].inner_state.mu["a"]["w"]
    np.testing.assert_array_equal(mu, state.mu["a"]["w"])
    np.testing.assert_array_equal(moved.ema["head"]["w"], params["head"]["w"])


def test_what_would_be_lost_is_named_and_may_be_dropped():
    params, state = trained(optax.chain(adam(), optax.trace(0.9)), net("a"))
    with pytest.raises(ValueError, match="does not fit") as caught:
        migrate(state, optax.trace(0.9), params)
    for line in ("State.count has no place", "ScaleByAdamState.nu[a/w] has no place"):
        assert line in str(caught.value)
    assert "drop=['ScaleByAdamState.count']" in str(caught.value)
    moved = migrate(state, optax.trace(0.9), params, drop=["ScaleByAdamState.*"])
    np.testing.assert_array_equal(moved.trace["a"]["w"], state[1].trace["a"]["w"])


def test_a_removed_parameter_is_named_and_may_be_dropped():
    _, state = trained(adam(), net("a", "b"))
    with pytest.raises(ValueError, match=r"ScaleByAdamState.mu\[b/w\] has no place"):
        migrate(state, adam(), net("a"))
    moved = migrate(state, adam(), net("a"), drop="*[b/*]")
    assert int(moved.count) == 3
    assert set(moved.nu) == {"a"}


def test_another_shape_is_named_and_may_be_dropped():
    _, state = trained(adam(), net("a"))
    wanted = r"ScaleByAdamState.mu\[a/b\] has the shape \(2,\), wanted \(5,\)"
    with pytest.raises(ValueError, match=wanted):
        migrate(state, adam(), net("a", size=5))
    moved = migrate(state, adam(), net("a", size=5), drop=["*[a/*]"])
    np.testing.assert_array_equal(moved.mu["a"]["b"], np.zeros(5))


def test_a_slot_may_be_taken_over_under_another_name():
    params, state = trained(adam(), net("a"))
    moved = migrate(
        state,
        optax.trace(0.9),
        params,
        rename={"TraceState.trace": "ScaleByAdamState.mu"},
        drop=["ScaleByAdamState.nu", "ScaleByAdamState.count"],
    )
    np.testing.assert_array_equal(moved.trace["a"]["w"], state.mu["a"]["w"])
    with pytest.raises(ValueError, match=r"'Trace.mu', .* it has ScaleByAdam"):
        migrate(state, adam(), params, rename={"ScaleByAdamState.mu": "Trace.mu"})


def test_a_rename_wins_over_a_drop():
    """And one parameter of what it takes over may still be dropped."""
    params, state = trained(adam(), net("a", "b"))
    rename = {"TraceState.trace": "ScaleByAdamState.mu"}
    for drop in (["ScaleByAdamState.*"], ["*"], ["ScaleByAdamState.mu", "*nu", "*t"]):
        moved = migrate(state, optax.trace(0.9), params, rename=rename, drop=drop)
        np.testing.assert_array_equal(moved.trace["a"]["w"], state.mu["a"]["w"])
    drop = ["ScaleByAdamState.*", "*mu[b/*]"]
    moved = migrate(state, optax.trace(0.9), params, rename=rename, drop=drop)
    np.testing.assert_array_equal(moved.trace["a"]["w"], state.mu["a"]["w"])
    assert not moved.trace["b"]["w"].any()
    fewer = migrate(state, optax.trace(0.9), net("a"), rename=rename, drop=["*"])
    np.testing.assert_array_equal(fewer.trace["a"]["w"], state.mu["a"]["w"])


def test_what_is_dropped_goes_to_its_new_name_and_not_to_its_own_heir():
    params, state = trained(adam(), net("a"))
    new = optax.chain(optax.trace(0.9), adam())
    rename = {"TraceState.trace": "ScaleByAdamState.mu"}
    trace, again = migrate(state, new, params, rename=rename, drop="ScaleByAdam*.*")
    assert_trees_close(trace.trace, state.mu, atol=0.0)
    assert_trees_close(again, adam().init(params), atol=0.0)
    trace, again = migrate(state, new, params, rename=rename)  # without, to both
    assert_trees_close(trace.trace, state.mu, atol=0.0)
    assert_trees_close(again, state, atol=0.0)


def test_a_renamed_slot_of_another_shape_goes_by_the_name_that_drops_it():
    _, state = trained(adam(), net("a"))
    options = {
        "rename": {"TraceState.trace": "ScaleByAdamState.mu"},
        "drop": ["*nu", "*t"],
    }
    with pytest.raises(ValueError, match=r"drop=\['ScaleByAdamState.mu\[a/b\]'\]"):
        migrate(state, optax.trace(0.9), net("a", size=5), **options)
    options["drop"] += ["ScaleByAdamState.mu[a/b]", "ScaleByAdamState.mu[a/w]"]
    moved = migrate(state, optax.trace(0.9), net("a", size=5), **options)
    assert not jax.tree.reduce(lambda a, b: a or b.any(), moved.trace, 0)


def test_a_drop_of_what_is_not_there_is_refused():
    params, state = trained(adam(), net("a"))
    wanted = r"drop speaks of 'ScaleByAdmState.mu', .* it has .*ScaleByAdamState.mu\[a"
    with pytest.raises(ValueError, match=wanted):
        migrate(state, adam(), params, drop=["ScaleByAdmState.mu"])


def test_no_state_and_no_chain_are_refused():
    params, state = trained(adam(), net("a"))
    with pytest.raises(TypeError, match=r"is None, .* type new_chain.init\(params\)"):
        migrate(None, adam(), params)
    with pytest.raises(TypeError, match="new_chain is a NoneType, wanted a chain"):
        migrate(state, None, params)


def test_an_injected_rate_goes_on_unless_it_is_dropped():
    def make(rate):
        return optax.inject_hyperparams(optax.sgd)(learning_rate=rate)

    params, state = trained(make(0.1), net("a"))
    moved = migrate(state, make(0.5), params)
    assert float(moved.hyperparams["learning_rate"]) == np.float32(0.1)
    moved = migrate(state, make(0.5), params, drop="*[learning_rate]")
    assert float(moved.hyperparams["learning_rate"]) == 0.5


def test_twins_keep_their_order_and_a_lone_one_is_ambiguous():
    two = optax.chain(optax.trace(0.9), optax.trace(0.5))
    params, state = trained(two, net("a"))
    moved = migrate(state, optax.chain(oc.clip_by_layer(1.0), two), params)
    for a, b in zip(jax.tree.leaves(moved), jax.tree.leaves(state), strict=True):
        np.testing.assert_array_equal(a, b)
    with pytest.raises(ValueError, match=r"trace\[a/w\] could be any of 2 that differ"):
        migrate(state, optax.trace(0.9), params)


def falling():
    return oc.sgd_momentum(optax.linear_schedule(1.0, 0.0, 100))


def rates(state):
    groups = state.inner_states
    return {k: float(optax.tree.get(v, "learning_rate")) for k, v in groups.items()}


def test_counters_stay_with_their_group_when_its_pattern_changes():
    """`*ad` sorts in front of `enc`, where `head` is behind it."""
    enc = oc.accumulate(falling(), every=2)
    params, state = trained(
        oc.by_path({"enc*": enc, "head*": falling()}), net("enc", "head"), 4
    )
    new = oc.by_path({"enc*": enc, "*ad*": falling()})
    moved = migrate(state, new, params)
    before, after = rates(state), rates(moved)
    assert before["enc*"] != before["head*"]
    assert after == {"enc*": before["enc*"], "*ad*": before["head*"]}
    grads = jax.tree.map(lambda p: 0.1 * p, params)
    wanted, _ = oc.by_path({"enc*": enc, "head*": falling()}).update(
        grads, state, params
    )
    assert_trees_close(new.update(grads, moved, params)[0], wanted, atol=0.0)


def groups_without_momentum(one, other):
    rate = oc.scale_by_rate(optax.linear_schedule(1.0, 0.0, 100))
    return oc.by_path({one: oc.skip_nonfinite(rate), other: rate})


def test_counters_of_groups_that_hold_no_paths_go_by_the_pattern_or_are_asked_for():
    params, state = trained(
        groups_without_momentum("enc*", "head*"), net("enc", "head")
    )
    head = state.inner_states["head*"].inner_state
    state.inner_states["head*"] = state.inner_states["head*"]._replace(
        inner_state=head._replace(count=head.count + 4)
    )
    same = migrate(state, oc.report(groups_without_momentum("enc*", "head*")), params)
    groups = same.inner_state.inner_states
    assert int(groups["head*"].inner_state.count) == 7
    new = groups_without_momentum("enc*", "*ad*")
    with pytest.raises(ValueError, match=r"RateState.count could be any of 2 that"):
        migrate(state, new, params)


def test_a_state_with_nan_is_carried_over():
    chain = oc.report(optax.chain(adam(), oc.sgd_momentum(0.1)))
    params = net("a")
    nan = jax.tree.map(lambda p: p * jnp.nan, params)
    _, state = chain.update(nan, chain.init(params), params)
    moved = migrate(state, chain, params)
    for a, b in zip(jax.tree.leaves(moved), jax.tree.leaves(state), strict=True):
        np.testing.assert_array_equal(a, b)


def test_games_are_carried_over_too():
    def game(chain):
        gradients = oc.own_gradients(Players(lambda p: p.gen**2, lambda p: p.disc**2))
        return oc.two_player(Players(chain, oc.gan_adam(0.2)), gradients)

    params = Players(jnp.float32(1), jnp.float32(1))
    old, new = game(oc.gan_adam(0.1)), game(oc.with_ema(oc.gan_adam(0.1), 0.9))
    params, state, _ = old.update(params, old.init(params))
    moved = migrate(state, new, params)
    assert float(moved.gen.inner_state[0].mu) == float(state.gen[0].mu)
    assert float(moved.disc[1].learning_rate) == pytest.approx(0.2)


def test_dtypes_are_those_of_the_new_chain():
    params, state = trained(adam(), net("a"))
    half = jax.tree.map(lambda p: p.astype(jnp.bfloat16), params)
    moved = migrate(state, adam(), half)
    assert {x.dtype for x in jax.tree.leaves(moved.mu)} == {jnp.dtype("bfloat16")}


def test_keys_are_carried_over():
    noisy = optax.add_noise(0.1, 0.5, key=jax.random.key(1))
    state = noisy.init(jnp.ones(2))
    _, state = noisy.update(jnp.ones(2), state)
    moved = migrate(state, optax.chain(optax.clip(1.0), noisy), jnp.ones(2))
    assert (moved[1].rng_key == state.rng_key).all()


@pytest.mark.devices(8)
def test_the_state_goes_where_the_new_parameters_are(mesh):
    _, state = trained(oc.gan_adam(), {"w": jnp.ones(16)})
    sharding = NamedSharding(mesh, PartitionSpec("data"))
    params = jax.device_put({"w": jnp.ones(16)}, sharding)
    chain = oc.report(oc.gan_adam())
    moved = migrate(jax.device_get(state), chain, params)
    assert moved.inner_state[0].mu["w"].sharding.is_equivalent_to(sharding, 1)
    jax.jit(chain.update)(params, moved, params)  # all on devices that go together

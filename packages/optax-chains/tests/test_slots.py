from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax

import optax_chains as oc
from optax_chains import Players
from optax_chains._slots import slots_of


class Layer(NamedTuple):
    w: object
    b: object


def names(state):
    return [str(slot) for slot in slots_of(state)]


def test_a_slot_is_called_the_same_however_it_is_nested():
    params = {"linear": Layer(jnp.ones(2), jnp.ones(1))}
    adam = optax.scale_by_adam()
    wanted = {
        "ScaleByAdamState.count",
        *(f"ScaleByAdamState.{m}[linear/{p}]" for m in ("mu", "nu") for p in "wb"),
    }
    groups = {"*/w": adam, "*/b": adam}
    chains = (adam, optax.chain(optax.clip(1.0), optax.chain(adam)), oc.by_path(groups))
    for chain in chains:
        assert set(names(chain.init(params))) == wanted


def test_leaves_come_in_the_order_of_the_tree():
    chain = oc.with_ema(oc.accumulate(oc.gan_adam(), every=2), 0.9)
    state = chain.init({"w": jnp.arange(3.0)})
    assert names(state) == [
        "ScaleByAdamState.count",
        "ScaleByAdamState.mu[w]",
        "ScaleByAdamState.nu[w]",
        "RateState.count",
        "RateState.learning_rate",
        "AccumulateState.total[w]",
        "AccumulateState.mini_step",
        "WithEmaState.ema[w]",
        "WithEmaState.weight",
        "WithEmaState.count",
    ]


def test_slots_know_the_groups_they_are_in():
    inner = oc.by_path({"*/w": oc.sgd_momentum(0.1)}, rest=oc.freeze())
    chain = oc.report(oc.by_path({"a/*": inner, "b/*": optax.trace(0.9)}))
    params = {n: {"w": jnp.ones(1), "b": jnp.ones(1)} for n in "ab"}
    groups = {str(slot): slot.group for slot in slots_of(chain.init(params))}
    assert groups["RateState.count"] == ("a/*", "*/w")
    assert groups["TraceState.trace[a/w]"] == ("a/*", "*/w")
    assert groups["TraceState.trace[b/w]"] == ("b/*",)
    assert groups["ReportState.grad_norm"] == ()


def test_players_and_numbers_in_no_state_are_told_apart():
    trace = optax.trace(0.9).init(jnp.ones(2))
    assert names(Players(gen=trace, disc=(trace, {"own": jnp.ones(1)}))) == [
        "gen:TraceState.trace",
        "disc:TraceState.trace",
        ".disc/1/own",
    ]
    assert names({"a": jnp.ones(1)}) == [".[a]"]


def test_slots_have_their_leaf_and_the_number_of_their_state():
    trace = optax.trace(0.9)
    chain = oc.with_ema(optax.chain(trace, oc.accumulate(trace, every=2)), 0.9)
    state = (chain.init({"w": jnp.arange(3.0)}), {"own": jnp.ones(1)})
    slots = slots_of(state)
    for slot, leaf in zip(slots, jax.tree.leaves(state), strict=True):
        assert slot.leaf is leaf
    # Counted where each begins, so the outermost is the first and also has the last.
    numbers = {slot.name: [] for slot in slots}
    for slot in slots:
        numbers[slot.name].append(slot.node)
    assert numbers == {
        "TraceState.trace": [2, 4],
        "AccumulateState.total": [3],
        "AccumulateState.mini_step": [3],
        "WithEmaState.ema": [1],
        "WithEmaState.weight": [1],
        "WithEmaState.count": [1],
        ".1/own": [0],
    }


def test_a_number_beside_a_state_inside_a_state_keeps_its_field():
    class OuterState(NamedTuple):
        inner: object

    trace = optax.trace(0.9).init(jnp.ones(2))
    state = OuterState((trace, {"own": jnp.ones(1)}))
    assert names(state) == ["TraceState.trace", "OuterState.inner"]
    counter = slots_of({"a": jnp.ones(1)})[0]
    assert (counter.kind, counter.group, counter.node) == ("", (), 0)
    assert slots_of(jnp.ones(1))[0].path == ""
    assert slots_of(trace._replace(trace=jnp.ones(1)))[0].path == ""

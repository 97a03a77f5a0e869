import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax.sharding import NamedSharding, PartitionSpec

from chex_harness import assert_compiles, assert_trees_close
from rlax_agents import ArgumentError, PrioritisedReplay, Replay, SequenceReplay

EXAMPLE = {"x": jnp.zeros(3), "a": jnp.int32(0)}


def items(first, n):
    """Items that tell their number."""
    a = np.arange(first, first + n, dtype=np.int32)
    return {"x": np.stack([a, a, a], 1).astype(np.float32), "a": a}


def filled(replay, batches):
    state, first, add = replay.init(EXAMPLE), 0, jax.jit(replay.add)
    for n in batches:
        state = add(state, items(first, n))
        first += n
    return state


ADD = jax.jit(Replay(7).add)  # compiled once for each size of batch


@settings(max_examples=40, derandomize=True, deadline=None)
@given(st.lists(st.sampled_from([1, 2, 5, 7]), min_size=1, max_size=8))
def test_it_holds_the_last_items_and_no_others(batches):
    state, first = Replay(7).init(EXAMPLE), 0
    for n in batches:
        state = ADD(state, items(first, n))
        first += n
    size = min(first, 7)
    assert int(state.size) == size
    held = sorted(np.asarray(state.items["a"])[:size].tolist())
    assert held == list(range(first - size, first))
    assert (state.items["x"] == state.items["a"][:, None].astype(float)).all()


def test_samples_are_uniform_over_what_is_held():
    for batches, expected in ([5, 2], range(7)), ([5, 5, 5], range(8, 15)):
        replay = Replay(7)
        state = filled(replay, batches)
        sample = jax.jit(replay.sample, static_argnums=2)(
            state, jax.random.key(0), 14_000
        )
        numbers, counts = np.unique(sample.items["a"], return_counts=True)
        assert numbers.tolist() == list(expected)
        assert ((counts - 2000) ** 2 / 2000).sum() < 22.5  # chi2(6), p = 0.001
        assert (sample.items["x"][:, 0] == sample.items["a"].astype(float)).all()
        assert (state.items["a"][sample.indices] == sample.items["a"]).all()
        assert (sample.weights == 1).all()


def test_init_takes_shapes_only_and_works_abstractly():
    shapes = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), EXAMPLE)
    assert_trees_close(Replay(5).init(shapes), Replay(5).init(EXAMPLE))
    abstract = jax.eval_shape(lambda: Replay(5).init(EXAMPLE))
    assert abstract.items["x"].shape == (5, 3)


def test_a_second_batch_does_not_compile():
    replay = Replay(9)
    state, first, second = replay.init(EXAMPLE), items(0, 2), items(2, 2)
    add = jax.jit(functools.partial(Replay.add, replay))  # a cache of its own
    with assert_compiles(1):
        add(add(state, first), second)


REPLAYS = {
    "uniform": (Replay(4096), 16),
    "prioritised": (PrioritisedReplay(4096), 16),
    "sequences": (SequenceReplay(512, rows=8, length=4), (2, 8)),
}
each = pytest.mark.parametrize(("replay", "shape"), REPLAYS.values(), ids=REPLAYS)


def batch_of(shape):
    shape = (shape,) if isinstance(shape, int) else shape
    return {"x": jnp.ones((*shape, 3)), "a": jnp.ones(shape, jnp.int32)}


@each
def test_adding_to_a_donated_replay_copies_nothing(replay, shape):
    state, batch = replay.init(EXAMPLE), batch_of(shape)
    add = jax.jit(replay.add, donate_argnums=0)
    memory = add.lower(state, batch).compile().memory_analysis()
    held = sum(leaf.nbytes for leaf in jax.tree.leaves(state))
    assert memory.alias_size_in_bytes == held
    assert memory.temp_size_in_bytes < held / 10
    before = getattr(state, "ring", state).items["x"].unsafe_buffer_pointer()
    after = add(state, batch)
    assert getattr(after, "ring", after).items["x"].unsafe_buffer_pointer() == before


@each
@pytest.mark.devices(8)
def test_a_sharded_replay_stays_sharded_and_samples_alike(replay, shape, mesh):
    spec = (None, "data") if isinstance(replay, SequenceReplay) else ("data",)
    sharding = NamedSharding(mesh, PartitionSpec(*spec))
    options = {"beta": 0.5} if isinstance(replay, PrioritisedReplay) else {}

    def add_and_sample(state, batch):
        state = replay.add(state, batch)
        return state, replay.sample(state, jax.random.key(0), 32, **options)

    found = {}
    for where in (None, sharding):
        state = replay.init(EXAMPLE, sharding=where)
        step = jax.jit(add_and_sample)
        compiled = step.lower(state, batch_of(shape)).compile().as_text()
        for _ in range(2):
            state, found[where] = step(state, batch_of(shape))
    held = getattr(state, "ring", state).items["x"]
    assert held.sharding.is_equivalent_to(sharding, held.ndim)
    assert "all-gather" not in compiled, "the rows are not to be moved"
    assert_trees_close(found[None], jax.device_get(found[sharding]))


@each
@pytest.mark.devices(8)
def test_axes_of_type_explicit_are_kept_in_the_type(replay, shape, devices):
    mesh = jax.make_mesh((8,), ("data",), devices=devices)  # Explicit by default
    spec = (None, "data") if isinstance(replay, SequenceReplay) else ("data",)
    state = replay.init(EXAMPLE, sharding=NamedSharding(mesh, PartitionSpec(*spec)))
    options = {"beta": 0.5} if isinstance(replay, PrioritisedReplay) else {}

    def add_and_sample(state, batch):
        state = replay.add(state, batch)
        return state, replay.sample(state, jax.random.key(0), 32, **options)

    before = jax.typeof(getattr(state, "ring", state).items["x"])
    after, sample = jax.eval_shape(add_and_sample, state, batch_of(shape))
    held = getattr(after, "ring", after).items["x"]
    assert held.sharding == before.sharding
    assert sample.items["x"].shape[-2:] == (32, 3)


@each
def test_an_empty_replay_raises_and_weighs_nothing_under_jit(replay, shape):
    state = replay.init(EXAMPLE)
    options = {"beta": 0.5} if isinstance(replay, PrioritisedReplay) else {}
    with pytest.raises(ArgumentError, match=r"the replay holds 0 items, wanted "):
        replay.sample(state, jax.random.key(0), 4, **options)
    sample = jax.jit(lambda s: replay.sample(s, jax.random.key(0), 4, **options))(state)
    assert sample.weights.tolist() == [0] * 4
    assert (sample.items["x"] == 0).all()


@each
def test_batches_that_do_not_fit_raise_while_traced(replay, shape):
    state, good = replay.init(EXAMPLE), batch_of(shape)
    name = type(replay).__name__
    for bad, text in (
        ({"x": good["x"]}, f"{name}.add: batch is the tree"),
        ({**good, "x": good["x"][..., :2]}, r"batch\['x'\] has shape"),
        ({**good, "a": good["a"][:1]}, r"has shape .* wanted \("),
        (
            {**good, "a": good["a"].astype(jnp.float32)},
            r"dtype float32, wanted int32 as",
        ),
        (jax.tree.map(lambda x: x[:0], good), "batch has 0 items, wanted 1 to the cap"),
        (
            jax.tree.map(lambda x: jnp.concatenate([x] * 300), good),
            r"batch has \d+ items, wanted 1 to the capacity",
        ),
    ):
        with pytest.raises(ArgumentError, match=text):
            jax.eval_shape(replay.add, state, bad)


def test_bad_options_raise():
    with pytest.raises(ArgumentError, match=r"Replay: capacity is 0, wanted 1 or more"):
        Replay(0)
    with pytest.raises(
        ArgumentError, match=r"Replay.init: example is {}, wanted an arr"
    ):
        Replay(3).init({})
    state = filled(Replay(3), [1])
    with pytest.raises(ArgumentError, match=r"Replay.sample: batch_size is 0"):
        Replay(3).sample(state, jax.random.key(0), 0)


@pytest.mark.devices(8)
def test_rows_that_do_not_divide_raise(mesh):
    sharding = NamedSharding(mesh, PartitionSpec("data"))
    with pytest.raises(
        ArgumentError, match=r"batch\['a'\] has rows \(7,\), which shard"
    ):
        Replay(7).init(EXAMPLE, sharding=sharding)


def test_keys_are_kept_as_numbers():
    with pytest.raises(ArgumentError, match="is a PRNG key; type jax"):
        Replay(4).init({"k": jax.random.key(0)})

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import PartitionSpec as P

from rlax_agents import ArgumentError, ReplayState, SequenceReplay


def steps(first, n, rows):
    """Steps that tell their time and their row."""
    time = np.arange(first, first + n, dtype=np.int32)[:, None] + np.zeros(
        rows, np.int32
    )
    return {
        "time": time,
        "row": np.broadcast_to(np.arange(rows, dtype=np.int32), time.shape),
    }


def filled(replay, batches):
    state = replay.init({"time": jnp.int32(0), "row": jnp.int32(0)})
    add, first = jax.jit(replay.add), 0
    for n in batches:
        state, first = add(state, steps(first, n, replay.rows)), first + n
    return state, first


@pytest.mark.parametrize(
    ("period", "batches"),
    [(1, [5]), (1, [5, 5, 5]), (3, [5, 5, 5, 5]), (4, [11, 7])],
)
def test_windows_are_all_those_that_are_held_and_equally_likely(period, batches):
    replay = SequenceReplay(12, rows=3, length=4, period=period)
    state, added = filled(replay, batches)
    oldest = max(added - 12, 0)
    starts = [s for s in range(oldest, added - 3) if s % period == 0]
    assert int(replay.count_windows(state)) == len(starts)
    n = 600 * len(starts)
    sample = jax.jit(replay.sample, static_argnums=2)(state, jax.random.key(0), n)
    time, row = np.asarray(sample.items["time"]), np.asarray(sample.items["row"])
    assert time.shape == (4, n)
    assert (np.diff(time, axis=0) == 1).all(), "a window crossed the write head"
    assert (row == row[0]).all()
    assert (sample.indices[:, 0] == time[0] % 12).all()
    assert (sample.indices[:, 1] == row[0]).all()
    found, counts = np.unique(time[0] * 3 + row[0], return_counts=True)
    assert found.tolist() == [s * 3 + r for s in starts for r in range(3)]
    k = len(found)
    assert ((counts - 200) ** 2 / 200).sum() < k + 4 * np.sqrt(2 * k) + 5
    assert (sample.weights == 1).all()


@pytest.mark.devices(8)
def test_each_device_may_sample_its_own_rows(mesh):
    replay = SequenceReplay(12, rows=16, length=4)
    state, _ = filled(replay, [12])
    state_spec = ReplayState(P(None, "data"), P(), P())
    sample = jax.jit(
        jax.shard_map(
            lambda state: replay.sample(state, jax.random.key(0), 5).items["row"],
            mesh=mesh,
            in_specs=(state_spec,),
            out_specs=P(None, "data"),
        )
    )(state)
    rows = np.asarray(sample).reshape(4, 8, 5)
    assert (rows // 2 == np.arange(8)[None, :, None]).all()


def test_too_few_steps_raise_and_weigh_nothing_under_jit():
    replay = SequenceReplay(12, rows=2, length=4)
    state, _ = filled(replay, [3])
    with pytest.raises(
        ArgumentError, match="the replay holds 3 items, wanted 4 or more"
    ):
        replay.sample(state, jax.random.key(0), 2)
    sample = jax.jit(replay.sample, static_argnums=2)(state, jax.random.key(0), 2)
    assert sample.weights.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            {"length": 13},
            "capacity is 12, wanted the length 13 or more, and a multiple",
        ),
        ({"length": 4, "period": 5}, "and a multiple of the period 5"),
        ({"length": 0}, "SequenceReplay: length is 0, wanted 1 or more"),
    ],
)
def test_bad_options_raise(options, text):
    with pytest.raises(ArgumentError, match=text):
        SequenceReplay(12, rows=2, **options)

"""The example of offline learning: episodes through Parquet, and what they teach."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLE = Path(__file__).resolve().parent.parent / "examples/offline_rl"
CHANCE = 25  # what a random agent returns, and a little more


@pytest.fixture(scope="module")
def example():
    """The example's module, whose folder it puts on the path."""
    before = list(sys.path)
    spec = importlib.util.spec_from_file_location("offline_rl", EXAMPLE / "train.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.path[:] = before


@pytest.fixture(scope="module")
def data(example, tmp_path_factory):
    """A file of episodes, and the columns that were written."""
    path = tmp_path_factory.mktemp("offline") / "episodes.parquet"
    return path, example.write_episodes(path, updates=60, num_envs=16, steps=600)


def test_episodes_come_back_bit_by_bit(example, data):
    path, columns = data
    wanted, found = example.ra.to_episodes(columns), example.read_episodes(path)
    assert len(found) == len(wanted) > 100
    for one, other in zip(found, wanted, strict=True):
        assert list(one) == list(other)
        for name, column in other.items():
            assert one[name].dtype == column.dtype, name
            assert one[name].tobytes() == column.tobytes(), name


def test_the_file_has_whole_episodes_of_both_players(example, data):
    episodes = example.read_episodes(data[0])
    returns = {True: [], False: []}
    for episode in episodes:
        assert episode["step"].tolist() == list(range(len(episode["step"])))
        assert episode["last"].tolist() == [False] * (len(episode["step"]) - 1) + [True]
        returns[bool(episode["skilled"][0])].append(episode["reward"].sum())
    assert np.mean(returns[True]) > 3 * np.mean(returns[False]) > 45


def test_losses_fall_and_the_clone_beats_chance(example, data):
    mesh = example.make_mesh(1)
    cloned = example.clone(data[0], mesh=mesh, epochs=8)
    # Half of the steps are at random, and no policy foresees those.
    assert cloned.losses[-20:].mean() < 0.98 * cloned.losses[:5].mean()
    assert example.mean_return(example.CLONE, cloned.params) > 4 * CHANCE
    valued = example.learn_values(data[0], mesh=mesh, epochs=2, caution=0.0)
    assert valued.losses[-20:].mean() < valued.losses[:5].mean() / 4


def test_cautious_values_beat_chance(example, data):
    learned = example.learn_values(data[0], mesh=example.make_mesh(1), epochs=8)
    assert learned.losses[-20:].mean() < learned.losses[:20].mean()
    assert example.mean_return(example.GREEDY, learned.params) > 4 * CHANCE


@pytest.mark.devices(8)
@pytest.mark.parametrize("method", ["clone", "learn_values"])
def test_eight_devices_have_the_losses_of_one(devices, example, data, method):
    fit = getattr(example, method)
    one, eight = (fit(data[0], mesh=example.make_mesh(n), epochs=1) for n in (1, 8))
    assert len(one.losses) > 20
    np.testing.assert_allclose(eight.losses, one.losses, rtol=1e-5)

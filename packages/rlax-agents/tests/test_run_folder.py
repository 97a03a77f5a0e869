import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from runs import TINY

import rlax_agents as ra
from rlax_agents import _recipes
from rlax_agents._run_folder import (
    Run,
    RunError,
    make_folder,
    read_run,
    read_run_metrics,
    read_state,
    write_run,
)

RUN = Run("ppo", "catch", seed=3, num_envs=4, updates=6, devices=1)
METRICS = {"step": np.arange(2), "episode_return": np.zeros(2)}


@pytest.fixture(autouse=True)
def _strict(monkeypatch):
    """Haiku and optax promote, so nothing is strict here; recipes are tiny."""
    monkeypatch.setattr(_recipes, "RECIPES", TINY)


@pytest.fixture(scope="module")
def state():
    found = TINY["ppo", "catch"]
    init = jax.jit(lambda key: ra.init_train(found.agent, found.env, key, 4))
    return init(jax.random.key(3))._replace(updates=jnp.int32(2))


@pytest.fixture
def folder(tmp_path, state):
    write_run(tmp_path, RUN, state, METRICS)
    return tmp_path


def test_a_run_comes_back(folder, state):
    assert read_run(folder) == RUN
    found = read_state(folder, RUN)
    assert jax.tree.structure(found) == jax.tree.structure(state)
    assert found.key == state.key
    metrics = read_run_metrics(folder, found)
    assert metrics["step"].tolist() == [0, 1]
    assert sorted(p.name for p in folder.iterdir()) == [
        "metrics.parquet",
        "run.json",
        "state.npz",
    ]


def test_metrics_beyond_the_state_are_left_out(folder, state):
    before = state._replace(updates=jnp.int32(1))
    assert read_run_metrics(folder, before)["step"].tolist() == [0]


def test_metrics_that_end_before_the_state_are_refused(folder, state):
    later = state._replace(updates=jnp.int32(5))
    with pytest.raises(RunError, match=r"ends at update 2, wanted 5 like state\.npz"):
        read_run_metrics(folder, later)
    (folder / "metrics.parquet").unlink()
    with pytest.raises(RunError, match=r"metrics\.parquet: missing"):
        read_run_metrics(folder, later)


def test_a_run_is_not_written_over(folder, tmp_path):
    with pytest.raises(RunError, match="holds a run already; type --resume"):
        make_folder(folder)
    make_folder(tmp_path / "new/one")
    assert list((tmp_path / "new/one").iterdir()) == []


def test_a_folder_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match=r"file: cannot be written \(.+\); type another"):
        make_folder(tmp_path / "file")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", r"run\.json: damaged \(Expecting"),
        ("[]", r"run\.json: damaged"),
        ("{}", r"run\.json: damaged"),
        (json.dumps(RUN._asdict() | {"updates": "6"}), "damaged, updates is '6'"),
        (json.dumps(RUN._asdict() | {"num_envs": 0}), "damaged, num_envs is 0"),
        (json.dumps(RUN._asdict() | {"agent": 1}), "damaged, agent is 1"),
    ],
)
def test_a_damaged_run_is_named(folder, content, says):
    (folder / "run.json").write_text(content)
    with pytest.raises(RunError, match=says):
        read_run(folder)


def test_a_folder_without_a_run_is_named(tmp_path):
    with pytest.raises(RunError, match=r"holds no run, wanted a folder with run\.json"):
        read_run(tmp_path)

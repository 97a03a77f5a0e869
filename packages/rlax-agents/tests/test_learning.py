import signal

import jax
import numpy as np
import pytest
from runs import TINY, Stops

import rlax_agents as ra
from rlax_agents import _learning, _recipes
from rlax_agents._learning import learn
from rlax_agents._run_folder import Run, RunError

KEY = jax.random.key(3)
RUN = Run("ppo", "catch", seed=3, num_envs=8, updates=6, devices=1)


@pytest.fixture(autouse=True)
def _strict(monkeypatch):
    """Haiku and optax promote, so nothing is strict here; recipes are tiny."""
    monkeypatch.setattr(_recipes, "RECIPES", TINY)


@pytest.fixture(scope="module")
def start():
    """The state before the first update."""
    found = TINY["ppo", "catch"]
    return jax.jit(lambda key: ra.init_train(found.agent, found.env, key, 8))(KEY)


def go(run, state, metrics=None, *, after=None, number=None, save=None):
    view = Stops(after, lambda: signal.raise_signal(number))
    done = learn(run, state, metrics or {}, mesh=None, view=view, save=save)
    return done, view.seen


def numbers(state):
    def data(leaf):
        typed = jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        return np.asarray(jax.random.key_data(leaf) if typed else leaf)

    return [data(leaf) for leaf in jax.tree.leaves(state)]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_was_stopped_goes_on_with_the_very_numbers(
    number, start, interrupts
):
    run = RUN._replace(updates=8)
    whole, _ = go(run, start)
    part, _ = go(run, start, after=3, number=number)
    assert part.stopped
    updates = int(part.state.updates)
    assert 0 < updates < 8
    assert {len(column) for column in part.metrics.values()} == {updates}
    rest, _ = go(run, part.state, part.metrics)
    assert not rest.stopped
    assert list(rest.metrics) == list(whole.metrics)
    for name, column in whole.metrics.items():
        if name != "steps_per_second":
            np.testing.assert_array_equal(rest.metrics[name], column)
            assert rest.metrics[name].dtype == column.dtype
    for a, b in zip(numbers(rest.state), numbers(whole.state), strict=True):
        np.testing.assert_array_equal(a, b)


def test_what_is_measured(start):
    done, seen = go(RUN, start)
    assert list(done.metrics)[:2] == ["step", "episode_return"]
    assert list(done.metrics)[-1] == "steps_per_second"
    assert "loss" in done.metrics
    assert done.metrics["step"].tolist() == [48 * n for n in range(1, 7)]
    speed = done.metrics["steps_per_second"]
    assert np.isnan(speed).tolist() == [True] + [False] * 5
    assert done.steps == 5 * 48
    np.testing.assert_allclose(done.seconds, (48 / speed[1:]).sum())
    assert [now.update for now in seen] == [1, 2, 3, 4, 5, 6]
    assert seen[-1].seconds_left == 0
    assert seen[-1].steps_per_second == done.steps / done.seconds


def test_before_the_first_episode_ends_there_is_no_return():
    view = Stops(None, None)
    watch = _learning._Watch(RUN, {}, view)
    for episodes in (0, 3):
        watch.note(
            {
                "steps": np.int32([48]),
                "episodes": np.int32([episodes]),
                "episode_return": np.float32([0.0]),
            }
        )
    returns = watch.columns(2)["episode_return"]
    np.testing.assert_array_equal(returns, np.float32([np.nan, 0]))
    np.testing.assert_array_equal([n.episode_return for n in view.seen], returns)


def test_stopped_before_the_first_update_there_is_no_state(monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(_learning, "train", interrupted)
    done, _ = go(RUN, None)
    assert done.stopped
    assert done.state is None


def test_it_saves_now_and_then(monkeypatch, start):
    monkeypatch.setattr(_learning, "_SECONDS_BETWEEN_SAVES", 0.0)
    monkeypatch.setattr(_learning, "_SECONDS_BETWEEN_STATES", 0.0)
    saved = []
    done, _ = go(
        RUN,
        start,
        save=lambda state, metrics: saved.append((int(state.updates), metrics)),
    )
    assert not done.stopped
    assert [updates for updates, _ in saved] == [1, 2, 3, 4, 5, 6]
    assert [len(metrics["step"]) for _, metrics in saved] == [1, 2, 3, 4, 5, 6]


def test_metrics_of_another_agent_are_told_after_one_update():
    done, _ = go(RUN._replace(updates=2), None)
    other = {name: x for name, x in done.metrics.items() if name != "loss"}
    with pytest.raises(RunError, match=r"the metrics of the run are .*another agent"):
        go(RUN, done.state, other)

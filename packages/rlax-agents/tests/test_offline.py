import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rlax_agents import (
    ArgumentError,
    AutoReset,
    CartPole,
    Rollout,
    from_episodes,
    to_columns,
    to_episodes,
)

NAMES = [
    "episode",
    "step",
    "observation",
    "action",
    "reward",
    "discount",
    "next_observation",
    "last",
    "truncated",
    "complete",
]


def roll_out(env, steps, batch, *, skip=0):
    def act(carry, a_tm1):
        state, now = carry
        state, (after, start) = jax.vmap(env.step)(state, a_tm1)
        row = now.observation, a_tm1, after.reward, after.discount
        ends = after.truncated(), after.last()
        return (state, start), Rollout(*row, *ends, after.observation, ())

    actions = jax.random.randint(
        jax.random.key(1), (steps, batch), 0, env.action_spec.n, jnp.int32
    )
    start = jax.vmap(env.reset)(jax.random.split(jax.random.key(0), batch))
    _, rollout = jax.lax.scan(act, start, actions)
    return jax.tree.map(lambda x: np.asarray(x[skip:]), rollout)


def by_loop(rollout, from_start):
    """Rows as a loop makes them, environment by environment."""
    episodes = []
    time, batch = rollout.action_tm1.shape
    for b in range(batch):
        known, rows = from_start[b], []
        for t in range(time):
            now = jax.tree.map(lambda x, t=t, b=b: x[t, b], rollout)
            rows.append(
                {
                    "step": len(rows),
                    "observation": now.observation_tm1,
                    "action": now.action_tm1,
                    "reward": now.reward_t,
                    "discount": now.discount_t,
                    "next_observation": now.observation_t,
                    "last": now.last_t,
                    "truncated": now.last_t and now.discount_t > 0,
                }
            )
            if now.last_t or t == time - 1:
                episodes.append((rows, known and now.last_t))
                known, rows = True, []
    return [
        {**row, "episode": number, "complete": complete}
        for number, (rows, complete) in enumerate(episodes)
        for row in rows
    ]


@pytest.fixture(scope="module")
def rollout():
    # Both kinds of end, and episodes cut off at both ends of the rollout.
    return roll_out(AutoReset(CartPole(max_steps=14)), 60, 4, skip=5)


@pytest.mark.parametrize("from_start", [[False] * 4, [True] * 4, [True, False] * 2])
def test_columns_equal_a_loop(rollout, from_start):
    columns, rows = (
        to_columns(rollout, from_start=from_start),
        by_loop(rollout, from_start),
    )
    assert list(columns) == NAMES
    for name in NAMES:
        np.testing.assert_array_equal(columns[name], [row[name] for row in rows])
    last, truncated = columns["last"], columns["truncated"]
    assert 0 < truncated.sum() < last.sum()
    assert set(columns["complete"].tolist()) == {True, False}
    assert columns["episode"].dtype == columns["step"].dtype == np.int32
    assert columns["observation"].dtype == np.float32


def test_the_next_observation_is_followed_except_at_an_end(rollout):
    columns = to_columns(rollout)
    same = (columns["next_observation"][:-1] == columns["observation"][1:]).all(1)
    goes_on = np.diff(columns["episode"]) == 0
    assert (same == goes_on).all()
    assert not columns["last"][:-1][goes_on].any()


def test_parts_in_time_are_joined(rollout):
    parts = [
        jax.tree.map(lambda x, s=s: x[s], rollout) for s in (slice(7), slice(7, None))
    ]
    whole, joined = to_columns(rollout), to_columns(parts)
    for name in NAMES:
        np.testing.assert_array_equal(joined[name], whole[name])


def test_episodes_and_back_are_exact_in_any_order(rollout):
    columns = to_columns(rollout)
    mixed = np.random.default_rng(0).permutation(len(columns["step"]))
    for order in (slice(None), mixed):
        episodes = to_episodes({n: c[order] for n, c in columns.items()})
        assert len(episodes) == columns["episode"].max() + 1
        back = from_episodes(episodes)
        for name in NAMES:
            np.testing.assert_array_equal(back[name], columns[name])
            assert back[name].dtype == columns[name].dtype
    for episode in episodes:
        assert episode["step"].tolist() == list(range(len(episode["step"])))
        assert len(set(episode["complete"].tolist())) == 1
        if episode["complete"][0]:
            assert episode["last"].tolist() == [False] * (len(episode["step"]) - 1) + [
                True
            ]
            assert episode["reward"].sum() == len(episode["step"]) <= 14


def test_some_episodes_are_numbered_anew(rollout):
    episodes = [e for e in to_episodes(to_columns(rollout)) if e["complete"][0]]
    columns = from_episodes(episodes)
    assert np.unique(columns["episode"]).tolist() == list(range(len(episodes)))
    assert columns["complete"].all()


def test_trees_have_a_column_a_leaf():
    ones = np.ones((3, 2), np.float32)
    flags = ones == 0
    seen = {"a": ones, "b": (ones,)}
    rollout = Rollout(seen, ones, ones, ones, flags, flags, seen, {"logp": ones})
    columns = to_columns(rollout)
    assert [n for n in columns if "." in n] == [
        "observation.a",
        "observation.b.0",
        "next_observation.a",
        "next_observation.b.0",
        "extras.logp",
    ]
    assert columns["episode"].tolist() == [0, 0, 0, 1, 1, 1]
    assert not columns["complete"].any()


def test_no_rows_are_no_episodes():
    columns = {"episode": [], "step": [], "complete": []}
    assert to_episodes(columns) == []


def cut(rollout):
    return rollout._replace(action_tm1=rollout.action_tm1[:-1])


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda t: to_columns([]), "to_columns: rollouts is empty"),
        (
            lambda t: to_columns(jax.tree.map(lambda x: x[:, 0], t)),
            r"reward_t has shape \(55,\), wanted \[time, batch\]; of one env",
        ),
        (
            lambda t: to_columns(cut(t)),
            r"action_tm1 has shape \(54, 4\), wanted \(55, 4\) first, like reward_t",
        ),
        (
            lambda t: to_columns(t, from_start=[True]),
            r"from_start is bool\[1\], wanted a bool or bool\[4\], one for each env",
        ),
        (
            lambda t: to_episodes({"episode": [0], "step": [0]}),
            r"the column 'complete' is missing, wanted \['episode', 'step'",
        ),
        (
            lambda t: to_episodes(
                {"episode": [0], "step": [0], "complete": [True] * 2}
            ),
            "complete has 2 rows, wanted 1 like episode",
        ),
        (lambda t: from_episodes([]), "from_episodes: episodes is empty"),
        (
            lambda t: from_episodes(
                [{"episode": [0], "step": [0], "complete": [1]}, {}]
            ),
            r"episode 1 has the columns \[\], wanted \['complete', 'episode', 'step'\]",
        ),
    ],
)
def test_bad_arguments_raise(rollout, call, text):
    with pytest.raises(ArgumentError, match=text):
        call(rollout)


def test_leaves_whose_names_would_be_one_are_told(rollout):
    seen = {"a": {"b": rollout.observation_tm1}, "a.b": rollout.observation_tm1}
    with pytest.raises(
        ArgumentError, match=r"leaves of observation .* observation.a.b"
    ):
        to_columns([rollout._replace(observation_tm1=seen, observation_t=seen)])


def test_an_episode_without_steps_leaves_no_trace(rollout):
    episodes = to_episodes(to_columns([rollout]))
    none = {name: column[:0] for name, column in episodes[0].items()}
    found = from_episodes([none, *episodes])
    want = from_episodes(episodes)
    for name, column in want.items():
        np.testing.assert_array_equal(found[name], column)
        assert found[name].dtype == column.dtype

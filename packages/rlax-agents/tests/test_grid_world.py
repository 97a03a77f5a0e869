from collections import deque

import jax
import numpy as np
import pytest

from rlax_agents import ArgumentError, GridWorld, value_iteration
from rlax_agents._maze import DEFAULT_MAZE

MOVES = [(-1, 0), (0, 1), (1, 0), (0, -1)]
SMALL = "S..\n.#.\n..G"


def walk(lines, place, action):
    row, column = place[0] + MOVES[action][0], place[1] + MOVES[action][1]
    inside = 0 <= row < len(lines) and 0 <= column < len(lines[0])
    return (row, column) if inside and lines[row][column] != "#" else place


def find(lines, letter):
    return next(
        (r, line.index(letter)) for r, line in enumerate(lines) if letter in line
    )


def distances(lines):
    """Steps to the goal from each place, by breadth-first search."""
    goal = find(lines, "G")
    found, queue = {goal: 0}, deque([goal])
    while queue:
        place = queue.popleft()
        for action in range(4):
            if (to := walk(lines, place, action)) not in found:
                found[to] = found[place] + 1
                queue.append(to)
    return found


@pytest.mark.parametrize("maze", [DEFAULT_MAZE, SMALL])
def test_equals_a_loop(maze):
    env, games, steps = GridWorld(maze, max_steps=30), 64, 33
    lines = maze.split("\n")
    state, first = jax.jit(jax.vmap(env.reset))(
        jax.random.split(jax.random.key(0), games)
    )
    actions = np.random.default_rng(0).integers(0, 4, (steps, games))
    _, ts = jax.lax.scan(jax.vmap(env.step), state, actions)
    ends = set()
    first, ts = jax.device_get((first, ts))
    last = np.asarray(ts.last())
    for game in range(games):
        place, over = find(lines, "S"), False
        assert first.observation[game][place] == 1
        for t in range(steps):
            if over:
                assert ts.reward[t, game] == 0
                continue
            place = walk(lines, place, actions[t, game])
            there = place == find(lines, "G")
            over = there or t + 1 == env.max_steps
            assert ts.observation[t, game][place] == 1
            np.testing.assert_allclose(ts.reward[t, game], 0.99 if there else -0.01)
            assert last[t, game] == over
            assert ts.discount[t, game] == (not there)
        ends.add("goal" if there else "limit")
    assert (ts.observation.sum((2, 3)) == 1).all()
    assert ends == ({"goal", "limit"} if maze == SMALL else {"limit"})


def test_slips_go_each_way_alike():
    env = GridWorld("...\n.S.\n..G", slip=0.4)
    keys = jax.random.split(jax.random.key(0), 4000)
    state, _ = jax.jit(jax.vmap(env.reset))(keys)
    after, _ = jax.jit(jax.vmap(env.step))(state, np.zeros(4000, int))
    counts = np.bincount(after.cell, minlength=9)[[1, 5, 7, 3]]
    expected = 4000 * np.array([0.7, 0.1, 0.1, 0.1])
    assert counts.sum() == 4000
    assert ((counts - expected) ** 2 / expected).sum() < 16.3  # chi2(3), p = 0.001


@pytest.mark.parametrize("discount", [1.0, 0.9])
def test_values_without_slips_follow_from_the_distance(discount):
    env = GridWorld()
    values, start = value_iteration(env, discount)
    steps = distances(env.maze.split("\n"))
    for place, n in steps.items():
        value = sum(-0.01 * discount**k for k in range(n))
        value += discount ** (n - 1) if n else 0
        np.testing.assert_allclose(values[place], value, atol=1e-9)
    assert np.isfinite(values).sum() == len(steps)
    assert start == values[find(env.maze.split("\n"), "S")]


@pytest.mark.parametrize("discount", [1.0, 0.9])
def test_values_with_slips_solve_the_linear_system_of_the_best_policy(discount):
    env = GridWorld(SMALL, slip=0.3, step_reward=-0.02)
    lines = SMALL.split("\n")
    values, _ = value_iteration(env, discount)
    places = [place for place in distances(lines) if place != find(lines, "G")]

    def backup(place, action):
        """Row of the system and reward of one action."""
        row, reward = np.zeros(len(places)), -0.02
        for move in range(4):
            p = 0.075 + 0.7 * (move == action)
            to = walk(lines, place, move)
            if to in places:
                row[places.index(to)] += p
            else:
                reward += p
        return row, reward

    known = np.array([values[place] for place in places])
    best, all_values = [], []
    for place in places:
        q = [
            r + discount * row @ known
            for row, r in (backup(place, a) for a in range(4))
        ]
        best.append(backup(place, int(np.argmax(q))))
        all_values.append(max(q))
    rows, rewards = map(np.array, zip(*best, strict=True))
    solved = np.linalg.solve(np.eye(len(places)) - discount * rows, rewards)
    np.testing.assert_allclose(known, solved, atol=1e-9)
    np.testing.assert_allclose(known, all_values, atol=1e-9)


def test_values_are_what_the_best_walk_earns():
    env = GridWorld()
    values, start = value_iteration(env, 0.95)
    lines, place, actions = env.maze.split("\n"), find(env.maze.split("\n"), "S"), []
    while place != find(lines, "G"):
        tos = [walk(lines, place, action) for action in range(4)]
        goal = [to == find(lines, "G") for to in tos]
        actions.append(
            int(np.argmax([values[to] + g for to, g in zip(tos, goal, strict=True)]))
        )
        place = tos[actions[-1]]
    state, _ = env.reset(jax.random.key(0))
    _, ts = jax.lax.scan(env.step, state, np.array(actions))
    earned = (0.95 ** np.arange(len(actions)) * np.asarray(ts.reward)).sum()
    np.testing.assert_allclose(earned, start, rtol=1e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"slip": 1.5}, r"GridWorld: slip is 1.5, wanted \[0, 1\]"),
        ({"max_steps": 0}, "GridWorld: max_steps is 0, wanted 1"),
        (
            {"goal_reward": 0.0},
            "goal_reward is 0 and step_reward -0.01, wanted above 0",
        ),
        ({"step_reward": 0.1}, "step_reward 0.1, wanted above 0, and 0 or less"),
    ],
)
def test_bad_options_raise(options, message):
    with pytest.raises(ArgumentError, match=message):
        GridWorld(**options)
    with pytest.raises(ArgumentError, match=r"value_iteration: discount is 1\.1, w"):
        value_iteration(GridWorld(), 1.1)

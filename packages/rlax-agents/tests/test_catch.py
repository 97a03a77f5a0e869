import jax
import numpy as np
import pytest

from rlax_agents import ArgumentError, Catch


def play(ball, actions, rows, columns):
    """Catch as a loop: (boards, rewards) until the ball is down."""
    paddle, boards, rewards = columns // 2, [], []
    for row, action in enumerate(actions, start=1):
        paddle = min(max(paddle + {0: -1, 1: 0, 2: 1}[action], 0), columns - 1)
        board = np.zeros((rows, columns))
        board[row, ball] = board[rows - 1, paddle] = 1
        boards.append(board)
        rewards.append(0)
    rewards[-1] = 1 if paddle == ball else -1
    return boards, rewards


@pytest.mark.parametrize("shape", [(10, 5), (4, 7)])
def test_equals_a_loop(shape):
    env, (rows, columns) = Catch(*shape), shape
    games = 32
    keys = jax.random.split(jax.random.key(0), games)
    state, first = jax.jit(jax.vmap(env.reset))(keys)
    actions = np.random.default_rng(0).integers(0, 3, (rows - 1, games))
    _, ts = jax.lax.scan(jax.vmap(env.step), state, actions)
    balls = np.asarray(state.column)
    assert set(balls.tolist()) == set(range(columns))
    assert (first.observation[np.arange(games), 0, balls] == 1).all()
    assert (first.observation[:, -1, columns // 2] == 1).all()
    assert (first.observation.sum((1, 2)) == 2).all()
    for game in range(games):
        boards, rewards = play(balls[game], actions[:, game], rows, columns)
        np.testing.assert_array_equal(ts.observation[:, game], boards)
        np.testing.assert_array_equal(ts.reward[:, game], rewards)
    assert ts.last()[-1].all()
    assert not ts.last()[:-1].any()
    assert not ts.truncated().any()
    assert set(ts.reward[-1].tolist()) == {1, -1}


def test_boards_without_room_raise():
    with pytest.raises(ArgumentError, match="Catch: rows is 1, wanted 2 or more"):
        Catch(rows=1)
    with pytest.raises(ArgumentError, match="Catch: columns is 0, wanted 1 or more"):
        Catch(columns=0)

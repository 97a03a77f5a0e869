import jax
import numpy as np
import pytest

from rlax_agents import ArgumentError, DeepSea
from rlax_agents._deep_sea import right_actions


def dive(size, rights, actions):
    """Deep sea as a loop: (boards, rewards)."""
    column, boards, rewards = 0, [], []
    for row, action in enumerate(actions):
        right, reward = action == rights[row, column], 0.0
        if right:
            reward = -0.01 / size + (1.0 if column == size - 1 else 0.0)
        column = min(max(column + (1 if right else -1), 0), size - 1)
        board = np.zeros((size, size))
        if row + 1 < size:
            board[row + 1, column] = 1
        boards.append(board)
        rewards.append(reward)
    return boards, rewards


@pytest.mark.parametrize("seed", [None, 3])
def test_equals_a_loop(seed):
    size, games = 4, 16
    env = DeepSea(size, seed=seed)
    rights = right_actions(size, seed)
    state, first = jax.jit(jax.vmap(env.reset))(
        jax.random.split(jax.random.key(0), games)
    )
    actions = np.array([[g >> t & 1 for g in range(games)] for t in range(size)])
    _, ts = jax.lax.scan(jax.vmap(env.step), state, actions)
    assert (first.observation[:, 0, 0] == 1).all()
    for game in range(games):  # every sequence of actions there is
        boards, rewards = dive(size, rights, actions[:, game])
        np.testing.assert_array_equal(ts.observation[:, game], boards)
        np.testing.assert_allclose(ts.reward[:, game], rewards, atol=1e-6)
    assert ts.last()[-1].all()
    assert not ts.truncated().any()
    returns = np.asarray(ts.reward.sum(0))
    assert (returns > 0.5).sum() == 1
    np.testing.assert_allclose(returns.max(), 0.99, atol=1e-6)


def test_the_seed_mixes_the_actions():
    rights = right_actions(20, 0)
    assert 0.4 < rights.mean() < 0.6
    assert (rights != right_actions(20, 1)).any()
    assert (right_actions(20, None) == 1).all()


def test_bad_options_raise():
    with pytest.raises(ArgumentError, match="DeepSea: size is 0, wanted 1 or more"):
        DeepSea(0)
    with pytest.raises(ArgumentError, match="DeepSea: seed is -1, wanted 0 or more"):
        DeepSea(3, seed=-1)

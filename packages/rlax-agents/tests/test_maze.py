import numpy as np
import pytest

from rlax_agents import ArgumentError, GridWorld
from rlax_agents._maze import DEFAULT_MAZE, read_maze


def test_moves_stop_at_walls_and_edges():
    maze = read_maze("S#.\n..G")
    assert maze.shape == (2, 3)
    assert (maze.start, maze.goal) == (0, 5)
    up, right, down, left = np.array(maze.following)[[0, 3, 5]].T
    assert up.tolist() == [0, 0, 2]
    assert right.tolist() == [0, 4, 5]
    assert down.tolist() == [3, 3, 5]
    assert left.tolist() == [0, 3, 4]


def test_islands_are_not_reachable():
    maze = read_maze("SG#.\n..##")
    assert (
        maze.reachable.tolist() == [True] * 2 + [False] * 2 + [True] * 2 + [False] * 2
    )


def test_the_default_maze_is_walled_in():
    maze = read_maze(DEFAULT_MAZE)
    grid = np.array([list(line) for line in DEFAULT_MAZE.split("\n")])
    assert maze.reachable.sum() == (grid != "#").sum()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("S.\nG", "line 1 of the maze has 1 letters, wanted 2 like line 0"),
        ("", "line 0 of the maze has 0 letters, wanted some"),
        ("SxG", "line 0 of the maze has 'x', wanted # for a wall"),
        ("S..", "the maze has 0 'G', wanted one"),
        ("SSG", "the maze has 2 'S', wanted one"),
        ("S#G", "the goal G cannot be reached from the start S; open a wall"),
    ],
)
def test_mazes_that_cannot_be_read_raise(text, message):
    with pytest.raises(ArgumentError, match=message):
        GridWorld(text)

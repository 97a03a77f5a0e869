"""A maze as text: what its cells are, and how one steps from each."""

import functools
from typing import NamedTuple

import numpy as np

from rlax_agents._checks import ArgumentError

DEFAULT_MAZE = """\
#############
#S..#.......#
#.#.#.#####.#
#.#...#...#.#
#.#####.#.#.#
#.......#..G#
#############"""

# up, right, down, left, as (row, column)
MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))


class Maze(NamedTuple):
    """A maze that was read. Cells are numbered by row, then column.

    Attributes:
      shape: (rows, columns).
      start: number of the start.
      goal: number of the goal.
      following: int32[cells, 4], where each move leads; against a wall it stays.
      reachable: bool[cells], from the start.
    """

    shape: tuple[int, int]
    start: int
    goal: int
    following: np.ndarray
    reachable: np.ndarray


@functools.lru_cache(maxsize=64)
def read_maze(text: str) -> Maze:
    """Reads a maze.

    Args:
      text: lines of one length; # is a wall, . is free, S the start, G the goal. What
        lies beyond the edge is wall.

    Returns:
      The maze.

    Raises:
      ArgumentError: for lines of different lengths, another letter, more or less than
        one start or goal, or a goal that cannot be reached.
    """
    lines = text.strip("\n").split("\n")
    for number, line in enumerate(lines):
        if len(line) != len(lines[0]) or not line:
            raise ArgumentError(
                f"GridWorld: line {number} of the maze has {len(line)} letters, wanted "
                f"{len(lines[0]) or 'some'} like line 0; fill it with # or ."
            )
        if wrong := set(line) - set("#.SG"):
            raise ArgumentError(
                f"GridWorld: line {number} of the maze has {min(wrong)!r}, wanted "
                f"# for a wall, . for free, S for the start, G for the goal"
            )
    grid = np.array([list(line) for line in lines])
    for letter in "SG":
        if (count := int((grid == letter).sum())) != 1:
            raise ArgumentError(
                f"GridWorld: the maze has {count} {letter!r}, wanted one; "
                f"S is the start and G the goal"
            )
    start, goal = (int(np.flatnonzero(grid == letter)[0]) for letter in "SG")
    following = _follow(grid != "#")
    reachable = np.zeros(grid.size, bool)
    reachable[start] = True
    while not (grown := _grow(reachable, following) == reachable).all():
        reachable |= ~grown
    if not reachable[goal]:
        raise ArgumentError(
            "GridWorld: the goal G cannot be reached from the start S; open a wall"
        )
    return Maze((grid.shape[0], grid.shape[1]), start, goal, following, reachable)


def _follow(free: np.ndarray) -> np.ndarray:
    """Where each of the four moves leads from each cell."""
    cells = np.arange(free.size, dtype=np.int32).reshape(free.shape)
    following = []
    for move in MOVES:
        to = np.roll(cells, (-move[0], -move[1]), (0, 1))
        open_ = np.roll(np.pad(free, 1), (-move[0], -move[1]), (0, 1))[1:-1, 1:-1]
        following.append(np.where(open_, to, cells).ravel())
    return np.stack(following, 1)


def _grow(reachable: np.ndarray, following: np.ndarray) -> np.ndarray:
    grown = reachable.copy()
    grown[following[reachable].ravel()] = True
    return grown

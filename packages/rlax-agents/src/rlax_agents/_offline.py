"""Experience as columns: to be written to a file and learned from later.

One row is one transition. The columns are plain arrays in a dict, as Arrow, Parquet and
data frames take them; nothing here knows of those.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from rlax_agents._agent import Rollout
from rlax_agents._checks import ArgumentError

# What `to_episodes` needs; the others are split as they are.
_NEEDED = ("episode", "step", "complete")


def to_columns(
    rollouts: Rollout | Sequence[Rollout], *, from_start: Any = False
) -> dict[str, np.ndarray]:
    """Makes columns of rollouts, with one row a transition.

    The rows of an episode follow each other, and the episodes those of the same
    environment. An episode that was under way at the start or the end of the rollout is
    kept, with `complete` False.

    Args:
      rollouts: with leaves [time, batch, ...]; or several, which follow each other in
        time.
      from_start: bool, or bool[batch]: whether the first entries are the first steps of
        episodes. A rollout does not tell; after a reset they are.

    Returns:
      NumPy arrays of one length:

      - episode: int32, its number.
      - step: int32, from 0 in each episode, or from where the rollout began.
      - observation, next_observation: of the state before and after; the true last one
        of the episode, not the first of the next.
      - action, reward, discount: of the transition.
      - last: bool, the episode ended here.
      - truncated: bool, it was cut here, with a discount above 0.
      - complete: bool, the same for all of an episode: it is there from start to end.
      - extras: what the agent gave beside its action, if it did.

      A tree has a column for each leaf, such as `observation.pixels`.

    Raises:
      ArgumentError: if nothing is given, or leaves lack the axes [time, batch].

    Example:
      >>> import jax, jax.numpy as jnp
      >>> from rlax_agents import AutoReset, Catch, Rollout
      >>> env = AutoReset(Catch(rows=3))
      >>> def act(carry, a_tm1):
      ...     state, now = carry
      ...     state, (after, start) = jax.vmap(env.step)(state, a_tm1)
      ...     row = now.observation, a_tm1, after.reward, after.discount
      ...     ends = after.truncated(), after.last()
      ...     return (state, start), Rollout(*row, *ends, after.observation, ())
      >>> start = jax.vmap(env.reset)(jax.random.split(jax.random.key(0), 2))
      >>> _, rollout = jax.lax.scan(act, start, jnp.ones((5, 2), jnp.int32))
      >>> columns = to_columns(rollout, from_start=True)
      >>> columns["episode"].tolist()
      [0, 0, 1, 1, 2, 3, 3, 4, 4, 5]
      >>> columns["complete"].tolist()[:5]
      [True, True, True, True, False]
    """
    parts = [rollouts] if isinstance(rollouts, Rollout) else list(rollouts)
    if not parts:
        raise ArgumentError("to_columns: rollouts is empty, wanted one or more")
    for part in parts:
        _check_axes(part)
    joined = jax.tree.map(lambda *xs: np.concatenate(xs), *jax.device_get(parts))
    time, batch = joined.reward_t.shape
    whole = np.asarray(from_start)
    if whole.dtype != np.bool_ or whole.shape not in {(), (batch,)}:
        raise ArgumentError(
            f"to_columns: from_start is {whole.dtype}{list(whole.shape)}, wanted a "
            f"bool or bool[{batch}], one for each environment"
        )
    # Where episodes begin, and whether that is their start: [batch, time].
    last = joined.last_t.T
    starts = np.concatenate([np.ones((batch, 1), bool), last[:, :-1]], 1)
    known = starts & (np.arange(time) > 0)
    known[:, 0] = whole
    firsts = np.flatnonzero(starts)
    ends = np.append(firsts[1:], starts.size) - 1
    episode = np.cumsum(starts, dtype=np.int32) - np.int32(1)
    step = np.arange(starts.size) - firsts[episode]
    flat = jax.tree.map(_flatten, joined)
    return {
        "episode": episode,
        "step": step.astype(np.int32),
        **_name_leaves("observation", flat.observation_tm1),
        **_name_leaves("action", flat.action_tm1),
        "reward": flat.reward_t,
        "discount": flat.discount_t,
        **_name_leaves("next_observation", flat.observation_t),
        "last": flat.last_t,
        "truncated": flat.truncated_t,
        "complete": (known.ravel()[firsts] & flat.last_t[ends])[episode],
        **_name_leaves("extras", flat.extras_tm1),
    }


def to_episodes(columns: Mapping[str, Any]) -> list[dict[str, np.ndarray]]:
    """Splits columns into episodes.

    Args:
      columns: as `to_columns` makes them, and any others; the rows in any order.

    Returns:
      One dict of arrays an episode, by number, the rows by step. Its `complete` tells
      whether the whole episode is there.

    Raises:
      ArgumentError: if a needed column is missing, or lengths differ.

    Example:
      >>> import numpy as np
      >>> columns = {
      ...     "episode": np.array([1, 0, 0]),
      ...     "step": np.array([0, 1, 0]),
      ...     "reward": np.array([7.0, 2.0, 1.0]),
      ...     "complete": np.array([False, True, True]),
      ... }
      >>> [e["reward"].tolist() for e in to_episodes(columns)]
      [[1.0, 2.0], [7.0]]
    """
    arrays = {name: np.asarray(column) for name, column in columns.items()}
    _check_columns("to_episodes", arrays)
    order = np.lexsort((arrays["step"], arrays["episode"]))
    ordered = {name: array[order] for name, array in arrays.items()}
    cuts = np.flatnonzero(np.diff(ordered["episode"])) + 1
    pieces = {name: np.split(array, cuts) for name, array in ordered.items()}
    count = len(cuts) + 1 if len(order) else 0
    return [{name: piece[i] for name, piece in pieces.items()} for i in range(count)]


def from_episodes(episodes: Iterable[Mapping[str, Any]]) -> dict[str, np.ndarray]:
    """Joins episodes to columns: the inverse of `to_episodes`.

    Args:
      episodes: dicts of the same columns, such as those of several files, or some of
        those of `to_episodes`.

    Returns:
      The columns. Episodes are numbered anew, from 0.

    Raises:
      ArgumentError: if there are none, they differ in their columns, one lacks a needed
        column, or lengths differ.

    Example:
      >>> import numpy as np
      >>> episode = {"episode": [5, 5], "step": [0, 1], "complete": [True, True]}
      >>> from_episodes([episode, episode])["episode"].tolist()
      [0, 0, 1, 1]
    """
    where = "from_episodes"
    given = [{n: np.asarray(c) for n, c in episode.items()} for episode in episodes]
    if not given:
        raise ArgumentError(f"{where}: episodes is empty, wanted one or more")
    for number, episode in enumerate(given):
        if set(episode) != set(given[0]):
            raise ArgumentError(
                f"{where}: episode {number} has the columns {sorted(episode)}, wanted "
                f"{sorted(given[0])} like episode 0"
            )
        _check_columns(f"{where}: episode {number}", episode)
    given = [episode for episode in given if len(episode["step"])] or given[:1]
    columns = {name: np.concatenate([e[name] for e in given]) for name in given[0]}
    lengths = [len(episode["step"]) for episode in given]
    columns["episode"] = np.repeat(np.arange(len(given), dtype=np.int32), lengths)
    return columns


def _flatten(array: np.ndarray) -> np.ndarray:
    """[time, batch, ...] to [batch * time, ...]."""
    array = np.swapaxes(array, 0, 1)
    return array.reshape(-1, *array.shape[2:])


def _name_leaves(name: str, tree: Any) -> dict[str, np.ndarray]:
    paths = jax.tree.leaves_with_path(tree)
    names = [jax.tree_util.keystr(p, simple=True, separator=".") for p, _ in paths]
    found = {
        f"{name}.{path}" if path else name: leaf
        for path, (_, leaf) in zip(names, paths, strict=True)
    }
    if len(found) != len(paths):
        twice = sorted({path for path in names if names.count(path) > 1})
        raise ArgumentError(
            f"to_columns: two leaves of {name} would be the column {name}.{twice[0]}; "
            f"rename one of them, without a dot"
        )
    return found


def _check_axes(part: Rollout) -> None:
    shape = np.shape(part.reward_t)
    if len(shape) != 2 or 0 in shape:
        raise ArgumentError(
            f"to_columns: reward_t has shape {shape}, wanted [time, batch]; of one "
            f"environment type jax.tree.map(lambda x: x[:, None], rollout)"
        )
    for path, leaf in jax.tree.leaves_with_path(part):
        if np.shape(leaf)[:2] != shape:
            name = jax.tree_util.keystr(path, simple=True, separator=".")
            raise ArgumentError(
                f"to_columns: {name} has shape {np.shape(leaf)}, wanted {shape} first, "
                f"like reward_t; stack all of a rollout in the same scan"
            )


def _check_columns(where: str, columns: Mapping[str, np.ndarray]) -> None:
    if missing := [name for name in _NEEDED if name not in columns]:
        raise ArgumentError(
            f"{where}: the column {missing[0]!r} is missing, wanted {list(_NEEDED)} as "
            f"to_columns makes them; there are {sorted(columns)}"
        )
    length = len(columns["episode"])
    for name, column in columns.items():
        if len(column) != length:
            raise ArgumentError(
                f"{where}: {name} has {len(column)} rows, wanted {length} like episode"
            )

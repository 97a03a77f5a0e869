"""A run from where it stands to its end, or to where it is stopped."""

import contextlib
import signal
import time
from collections.abc import Callable, Generator
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.sharding import Mesh

from rlax_agents._progress import Now, Progress
from rlax_agents._run_folder import Run, RunError
from rlax_agents._train import TrainState, train

_SECONDS_BETWEEN_STATES = 0.25
_SECONDS_BETWEEN_SAVES = 60.0

Metrics = dict[str, np.ndarray]


class Learned(NamedTuple):
    """What `learn` gives back.

    Attributes:
      state: the last whole one; None if it was stopped before the first.
      metrics: columns of all updates up to it.
      stopped: whether it was stopped before the end.
      steps: how many this process has timed, of all environments.
      seconds: that they took.
      compiling: seconds that went before, to compile and for the first update.
    """

    state: TrainState | None
    metrics: Metrics
    stopped: bool
    steps: int
    seconds: float
    compiling: float


def learn(
    run: Run,
    state: TrainState | None,
    metrics: Metrics,
    *,
    mesh: Mesh | None,
    view: Progress,
    save: Callable[[TrainState, Metrics], None],
) -> Learned:
    """Trains until `run.updates` are made, or Ctrl-C or SIGTERM comes.

    Every update is one call of one program, so that a run which was stopped anywhere
    and goes on has the very numbers of one that never was.

    Args:
      run: what was asked for.
      state: to go on from, or None to start.
      metrics: columns of the updates up to that state.
      mesh: the devices, or None for one.
      view: told of each update.
      save: called with state and metrics once a minute.

    Returns:
      The last state and what was measured.
    """
    found = run.recipe()
    watch = _Watch(run, metrics, view)
    each, saved, stopped = 1, time.monotonic(), False
    with _sigterm_as_interrupt():
        try:
            while (left := run.updates - _updates(state)) > 0:
                state = train(
                    found.agent,
                    found.env,
                    updates=min(each, left),
                    num_envs=run.num_envs,
                    mesh=mesh,
                    updates_per_call=1,
                    on_call=watch.note,
                    key=jax.random.key(run.seed) if state is None else None,
                    state=state,
                ).state
                each = watch.updates_in(_SECONDS_BETWEEN_STATES)
                if time.monotonic() - saved > _SECONDS_BETWEEN_SAVES:
                    save(state, watch.columns(_updates(state)))
                    saved = time.monotonic()
        except KeyboardInterrupt:
            stopped = True
    view.end()
    columns = watch.columns(_updates(state))
    return Learned(state, columns, stopped, watch.steps, watch.seconds, watch.compiling)


def _updates(state: TrainState | None) -> int:
    return 0 if state is None else int(state.updates)


class _Watch:
    """Takes the time of updates and keeps what they measured."""

    def __init__(self, run: Run, before: Metrics, view: Progress) -> None:
        self._run, self._before, self._view = run, before, view
        self._rows: list[dict[str, Any]] = []
        self._last = time.perf_counter()
        self._done = len(before["step"]) if before else 0
        self.steps, self.seconds, self.compiling = 0, 0.0, 0.0

    def note(self, metrics: Metrics) -> None:
        """Takes the metrics of one update, arrays of one entry."""
        now = time.perf_counter()
        took, self._last = now - self._last, now
        steps = self._run.num_envs * self._run.recipe().agent.unroll_length
        speed = np.nan
        if self._rows:
            self.steps, self.seconds = self.steps + steps, self.seconds + took
            speed = steps / took
        else:  # it is compiled first
            self.compiling = took
        row: dict[str, Any] = {name: values[0] for name, values in metrics.items()}
        step, ended = int(row.pop("steps")), row.pop("episodes") > 0
        returns = np.where(ended, row.pop("episode_return"), np.float32(np.nan))
        made: dict[str, Any] = {
            "step": np.int64(step),
            "episode_return": returns,
            **row,
            "steps_per_second": np.float64(speed),
        }
        if self._before and self._before.keys() != made.keys():
            raise RunError(
                f"the metrics of the run are {sorted(self._before)}, this agent has "
                f"{sorted(made)}; they are of another agent, or of another release"
            )
        self._rows.append(made)
        update = self._done + len(self._rows)
        mean = self.steps / self.seconds if self.seconds else np.nan
        left = (self._run.updates - update) * steps / mean
        self._view.show(Now(update, step, float(returns), mean, left))

    def updates_in(self, seconds: float) -> int:
        """How many updates take so long; 1 before that is known."""
        each = self.seconds / max(1, len(self._rows) - 1)
        return max(1, round(seconds / each)) if each else 1

    def columns(self, updates: int) -> Metrics:
        """Columns of the first updates."""
        rows = self._rows
        names = rows[0] if rows else self._before
        new = {name: np.array([row[name] for row in rows]) for name in names}
        old = self._before or {name: column[:0] for name, column in new.items()}
        return {
            name: np.concatenate([old[name], new[name].astype(old[name].dtype)])[
                :updates
            ]
            for name in names
        }


@contextlib.contextmanager
def _sigterm_as_interrupt() -> Generator[None]:
    """SIGTERM does what Ctrl-C does, as machines that are taken back send it."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)

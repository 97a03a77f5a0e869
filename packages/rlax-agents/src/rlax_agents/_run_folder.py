"""The folder of a run: what was asked, what was measured, and the state to go on from.

`run.json` says what was asked for, `metrics.parquet` has a row an update, `state.npz`
everything that training goes on from, and `returns.png` is there to be looked at. The
metrics are written before the state, so that whenever a process dies they go at least
as far as the state does.
"""

import json
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from rlax_agents._checkpoint import load_state, save_state
from rlax_agents._curves import read_metrics, write_metrics
from rlax_agents._new_file import new_file
from rlax_agents._recipes import Recipe, recipe
from rlax_agents._train import TrainState, init_train

_RUN, _STATE, _METRICS = "run.json", "state.npz", "metrics.parquet"


class RunError(ValueError):
    """A folder cannot be written, holds a run already, or holds none, or a damaged one.

    The message says what to type.
    """


class Run(NamedTuple):
    """What was asked for.

    Attributes:
      agent: its name.
      env: the environment's name.
      seed: of which everything follows.
      num_envs: how many environments.
      updates: in all.
      devices: how many.
    """

    agent: str
    env: str
    seed: int
    num_envs: int
    updates: int
    devices: int

    def recipe(self) -> Recipe:
        """The recipe by these names."""
        return recipe(self.agent, self.env)


def make_folder(folder: Path) -> None:
    """Makes the folder of a new run.

    Raises:
      RunError: if it holds a run already, or nothing can be written there.
    """
    if any((folder / name).exists() for name in (_RUN, _STATE, _METRICS)):
        raise RunError(
            f"{folder} holds a run already; type --resume {folder} to go on with it, "
            f"or another --out"
        )
    check_writable(folder)


def check_writable(folder: Path) -> None:
    """Makes a folder if need be, and checks that files can be made in it.

    Raises:
      RunError: if they cannot.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise RunError(
            f"{folder}: cannot be written ({error.strerror}); type another --out"
        ) from error


def read_run(folder: Path) -> Run:
    """What was asked for of the run in a folder.

    Raises:
      RunError: if there is none, or `run.json` is damaged.
    """
    path = folder / _RUN
    if not (folder / _STATE).exists() or not path.exists():
        raise RunError(
            f"{folder}: holds no run, wanted a folder with {_RUN} and {_STATE}, which "
            f"train --out DIR makes"
        )
    try:
        found = json.loads(path.read_bytes())
        run = Run(**found)
    except (ValueError, TypeError) as error:
        raise RunError(f"{path}: damaged ({error})") from error
    for name, kind in Run.__annotations__.items():
        value = getattr(run, name)
        if type(value) is not kind or (kind is int and value < (name != "seed")):
            raise RunError(f"{path}: damaged, {name} is {value!r}")
    return run


def write_run(
    folder: Path, run: Run, state: TrainState, metrics: dict[str, np.ndarray]
) -> None:
    """Writes all that a run goes on from; each file appears whole or not at all."""
    write_metrics(folder / _METRICS, metrics)
    with new_file(folder / _RUN) as file:
        file.write(json.dumps(run._asdict(), indent=2).encode() + b"\n")
    save_state(folder / _STATE, state)


def read_state(folder: Path, run: Run) -> TrainState:
    """The state of a run, on the default device.

    Raises:
      CheckpointError: if it is damaged, or of another agent or environment.
    """

    def init(key: jax.Array) -> Any:
        found = run.recipe()
        return init_train(found.agent, found.env, key, run.num_envs)

    like = jax.eval_shape(init, jax.eval_shape(lambda: jax.random.key(0)))
    return load_state(folder / _STATE, like)


def read_run_metrics(folder: Path, state: TrainState) -> dict[str, np.ndarray]:
    """The metrics of all updates up to a state.

    Raises:
      RunError: if some are missing.
      MetricsError: if the file is damaged.
    """
    path = folder / _METRICS
    if not path.exists():
        raise RunError(f"{path}: missing; without it a run cannot go on")
    metrics, updates = read_metrics(path), int(state.updates)
    if "step" not in metrics:
        raise RunError(f"{path}: has no column 'step'; it is not of a run")
    if len(metrics["step"]) < updates:
        raise RunError(
            f"{path}: ends at update {len(metrics['step'])}, wanted {updates} like "
            f"{_STATE}; it is not of the same run"
        )
    return {name: column[:updates] for name, column in metrics.items()}

"""The command line: train a recipe, go on with a run, evaluate one, list recipes."""

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

import jax
import numpy as np

from rlax_agents import _recipes
from rlax_agents._arguments import EPISODES, EXIT_USER, PROGRAM, make_parser
from rlax_agents._checkpoint import CheckpointError
from rlax_agents._checks import ArgumentError
from rlax_agents._curves import MetricsError, draw_returns, missing_extra, number
from rlax_agents._devices import DevicesError, choose_devices
from rlax_agents._evaluate import evaluate
from rlax_agents._learning import learn
from rlax_agents._progress import progress
from rlax_agents._recipes import recipe
from rlax_agents._run_folder import (
    Run,
    RunError,
    check_writable,
    make_folder,
    read_run,
    read_run_metrics,
    read_state,
    write_run,
)

_EXIT_STOPPED = 130
_USER_ERRORS = (
    ArgumentError,
    CheckpointError,
    DevicesError,
    MetricsError,
    OSError,
    RunError,
)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs `python -m rlax_agents`.

    Args:
      argv: the arguments; by default those of the process.

    Returns:
      The exit code: 0 done, 2 cannot be done as asked, 130 stopped and saved.
    """
    argv = sys.argv[1:] if argv is None else argv
    parser = make_parser()
    if not argv:
        parser.print_help(sys.stderr)
        return EXIT_USER
    options = parser.parse_args(argv)
    command = {"list": _list, "train": _train, "evaluate": _evaluate}[options.command]
    try:
        return command(options)
    except _USER_ERRORS as error:
        return _complain(str(error), EXIT_USER)
    except jax.errors.JaxRuntimeError as error:
        if "RESOURCE_EXHAUSTED" not in str(error):
            raise
        return _complain("out of memory; type a smaller --envs", EXIT_USER)
    except KeyboardInterrupt:
        return _complain("stopped at once", _EXIT_STOPPED)


def _list(options: argparse.Namespace) -> int:
    del options
    heads = ("agent", "environment", "environments", "updates", "steps", "target")
    rows: list[tuple[str, ...]] = [heads]
    for (agent, env), found in _recipes.RECIPES.items():
        steps = found.updates * found.num_envs * found.agent.unroll_length
        target = "-" if found.target is None else number(found.target)
        counts = (f"{n:,}" for n in (found.num_envs, found.updates, steps))
        rows.append((agent, env, *counts, target))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            cell.ljust(width) if i < 2 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        sys.stdout.write("   ".join(cells) + "\n")
    return 0


def _train(options: argparse.Namespace) -> int:
    if (missing := missing_extra()) is not None:
        raise RunError(
            f"train needs {missing}, which is not installed; type pip install "
            f"{missing}, or install rlax-agents with its extra cli"
        )
    run, folder = _asked(options)
    mesh = choose_devices(run.devices, run.num_envs)
    state, metrics = None, {}
    if options.resume is not None:
        check_writable(folder)
        state = read_state(folder, run)
        metrics = read_run_metrics(folder, state)
        if int(state.updates) >= run.updates:
            raise RunError(
                f"{folder}: has made {int(state.updates)} of {run.updates} updates; "
                f"type --updates {2 * run.updates} to go on"
            )
    else:
        make_folder(folder)
    _introduce(run, state is not None)
    learned = learn(
        run,
        state,
        metrics,
        mesh=mesh,
        view=progress(sys.stderr, total=run.updates),
        save=lambda state, metrics: write_run(folder, run, state, metrics),
    )
    if learned.state is None:
        return _complain("stopped before the first update; nothing to save", 130)
    write_run(folder, run, learned.state, learned.metrics)
    picture = folder / "returns.png"
    about = {
        "title": f"{run.agent} on {run.env}, seed {run.seed}",
        "target": run.recipe().target,
    }
    if learned.stopped:
        draw_returns(picture, learned.metrics, **about)
        return _complain(
            f"stopped at update {int(learned.state.updates)} of {run.updates}, and "
            f"saved; to go on: {PROGRAM} train --resume {shlex.quote(str(folder))}",
            _EXIT_STOPPED,
        )
    if learned.seconds:
        sys.stdout.write(
            f"{learned.steps / learned.seconds:,.0f} steps a second, after "
            f"{learned.compiling:.1f} s to compile\n"
        )
    mean = _say_evaluation(folder, run, EPISODES)
    draw_returns(picture, learned.metrics, evaluated=mean, **about)
    sys.stdout.write(f"{folder}: returns.png, metrics.parquet, state.npz\n")
    return 0


def _asked(options: argparse.Namespace) -> tuple[Run, Path]:
    """The run that was asked for, and its folder."""
    if options.resume is not None:
        for name in ("agent", "env", "seed", "envs", "out"):
            if (value := getattr(options, name)) is not None:
                raise RunError(
                    f"--resume goes on with the run as it is; leave out {value}, "
                    f"or leave out --resume"
                )
        run = read_run(options.resume)
        run = run._replace(
            updates=options.updates or run.updates,
            devices=options.devices or run.devices,
        )
        run.recipe()
        return run, options.resume
    if options.env is None:
        raise RunError(
            f"train needs an agent and an environment; type {PROGRAM} train ppo "
            f"cartpole, and {PROGRAM} list for all"
        )
    found = recipe(options.agent, options.env)
    run = Run(
        agent=options.agent,
        env=options.env,
        seed=options.seed or 0,
        num_envs=options.envs or found.num_envs,
        updates=options.updates or found.updates,
        devices=options.devices or 1,
    )
    return run, options.out or Path("runs") / f"{run.agent}-{run.env}"


def _introduce(run: Run, resumed: bool) -> None:  # noqa: FBT001 (private)
    steps = run.num_envs * run.recipe().agent.unroll_length
    kind = jax.devices()[0].platform
    sys.stdout.write(
        f"{run.agent} on {run.env}, seed {run.seed}{', resumed' if resumed else ''}: "
        f"{run.updates:,} updates of {steps:,} steps, {run.num_envs} environments on "
        f"{run.devices} {kind} device{'s' if run.devices > 1 else ''}\n"
    )
    sys.stdout.flush()


def _evaluate(options: argparse.Namespace) -> int:
    run = read_run(options.run)
    _say_evaluation(options.run, run, options.episodes)
    return 0


def _say_evaluation(folder: Path, run: Run, episodes: int) -> float:
    """Plays episodes with the state in a folder; says and returns how it went."""
    found, state = run.recipe(), read_state(folder, run)
    key = jax.random.fold_in(jax.random.key(run.seed), 1)
    returns = np.asarray(
        evaluate(found.agent, found.env, state.agent, key=key, episodes=episodes)
    )
    mean = float(returns.mean())
    said = (
        f"return {number(mean)} +- {number(float(returns.std()))}, from "
        f"{number(float(returns.min()))} to {number(float(returns.max()))}, in "
        f"{episodes:,} episodes after {int(state.updates):,} updates"
    )
    if found.target is not None:
        verdict = "reached" if mean >= found.target else "missed"
        said += f"; target {number(found.target)}, {verdict}"
    sys.stdout.write(f"{said}\n")
    return mean


def _complain(message: str, code: int) -> int:
    sys.stderr.write(f"rlax_agents: {' '.join(message.split())}\n")
    return code

"""The training loop of one run: steps, records, checkpoints, pictures."""

import contextlib
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import jax
from rich.console import Console

import arrow_jax
from haiku_nets import parameter_table
from mnist_gan import _game, _pictures, _terminal
from mnist_gan._checkpoints import Checkpoint, Checkpoints
from mnist_gan._devices import Placement
from mnist_gan._errors import UserError
from mnist_gan._interrupts import Interrupts
from mnist_gan._log import Log
from mnist_gan._metrics import Metrics
from mnist_gan._recipes import Recipe
from mnist_gan._run import Config, RunFolder
from mnist_gan._sample import SHEET, draw, write_samples
from optax_chains import Players

_CHECKPOINT_EVERY = 100
_PICTURES = 10
# On a CPU a step takes a thousand times as long as its dispatch; elsewhere it may not,
# so several steps go into one.
_STEPS_PER_DISPATCH = {"cpu": 1}
_STEPS_PER_DISPATCH_ELSEWHERE = 10

Update = Callable[[_game.TrainState, list[jax.Array]], tuple[_game.TrainState, Players]]


class Plan(NamedTuple):
    """A run, checked and ready to start.

    Attributes:
      folder: where the results go.
      config: what decides the numbers.
      recipe: the recipe that `config` names.
      placement: the devices.
      dataset: the digits, decoded.
    """

    folder: RunFolder
    config: Config
    recipe: Recipe
    placement: Placement
    dataset: arrow_jax.Dataset


class Outcome(NamedTuple):
    """How a run ended.

    Attributes:
      step: the last step taken.
      stopped: whether a signal ended it early.
      saved: whether there is something to go on from.
    """

    step: int
    stopped: bool
    saved: bool


def run(plan: Plan, out: Console, interrupted: Interrupts, *, resume: bool) -> Outcome:
    """Trains from the start, or from the run's last checkpoint.

    Args:
      plan: the run.
      out: where to report.
      interrupted: true once the user wants the run to stop.
      resume: whether to go on from the last checkpoint.

    Returns:
      The last step, and whether a signal ended the run before its time.

    Raises:
      UserError: if the run has taken its steps already.
      DivergedError: if the losses stop being finite.
    """
    folder, config, recipe, placement, dataset = plan

    def init() -> _game.TrainState:
        return _game.init(recipe, config.seed)

    abstract = jax.eval_shape(init)
    for params in abstract.params:
        out.print()
        out.print(_terminal.model_table(parameter_table(params)))
    out.print()

    loader = arrow_jax.Loader(
        dataset,
        config.batch_size,
        shuffle=True,
        seed=config.seed,
        epochs=None,
        last="drop",
        sharding=placement.spread,
    )
    with ThreadPoolExecutor(1) as pool:  # XLA compiles two programs at a time
        compiling = pool.submit(_compile, plan, abstract, loader.spec["image"])
        restored = _last_checkpoint(plan, abstract) if resume else None
        if restored:
            state, position = restored
        else:
            state = jax.jit(init, out_shardings=placement.replicated)()
            position = None
        updates = compiling.result()
    first = int(state.step)
    if first >= config.steps:
        raise UserError(
            f"{folder}: has taken its {first:,} steps; add --steps {2 * first} to go "
            "on to twice as many"
        )

    if interrupted:
        return Outcome(first, stopped=True, saved=restored is not None)

    after = first if resume else None
    batches = loader.resume(position) if position else iter(loader)
    view = _terminal.progress(out, done=first, steps=config.steps)
    with (
        folder.claimed(config, resume=resume),
        contextlib.closing(Checkpoints(folder.checkpoints)) as checkpoints,
        contextlib.closing(Metrics(folder.metrics, folder.events, after=after)) as kept,
        loader,
        batches,
        view,
    ):
        log = Log(kept, view, config.batch_size)
        return _loop(
            plan,
            state,
            updates,
            batches,
            log=log,
            checkpoints=checkpoints,
            interrupted=interrupted,
        )


def _last_checkpoint(plan: Plan, abstract: _game.TrainState) -> Checkpoint | None:
    if not plan.folder.checkpoints.is_dir():
        return None
    with contextlib.closing(Checkpoints(plan.folder.checkpoints)) as checkpoints:
        if checkpoints.latest_step() is None:
            return None
        return checkpoints.restore(abstract, plan.placement.replicated)


def _compile(
    plan: Plan, abstract: _game.TrainState, image: jax.ShapeDtypeStruct
) -> dict[int, Update]:
    """Compiles the update for the numbers of steps that a dispatch may hold."""
    replicated, spread = plan.placement.replicated, plan.placement.spread
    update = jax.jit(
        _game.update(plan.recipe, plan.placement.mesh),
        donate_argnums=0,
        in_shardings=(replicated, spread),
        out_shardings=(replicated, replicated),
    )
    platform = plan.placement.mesh.devices.flat[0].platform
    most = _STEPS_PER_DISPATCH.get(platform, _STEPS_PER_DISPATCH_ELSEWHERE)
    counts = {1, min(most, plan.config.steps)}
    return {n: update.lower(abstract, [image] * n).compile() for n in counts}


def _loop(
    plan: Plan,
    state: _game.TrainState,
    updates: dict[int, Update],
    batches: Any,
    *,
    log: Log,
    checkpoints: Checkpoints,
    interrupted: Interrupts,
) -> Outcome:
    step, steps = int(state.step), plan.config.steps
    most = max(updates)
    draw_every = max(1, steps // _PICTURES)
    ended = False
    while not ended:
        # By the step's number alone, so that a resumed run repeats the same programs.
        n = most if step % most == 0 and step + most <= steps else 1
        start = time.perf_counter()
        images = [next(batches)["image"] for _ in range(n)]
        waited = time.perf_counter() - start
        state, losses = updates[n](state, images)
        log.dispatched(step + 1, losses, waited / n)
        step += n
        ended = step >= steps or bool(interrupted)
        if ended or step % _CHECKPOINT_EVERY == 0:
            log.write()  # first, so that no checkpoint is without its rows
            checkpoints.save(Checkpoint(state, batches.state()))
        if ended or step % draw_every == 0:
            _draw(plan, state, log.written())
    return Outcome(step, stopped=step < steps, saved=True)


def _draw(plan: Plan, state: _game.TrainState, metrics: Metrics) -> None:
    folder = plan.folder
    images = draw(plan.recipe, state.average, seed=0, n=SHEET)
    _pictures.save_samples(folder.sample_sheet, images)
    write_samples(folder.samples, images)
    losses = Players(gen=metrics.column("gen_loss"), disc=metrics.column("disc_loss"))
    _pictures.save_losses(
        folder.loss_plot, metrics.column("step"), losses, plan.recipe.equilibrium
    )

"""The training loop of one run: steps, records, checkpoints, pictures."""

import contextlib
import dataclasses
import time
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from rich.console import Console

import arrow_jax
from haiku_nets import parameter_table
from mnist_gan import _agreement, _game, _pictures, _private, _secret, _terminal
from mnist_gan._batches import open_loader, seen
from mnist_gan._checkpoints import Checkpoint, Checkpoints, remove_unfinished
from mnist_gan._devices import Placement
from mnist_gan._errors import UserError
from mnist_gan._interrupts import Interrupts
from mnist_gan._layout import layout
from mnist_gan._log import Log
from mnist_gan._metrics import Metrics
from mnist_gan._recipes import Recipe
from mnist_gan._run import Config, RunFolder, versions
from mnist_gan._runtime import Runtime
from mnist_gan._sample import SHEET, draw, write_samples
from optax_chains import Players

_CHECKPOINT_EVERY = 100
_PICTURES = 10
# On a CPU a step takes a thousand times as long as its dispatch; elsewhere it may not,
# so several steps go into one.
_STEPS_PER_DISPATCH = {"cpu": 1}
_STEPS_PER_DISPATCH_ELSEWHERE = 10

Update = Callable[[_game.TrainState, list[Any]], tuple[_game.TrainState, Players]]


class Plan(NamedTuple):
    """A run, checked and ready to start.

    Attributes:
      folder: where the results go.
      config: what decides the numbers.
      recipe: the recipe that `config` names.
      placement: the devices.
      dataset: the digits, decoded.
      runtime: the processes.
      secret: of a private run.
    """

    folder: RunFolder
    config: Config
    recipe: Recipe
    placement: Placement
    dataset: arrow_jax.Dataset
    runtime: Runtime
    secret: str | None = None

    @property
    def order(self) -> int:
        """The seed of which digits are in which batch."""
        return _secret.draws_seed(self.secret) if self.secret else self.config.seed

    @property
    def key_data(self) -> np.ndarray | None:
        """The first key's numbers, where they are not the seed's."""
        return _secret.key_data(self.secret) if self.secret else None


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


def run(
    plan: Plan, out: Console, interrupted: Interrupts, *, resume: str | None
) -> Outcome:
    """Trains from the start, or from the run's last checkpoint.

    Args:
      plan: the run.
      out: where to report.
      interrupted: true once the user wants the run to stop.
      resume: None to start; else to go on from the last checkpoint, and `auto` if a
        run that is done is fine too.

    Returns:
      The last step, and whether a signal ended the run before its time.

    Raises:
      UserError: if the run has taken its steps already.
      DivergedError: if the losses stop being finite.
      HostsError: if the processes do not agree, or one is missing.
    """
    folder, config, recipe, placement, dataset, runtime, _ = plan

    def init(key_data: jax.Array | None) -> _game.TrainState:
        state = _game.init(recipe, config.seed)
        if key_data is None:
            return state
        return state._replace(key=jax.random.wrap_key_data(key_data))

    # An argument, since what is in a program is kept with it.
    key_data = plan.key_data
    abstract = jax.eval_shape(init, key_data)
    lies = layout(abstract, placement)
    for params in abstract.params:
        out.print()
        out.print(_terminal.model_table(parameter_table(params)))
    out.print()

    loader = open_loader(recipe, dataset, seed=plan.order, sharding=placement.spread)
    lowered = _lower(plan, lies, abstract, seen(loader.spec))
    _check_alike(plan, {n: lower.as_text() for n, lower in lowered.items()})
    with ThreadPoolExecutor(1) as pool:  # XLA compiles two programs at a time
        compiling = pool.submit(lambda: {n: x.compile() for n, x in lowered.items()})
        restored = _last_checkpoint(plan, abstract, lies) if resume else None
        if restored:
            state, position = restored
        else:
            state = jax.jit(init, out_shardings=lies)(key_data)
            position = None
        updates = compiling.result()
    first = int(state.step)
    if first >= config.steps:
        if resume == "auto":
            return Outcome(first, stopped=False, saved=True)
        raise UserError(
            f"{folder}: has taken its {first:,} steps; add --steps {2 * first} to go "
            "on to twice as many"
        )
    # A signal that only this process has is for the loop, which asks all of them.
    if interrupted and runtime.hosts.count == 1:
        return Outcome(first, stopped=True, saved=restored is not None)

    _introduce(plan, out, anew=bool(resume) and not restored)
    batches = _go_on(plan, loader, position, step=first) if position else iter(loader)
    view = _terminal.progress(out, done=first, steps=config.steps)
    with (
        _kept(plan, first if resume else None) as metrics,
        contextlib.closing(Checkpoints(folder.checkpoints)) as checkpoints,
        loader,
        batches,
        view,
    ):
        return _loop(
            plan,
            state,
            updates,
            batches,
            metrics=metrics,
            view=view,
            checkpoints=checkpoints,
        )


def _introduce(plan: Plan, out: Console, *, anew: bool) -> None:
    """Says what is not as usual."""
    if plan.recipe.privacy:
        config = plan.config
        account = _private.account(plan.recipe.privacy, config, steps=config.steps)
        out.print(_private.statement(account))
    if anew:
        out.print("no checkpoint yet: from the first step")


def _go_on(plan: Plan, loader: arrow_jax.Loader, position: Any, *, step: int) -> Any:
    try:
        return loader.resume(position)
    except arrow_jax.ArrowJaxError as error:
        raise UserError(
            f"{plan.folder}/checkpoints/{step}: the checkpoint cannot be read "
            f"({error}); delete that folder to go on from the one before"
        ) from error


def _check_alike(plan: Plan, programs: dict[int, str]) -> None:
    """Checks that all processes are about to do the same."""
    facts = {
        "version": versions(),
        "option": dataclasses.asdict(plan.config),
        "program": {str(n): _agreement.digest(text) for n, text in programs.items()},
    }
    hosts = plan.runtime.hosts
    _agreement.check_same(hosts, facts, seconds=plan.runtime.patience)


@contextlib.contextmanager
def _kept(plan: Plan, after: int | None) -> Generator[Metrics | None]:
    """Holds the run's folder, in the process that writes there, and its record."""
    folder, runtime = plan.folder, plan.runtime
    with contextlib.ExitStack() as stack:
        metrics = None
        if runtime.hosts.first:
            stack.enter_context(
                folder.claimed(
                    plan.config, resume=after is not None, secret=plan.secret
                )
            )
            remove_unfinished(folder.checkpoints)
            metrics = Metrics(folder.metrics, folder.events, after=after)
            stack.enter_context(contextlib.closing(metrics))
        runtime.hosts.barrier("the run's folder", seconds=runtime.patience)
        yield metrics


def _last_checkpoint(
    plan: Plan, abstract: _game.TrainState, lies: _game.TrainState
) -> Checkpoint | None:
    folder = plan.folder.checkpoints
    if isinstance(folder, Path) and not folder.is_dir():
        return None
    with contextlib.closing(Checkpoints(folder)) as checkpoints:
        if checkpoints.latest_step() is None:
            return None
        return checkpoints.restore(abstract, lies)


def _lower(
    plan: Plan,
    lies: _game.TrainState,
    abstract: _game.TrainState,
    batch: Any,
) -> dict[int, jax.stages.Lowered]:
    """Lowers the update for the numbers of steps that a dispatch may hold."""
    replicated, spread = plan.placement.replicated, plan.placement.spread
    update = jax.jit(
        _game.update(plan.recipe, plan.placement.mesh),
        donate_argnums=0,
        in_shardings=(lies, spread),
        out_shardings=(lies, replicated),
    )
    platform = plan.placement.mesh.devices.flat[0].platform
    most = _STEPS_PER_DISPATCH.get(platform, _STEPS_PER_DISPATCH_ELSEWHERE)
    counts = {1, min(most, plan.config.steps)}
    return {n: update.lower(abstract, [batch] * n) for n in counts}


def _loop(
    plan: Plan,
    state: _game.TrainState,
    updates: Mapping[int, Update],
    batches: Any,
    *,
    metrics: Metrics | None,
    view: _terminal.ProgressView,
    checkpoints: Checkpoints,
) -> Outcome:
    step, steps = int(state.step), plan.config.steps
    most = max(updates)
    draw_every = max(1, steps // _PICTURES)
    log = Log(metrics, view, plan.config.batch_size)
    # Weights may lie on devices of other processes, too.
    gather = jax.jit(lambda tree: tree, out_shardings=plan.placement.replicated)
    _check_state(plan, state, batches)
    ended = False
    dispatches = 0
    while not ended:
        # By the step's number alone, so that a resumed run repeats the same programs.
        n = most if step % most == 0 and step + most <= steps else 1
        start = time.perf_counter()
        images = [seen(next(batches)) for _ in range(n)]
        waited = time.perf_counter() - start
        state, losses = updates[n](state, images)
        log.dispatched(step + 1, losses, waited / n)
        step += n
        dispatches += 1
        plan.runtime.watch.beat(step)
        checkpoints.check()
        stops = plan.runtime.stops(dispatches)  # asked every time, as jax wants it
        ended = step >= steps or stops
        if ended or step % _CHECKPOINT_EVERY == 0:
            log.write()  # first, so that no checkpoint is without its rows
            _check_state(plan, state, batches)
            checkpoints.save(Checkpoint(state, batches.state()))
        if ended or step % draw_every == 0:
            log.catch_up()
            whole = gather(state.average)
            average = jax.tree.map(lambda leaf: leaf.addressable_data(0), whole)
            if metrics is not None:
                _draw(plan, average, metrics)
                plan.folder.push()
    checkpoints.finish()
    return Outcome(step, stopped=step < steps, saved=True)


def _check_state(plan: Plan, state: _game.TrainState, batches: Any) -> None:
    """Checks that all processes hold the same numbers, and read the same rows next."""
    hosts = plan.runtime.hosts
    if hosts.count > 1:
        facts = {
            "the state": _agreement.parts(state),
            "the order of the digits": batches.state(),
        }
        _agreement.check_same(hosts, facts, seconds=plan.runtime.patience)


def _draw(plan: Plan, average: Any, metrics: Metrics) -> None:
    folder = plan.folder
    images = draw(plan.recipe, average, seed=0, n=SHEET)
    _pictures.save_samples(folder.sample_sheet, images)
    taken = int(metrics.column("step")[-1])
    metrics.add_picture("samples", _pictures.grid(images), step=taken)
    write_samples(folder.samples, images)
    losses = Players(gen=metrics.column("gen_loss"), disc=metrics.column("disc_loss"))
    _pictures.save_losses(
        folder.loss_plot, metrics.column("step"), losses, plan.recipe.equilibrium
    )

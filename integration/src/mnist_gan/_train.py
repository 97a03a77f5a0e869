"""The training run: from the digits to the folder of results."""

import dataclasses
import json
from pathlib import Path
from typing import NamedTuple

from rich.console import Console

from mnist_gan import _digits, _estimate, _private
from mnist_gan._batches import check_divides
from mnist_gan._blocks import check_blocks, fix_threads
from mnist_gan._devices import Placement, describe, place
from mnist_gan._errors import UserError
from mnist_gan._interrupts import Interrupts
from mnist_gan._loop import Outcome, Plan, run
from mnist_gan._recipes import Recipe, find_recipe
from mnist_gan._run import Config, RunFolder
from mnist_gan._runtime import Runtime
from mnist_gan._secret import keyed, new_secret

_DEFAULT_RECIPE = "fast"


class Request(NamedTuple):
    """What the user asked for; None where nothing was said.

    Attributes:
      data: address of the digits.
      out: the run's folder, or address.
      steps: how many steps in all.
      batch_size: real digits a step.
      seed: of everything random.
      recipe: name of the recipe.
      resume: `always` to go on with the run in `out`, `auto` to do so if there is one.
      devices: how many devices.
      mesh: how many along each axis of the mesh.
      blocks: into how many blocks a batch is split to be computed.
    """

    data: str | None
    out: Path | str
    steps: int | None
    batch_size: int | None
    seed: int | None
    recipe: str | None
    resume: str | None
    devices: int | None
    mesh: dict[str, int] | None = None
    blocks: int | None = None


def train(
    request: Request, out: Console, interrupted: Interrupts, runtime: Runtime
) -> Outcome:
    """Trains, or goes on training, and leaves the results in the run's folder.

    Everything the user could have got wrong is checked before the folder is touched.

    Args:
      request: what to do.
      out: where to report.
      interrupted: true once the user wants the run to stop.
      runtime: the processes that run it; all of them call this.

    Returns:
      The last step, and whether a signal ended the run before its time.

    Raises:
      UserError: if the request cannot be done; nothing has been written.
      DivergedError: if the losses stop being finite.
    """
    folder = RunFolder(request.out)
    before = _find_run(request, folder, runtime)
    name = request.recipe or (before.recipe if before else _DEFAULT_RECIPE)
    recipe = find_recipe(name)
    defaults = before or recipe
    steps = request.steps or defaults.steps
    batch_size = request.batch_size or defaults.batch_size
    blocks = request.blocks or (before.blocks if before else 0)
    recipe = recipe._replace(batch_size=batch_size, blocks=blocks)
    seed = before.seed if before else 0
    if request.seed is not None:
        seed = request.seed
    if blocks:
        check_blocks(name, recipe, 1)  # before there are as many threads
        fix_threads(blocks)
    placement = place(request.devices, request.mesh)
    check_divides(recipe, placement)
    check_blocks(name, recipe, placement.mesh.size)
    _announce(out, name, recipe, steps, placement)

    address = request.data
    if address is None and before:
        address = before.address
    _check_apart(request.out, address)
    digits = _digits.load(address)
    if interrupted and runtime.hosts.count == 1:
        return Outcome(0, stopped=True, saved=False)
    secret = _secret_of(folder, before, recipe, runtime)
    config = Config(
        recipe=name,
        steps=steps,
        batch_size=batch_size,
        seed=seed,
        data=digits.address,
        rows=len(digits.dataset),
        sha256=keyed(secret, digits.sha256) if secret else digits.sha256,
        blocks=blocks,
    )
    if batch_size > config.rows:
        raise UserError(
            f"batch size {batch_size} is above the {config.rows:,} digits of "
            f"{digits.address}; take --batch-size {config.rows} or less"
        )
    if before:
        _check_same(before, config)
    plan = Plan(folder, config, recipe, placement, digits.dataset, runtime, secret)
    outcome = run(plan, out, interrupted, resume=request.resume if before else None)
    if recipe.privacy and outcome.saved:
        account = _private.account(recipe.privacy, config, steps=outcome.step)
        if runtime.hosts.first:
            folder.save_account(account)
        if outcome.stopped:
            out.print(_private.statement(account))
    return outcome


def _secret_of(
    folder: RunFolder, before: Config | None, recipe: Recipe, runtime: Runtime
) -> str | None:
    """A private run's secret, drawn or found by the first process."""
    if not recipe.privacy:
        return None
    found = ""
    if runtime.hosts.first:
        found = folder.load_secret() if before else new_secret()
    return runtime.hosts.share("the secret", found, seconds=runtime.patience)


def _find_run(request: Request, folder: RunFolder, runtime: Runtime) -> Config | None:
    """The run to go on with, as the first process finds it; the folder may be its."""
    found = ""
    if runtime.hosts.first:
        folder.pull()
        if request.resume == "always" or (request.resume and folder.config.exists()):
            found = json.dumps(dataclasses.asdict(folder.load()))
        else:
            folder.check_new()
    found = runtime.hosts.share("the run", found, seconds=runtime.patience)
    return Config(**json.loads(found)) if found else None


def _announce(
    out: Console,
    name: str,
    recipe: Recipe,
    steps: int,
    placement: Placement,
) -> None:
    batch_size = recipe.batch_size
    device = placement.mesh.local_devices[0]  # another process's computes nothing here
    # Simulated devices share the cores, real ones share the work.
    sharers = 1 if device.platform == "cpu" else placement.mesh.size
    expected = _estimate.seconds(steps * batch_size // sharers, device)
    average = " on average," if recipe.privacy else ""
    out.print(f"[bold]{name}[/bold]: {recipe.about}")
    out.print(
        f"{steps:,} steps of {batch_size} digits{average} on {describe(placement)}, "
        f"about {_estimate.spell(expected)}"
    )


def _check_apart(out: Path | str, address: str | None) -> None:
    """What a run leaves in its folder would be read as digits the next time."""
    if isinstance(out, str):
        return
    if address and "://" not in address and out.is_dir():
        data = Path(address)
        if data.is_dir() and data.samefile(out):
            raise UserError(
                f"--out {out}: holds the data; name another folder for the run"
            )


def _check_same(before: Config, now: Config) -> None:
    """A resumed run goes on with what it was started with; only steps may change."""
    for name, option in (
        ("recipe", "--recipe"),
        ("batch_size", "--batch-size"),
        ("seed", "--seed"),
        ("blocks", "--blocks"),
        ("sha256", "--data"),
    ):
        was, asked = getattr(before, name), getattr(now, name)
        if was != asked:
            if option == "--data":
                was, asked = f"{before.rows:,} digits", f"{now.rows:,} others"
            raise UserError(
                f"--resume: the run was started with {option} {was}, this is {asked}; "
                f"leave {option} out, or start another run with --out"
            )

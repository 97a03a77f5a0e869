"""The command line."""

import argparse
import contextlib
import logging
import signal
import sys
import warnings
from collections.abc import Callable, Generator, Sequence
from pathlib import Path

from mnist_gan import _cli_hosts, _cli_programs, _exits
from mnist_gan._arguments import PROGRAM, Parser, place, positive, seed, whole
from mnist_gan._errors import UserError
from mnist_gan._interrupts import Interrupts, follow_parent, interrupts
from mnist_gan._typed import resume_command

# jax and what builds on it are imported once the arguments are known to be right.

_OUT = Path("runs/mnist-gan")
_MOST_DEVICES = 512
_MOST_SAMPLES = 100_000
_FEWEST_JUDGED = 200  # the covariance of 84 features needs more samples than that

_TRAIN_EXAMPLES = """\
examples:
  mnist-gan train                                the digits that come with it
  mnist-gan train --data mnist/ --out runs/full  a folder: Parquet or IDX files
  mnist-gan train --data \\
    hf://datasets/ylecun/mnist/mnist/train-00000-of-00001.parquet
  mnist-gan train --steps 30 --batch-size 16     a quick look
  mnist-gan train --resume --steps 5000          go on with runs/mnist-gan
  mnist-gan train --devices 8                    eight, simulated on a CPU
"""
_EVALUATE_EXAMPLES = """\
examples:
  mnist-gan evaluate runs/mnist-gan
  mnist-gan evaluate runs/mnist-gan --n 1000 --seed 1
"""
_CLASSIFIER_EXAMPLES = """\
examples:
  mnist-gan classifier --data mnist/ --out lenet.safetensors
"""
_SAMPLE_EXAMPLES = """\
examples:
  mnist-gan sample runs/mnist-gan --out digits.png
  mnist-gan sample runs/mnist-gan --n 1000 --seed 1 --out digits.parquet
"""


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog=PROGRAM,
        description="Train a GAN on MNIST digits, and draw digits from it.",
        epilog="mnist-gan COMMAND --help says more, with examples.",
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    raw = argparse.RawDescriptionHelpFormatter

    train = commands.add_parser(
        "train",
        help="train, or go on training",
        description="Train the GAN; leave pictures, metrics, samples and checkpoints "
        "in one\nfolder.",
        epilog=_TRAIN_EXAMPLES,
        formatter_class=raw,
        allow_abbrev=False,
    )
    train.add_argument(
        "--data",
        metavar="ADDRESS",
        help="a Parquet file, a folder, a quoted glob, a folder with the four IDX "
        "files, or hf://, gs://, s3:// (default: 10,000 digits that come with it)",
    )
    train.add_argument(
        "--out",
        type=place,
        default=_OUT,
        metavar="DIR",
        help=f"a folder, gs:// or s3:// (default: {_OUT})",
    )
    train.add_argument("--steps", type=positive, metavar="N", help="steps in all")
    train.add_argument(
        "--batch-size", type=positive, metavar="N", help="digits a step, all devices"
    )
    train.add_argument("--seed", type=seed, metavar="N", help="default: 0")
    train.add_argument(
        "--recipe",
        metavar="NAME",
        help="fast (default), best, private or reference",
    )
    train.add_argument(
        "--html", action="store_true", help="leave report.html too, one page of it all"
    )
    train.add_argument(
        "--resume",
        nargs="?",
        const="always",
        choices=("always", "auto"),
        metavar="auto",
        help="go on with the run in --out; auto: if there is one",
    )
    train.add_argument(
        "--devices",
        type=whole(1, _MOST_DEVICES),
        metavar="N",
        help="default: all there are",
    )
    train.add_argument(
        "--mesh",
        type=_cli_hosts.mesh,
        metavar="AXES",
        help="data=4,model=2 splits batches in 4 and weights in 2 (default: data=all)",
    )
    train.add_argument(
        "--blocks",
        type=positive,
        metavar="N",
        help="compute batches in N blocks: the same bits on up to N devices",
    )
    _cli_hosts.add_join(train)

    sample = commands.add_parser(
        "sample",
        help="draw digits from a trained run",
        description="Draw digits from the last checkpoint of a run.",
        epilog=_SAMPLE_EXAMPLES,
        formatter_class=raw,
        allow_abbrev=False,
    )
    sample.add_argument(
        "run", type=place, metavar="RUN", help="the run's folder, or gs:// or s3://"
    )
    sample.add_argument(
        "--n", type=whole(1, _MOST_SAMPLES), default=64, help="default: 64"
    )
    sample.add_argument("--seed", type=seed, default=0, help="default: 0")
    sample.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="FILE",
        help="FILE.png for a sheet, FILE.parquet for a table",
    )

    evaluate = commands.add_parser(
        "evaluate",
        help="judge what a trained run draws",
        description="Judge digits of a run's last checkpoint by a classifier: Fréchet "
        "distance,\nscore, classes and copies, beside real digits and the reference. "
        "Leaves\nevaluation.json and evaluation.png in the run's folder.",
        epilog=_EVALUATE_EXAMPLES,
        formatter_class=raw,
        allow_abbrev=False,
    )
    evaluate.add_argument(
        "run", type=place, metavar="RUN", help="the run's folder, or gs:// or s3://"
    )
    evaluate.add_argument(
        "--n",
        type=whole(_FEWEST_JUDGED, _MOST_SAMPLES),
        default=10_000,
        help="default: 10000; figures compare at equal numbers only",
    )
    evaluate.add_argument("--seed", type=seed, default=0, help="default: 0")

    classifier = commands.add_parser(
        "classifier",
        help="train the classifier that evaluate judges with",
        description="Train LeNet on labelled digits, and write it to a file as the one "
        "that is shipped.",
        epilog=_CLASSIFIER_EXAMPLES,
        formatter_class=raw,
        allow_abbrev=False,
    )
    classifier.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        help="Parquet files named train and test, or the four IDX files (default: the "
        "12,000 digits that come with it)",
    )
    classifier.add_argument(
        "--epochs", type=whole(1, 1000), default=12, help="default: 12"
    )
    classifier.add_argument("--seed", type=seed, default=0, help="default: 0")
    classifier.add_argument(
        "--out", type=Path, required=True, metavar="FILE", help="FILE.safetensors"
    )
    _cli_hosts.add_commands(commands)
    _cli_programs.add_commands(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs `mnist-gan`.

    Args:
      argv: the arguments; by default those of the process.

    Returns:
      The exit code, one of `_exits.MEANINGS`.
    """
    argv = sys.argv[1:] if argv is None else argv
    parser = _parser()
    if not argv:
        parser.print_help(sys.stderr)
        return _exits.USER
    arguments = parser.parse_args(argv)
    command = _COMMANDS[arguments.command]
    try:
        with interrupts() as interrupted, _warnings_in_one_line():
            follow_parent()
            return command(arguments, interrupted)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001  (told in full)
        ending = _exits.ending_of(error)
        sys.stderr.write(f"{PROGRAM}: {ending.text}\n")
        return ending.code


def _train(arguments: argparse.Namespace, interrupted: Interrupts) -> int:
    _quiet_libraries()
    import arrow_jax  # noqa: PLC0415  (seconds, which --help should not take)
    from mnist_gan import _terminal  # noqa: PLC0415
    from mnist_gan._compile_cache import keep_programs  # noqa: PLC0415
    from mnist_gan._runtime import runtime  # noqa: PLC0415
    from mnist_gan._train import Request, train  # noqa: PLC0415

    keep_programs()
    if arguments.html and isinstance(arguments.out, str):
        raise UserError(f"--html: {arguments.out} is an address, wanted a folder")
    request = Request(**{name: getattr(arguments, name) for name in Request._fields})
    with runtime(_cli_hosts.join_of(arguments), interrupted) as found:
        out = _terminal.console(quiet=not found.hosts.first)
        try:
            outcome = train(request, out, interrupted, found)
        except arrow_jax.ArrowJaxError as error:
            raise UserError(str(error)) from error
    if arguments.html and outcome.saved and found.hosts.first:
        from mnist_gan._report_page import write_report  # noqa: PLC0415
        from mnist_gan._run import RunFolder  # noqa: PLC0415

        out.print(str(write_report(RunFolder(request.out))), soft_wrap=True)
    if not outcome.stopped:
        left = f"{request.out}/samples.png, losses.png, metrics.parquet, ..."
        out.print(f"done: {left}", soft_wrap=True)
        return _exits.DONE
    if outcome.saved:
        out.print(f"stopped at step {outcome.step:,}, and saved. To go on:")
        out.print(f"  {resume_command(request.out, request.devices)}", soft_wrap=True)
    else:
        out.print("stopped before the first step; nothing was written")
    preempted = found.hosts.count > 1 or interrupted.received == signal.SIGTERM
    return _exits.PREEMPTED if preempted and outcome.saved else _exits.STOPPED


def _sample(arguments: argparse.Namespace, interrupted: Interrupts) -> int:
    _quiet_libraries()
    from mnist_gan._sample import sample  # noqa: PLC0415  (see above)

    sample(arguments.run, n=arguments.n, seed=arguments.seed, out=arguments.out)
    if interrupted:
        return _exits.STOPPED
    sys.stdout.write(f"{arguments.out}\n")
    return 0


def _evaluate(arguments: argparse.Namespace, interrupted: Interrupts) -> int:
    _quiet_libraries()
    from mnist_gan import _terminal  # noqa: PLC0415  (see above)
    from mnist_gan._evaluate import evaluate  # noqa: PLC0415

    out = _terminal.console()
    evaluate(arguments.run, n=arguments.n, seed=arguments.seed, out=out)
    out.print(f"{arguments.run}/evaluation.json, evaluation.png", soft_wrap=True)
    return _exits.STOPPED if interrupted else 0


def _classifier(arguments: argparse.Namespace, interrupted: Interrupts) -> int:
    _quiet_libraries()
    import arrow_jax  # noqa: PLC0415  (see above)
    from mnist_gan import _terminal  # noqa: PLC0415
    from mnist_gan._train_classifier import train_classifier  # noqa: PLC0415

    try:
        trained = train_classifier(
            arguments.data,
            arguments.out,
            epochs=arguments.epochs,
            seed=arguments.seed,
            console=_terminal.console(),
            interrupted=interrupted,
        )
    except arrow_jax.ArrowJaxError as error:
        raise UserError(str(error)) from error
    if trained is None:
        return _complain("stopped; nothing was written", _exits.STOPPED)
    sys.stdout.write(f"{arguments.out}\n")
    return 0


_COMMANDS: dict[str, Callable[[argparse.Namespace, Interrupts], int]] = {
    "train": _train,
    "sample": _sample,
    "evaluate": _evaluate,
    "classifier": _classifier,
    "launch": _cli_hosts.launch,
    "doctor": _cli_hosts.doctor,
    "compile": _cli_programs.compile_step,
    "hlo": _cli_programs.hlo,
    "inspect": _cli_programs.inspect,
}


@contextlib.contextmanager
def _warnings_in_one_line() -> Generator[None]:
    """Shows a warning's text, without the place in the code that it comes from."""
    before = warnings.showwarning

    def show(message: Warning | str, *_: object, **__: object) -> None:
        _complain(f"warning: {message}", 0)

    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = before


def _quiet_libraries() -> None:
    """Orbax and asyncio warn of what the errors here say in a line of their own."""
    for name in ("absl", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    sys.unraisablehook = _report_unraisable


def _report_unraisable(unraisable: "sys.UnraisableHookArgs") -> None:
    """Leaves out what tensorstore reports of reads that nobody waits for any more."""
    if str(unraisable.exc_value) != "Event loop is closed":
        sys.__unraisablehook__(unraisable)


def _complain(error: Exception | str, code: int) -> int:
    sys.stderr.write(f"{PROGRAM}: {' '.join(str(error).split())}\n")
    return code

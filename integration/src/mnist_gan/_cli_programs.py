"""The part of the command line that is about programs, and about what was trained."""

import argparse
import sys
from pathlib import Path
from typing import Any

from mnist_gan._arguments import place, whole
from mnist_gan._errors import UserError
from mnist_gan._interrupts import Interrupts

# jax and what builds on it are imported once the arguments are known to be right.

_MOST = 2**31 - 1
_COMPILE_EXAMPLES = """\
examples:
  mnist-gan compile --topology v5litepod-16
  mnist-gan compile --topology v4-32 --recipe best --batch-size 4096
  mnist-gan compile --topology v5e:4x4 --slices 2
  mnist-gan compile --topology v6e-8 --out budget.json
  mnist-gan compile --topology v6e-8 --budget budget.json
  mnist-gan compile --platform cpu,cuda,tpu --out step.jaxexport
"""
_HLO_EXAMPLES = """\
examples:
  mnist-gan hlo --stage jaxpr
  mnist-gan hlo --stage stablehlo --platform tpu --out step.mlir
  mnist-gan hlo --stage optimized --time
"""
_INSPECT_EXAMPLES = """\
examples:
  mnist-gan inspect runs/mnist-gan
  mnist-gan inspect runs/mnist-gan --n 64 --seed 1
"""
_SAID_MOST = 12  # operations in the summary


def add_commands(commands: Any) -> None:
    """Adds `compile`, `hlo` and `inspect`."""
    _add_compile(commands)
    of_hlo = _add(
        commands,
        "hlo",
        "show the train step on its way through XLA",
        "Print the train step as traced, as lowered, or as optimised, and count its\n"
        "operations and fusions.",
        _HLO_EXAMPLES,
    )
    of_hlo.add_argument("--recipe", default="reference", help="default: reference")
    of_hlo.add_argument(
        "--stage", choices=("jaxpr", "stablehlo", "optimized"), required=True
    )
    of_hlo.add_argument(
        "--platform", choices=("cpu", "tpu"), default="cpu", help="default: cpu"
    )
    of_hlo.add_argument("--batch-size", type=whole(1, _MOST), default=64, metavar="N")
    of_hlo.add_argument("--out", type=Path, metavar="FILE", help="write the text there")
    of_hlo.add_argument(
        "--time",
        action="store_true",
        help="time a step op by op against compiled, on this machine",
    )
    of_run = _add(
        commands,
        "inspect",
        "look at a trained pair by its derivatives",
        "Curvature of D(G(z)), the generator's singular values, the discriminator's\n"
        "saliency, and gradients of single digits, as a table and as inspection.png.",
        _INSPECT_EXAMPLES,
    )
    of_run.add_argument(
        "run", type=place, metavar="RUN", help="the run's folder, or gs:// or s3://"
    )
    of_run.add_argument("--n", type=whole(1, 10_000), default=16, help="default: 16")
    of_run.add_argument("--seed", type=whole(0, 2**32 - 1), default=0)


def _add_compile(commands: Any) -> None:
    compile_ = _add(
        commands,
        "compile",
        "compile the train step for a TPU pod, or to a portable file",
        "With --topology: compile the train step for a TPU slice, on a machine\n"
        "without one, and say what it needs. With --platform: write it to a file that\n"
        "jax alone runs on those platforms.",
        _COMPILE_EXAMPLES,
    )
    what = compile_.add_mutually_exclusive_group(required=True)
    what.add_argument("--topology", metavar="NAME", help="v5litepod-16, v4-32, v5e:4x4")
    what.add_argument("--platform", metavar="LIST", help="some of cpu,cuda,rocm,tpu")
    compile_.add_argument("--slices", type=whole(1, 64), default=1, metavar="N")
    compile_.add_argument("--recipe", default="reference", help="default: reference")
    compile_.add_argument(
        "--batch-size",
        type=whole(1, _MOST),
        metavar="N",
        help="over all devices (default: 64 a device)",
    )
    compile_.add_argument(
        "--budget", type=Path, metavar="FILE", help="fail if it needs more than this"
    )
    compile_.add_argument(
        "--out", type=Path, metavar="FILE", help="the report, or the portable file"
    )
    compile_.add_argument(
        "--no-cache", action="store_true", help="compile even what was compiled before"
    )


def _add(
    commands: Any, name: str, brief: str, about: str, examples: str
) -> argparse.ArgumentParser:
    return commands.add_parser(
        name,
        help=brief,
        description=about,
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def compile_step(arguments: argparse.Namespace, interrupted: Interrupts) -> int:
    """Runs `mnist-gan compile`."""
    del interrupted
    if arguments.platform is not None:
        return _export(arguments)
    from mnist_gan import _compile, _compile_report, _terminal  # noqa: PLC0415
    from mnist_gan._compile_cache import cache_folder  # noqa: PLC0415
    from mnist_gan._files import check_file, write_whole  # noqa: PLC0415
    from mnist_gan._recipes import find_recipe  # noqa: PLC0415
    from mnist_gan._topologies import find_topology  # noqa: PLC0415

    topology = find_topology(arguments.topology, slices=arguments.slices)
    find_recipe(arguments.recipe)
    batch_size = arguments.batch_size or 64 * topology.chips
    if batch_size % topology.chips:
        raise UserError(
            f"--batch-size {batch_size}: does not divide over {topology.chips} chips; "
            f"take {-(-batch_size // topology.chips) * topology.chips}"
        )
    report = _compile_report.CompileReport
    budget = report.read(arguments.budget) if arguments.budget else None
    if arguments.out:
        check_file(arguments.out, "--out")
    out = _terminal.console()
    out.print(
        f"compiling {arguments.recipe} for {topology.chips} chips; that takes a minute "
        "or two the first time"
    )
    found = _compile.compile_step(
        topology,
        recipe=arguments.recipe,
        batch_size=batch_size,
        cache=None if arguments.no_cache else cache_folder("compile"),
    )
    out.print(_compile_report.table(found))
    if arguments.out:
        text = found.text().encode()
        write_whole(arguments.out, lambda file: file.write(text))
    if budget and (complaints := _compile_report.check_budget(found, budget)):
        raise UserError(f"{arguments.budget}: exceeded: {'; '.join(complaints)}")
    return 0


def _export(arguments: argparse.Namespace) -> int:
    if not arguments.out:
        raise UserError("--platform: says for what, add --out FILE to say where to")
    from mnist_gan._export import write_export  # noqa: PLC0415
    from mnist_gan._files import check_file  # noqa: PLC0415

    check_file(arguments.out, "--out")
    write_export(
        arguments.recipe,
        batch_size=arguments.batch_size or 64,
        platforms=list(dict.fromkeys(arguments.platform.split(","))),
        out=arguments.out,
    )
    sys.stdout.write(f"{arguments.out}, {arguments.out}.json\n")
    return 0


def hlo(arguments: argparse.Namespace, interrupted: Interrupts) -> int:
    """Runs `mnist-gan hlo`."""
    del interrupted
    from mnist_gan import _hlo, _terminal  # noqa: PLC0415
    from mnist_gan._files import check_file, write_whole  # noqa: PLC0415

    if arguments.out:
        check_file(arguments.out, "--out")
    stage = _hlo.lower(
        arguments.recipe,
        stage=arguments.stage,
        platform=arguments.platform,
        batch_size=arguments.batch_size,
    )
    out = _terminal.console()
    if arguments.out:
        text = stage.text.encode()
        write_whole(arguments.out, lambda file: file.write(text))
    else:
        sys.stdout.write(stage.text + "\n")
    counts = list(stage.counts.items())
    said = ", ".join(f"{n} {name}" for name, n in counts[:_SAID_MOST])
    out.print(
        f"{sum(stage.counts.values()):,} operations of {len(counts)} kinds, "
        f"{stage.fusions} fusions: {said}"
        + (", ..." if len(counts) > _SAID_MOST else ""),
        soft_wrap=True,
    )
    if arguments.time:
        timing = _hlo.measure(arguments.recipe, batch_size=arguments.batch_size)
        out.print(
            f"a step op by op {timing.eager:.2f} s, compiled {timing.compiled:.3f} s: "
            f"{timing.eager / timing.compiled:.0f} times as fast"
        )
    return 0


def inspect(arguments: argparse.Namespace, interrupted: Interrupts) -> int:
    """Runs `mnist-gan inspect`."""
    del interrupted
    from mnist_gan import _terminal  # noqa: PLC0415
    from mnist_gan._inspection import inspect_run  # noqa: PLC0415

    out = _terminal.console()
    inspect_run(arguments.run, n=arguments.n, seed=arguments.seed, out=out)
    out.print(f"{arguments.run}/inspection.png", soft_wrap=True)
    return 0

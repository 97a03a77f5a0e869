"""The part of the command line that is about several processes."""

import argparse
import sys
from typing import Any

from mnist_gan import _exits
from mnist_gan._arguments import whole
from mnist_gan._interrupts import Interrupts

# jax and what builds on it are imported once the arguments are known to be right.

_MOST_PROCESSES = 4096
_LAUNCH_EXAMPLES = """\
examples:
  mnist-gan launch --processes 2 --devices 4 -- train --steps 300 --out runs/two
  mnist-gan launch --processes 4 -- train --mesh data=2,model=2
"""


def mesh(text: str) -> dict[str, int]:
    """Reads `--mesh`."""
    from mnist_gan._devices import parse_mesh  # noqa: PLC0415  (seconds)

    try:
        return parse_mesh(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def add_join(parser: argparse.ArgumentParser) -> None:
    """Adds the options by which a process finds the others."""
    group = parser.add_argument_group(
        "several processes",
        "The same command on every host. On a TPU pod and under Slurm the others are\n"
        "found; elsewhere give these, or use mnist-gan launch.",
    )
    group.add_argument(
        "--coordinator", metavar="HOST:PORT", help="a free port of process 0"
    )
    group.add_argument(
        "--processes", type=whole(1, _MOST_PROCESSES), metavar="N", help="how many"
    )
    group.add_argument(
        "--process-id",
        type=whole(0, _MOST_PROCESSES - 1),
        metavar="I",
        help="which this is, from 0",
    )
    group.add_argument(
        "--hang-after",
        type=whole(1, 86_400),
        default=300,
        metavar="SECONDS",
        help="without a step; ten times that for the first, and, 300 at most, for the "
        "others to come (default: 300)",
    )


def join_of(arguments: argparse.Namespace) -> Any:
    """What these options said."""
    from mnist_gan._runtime import Join  # noqa: PLC0415  (seconds)

    return Join(
        arguments.coordinator,
        arguments.processes,
        arguments.process_id,
        arguments.hang_after,
    )


def add_commands(commands: Any) -> None:
    """Adds `launch` and `doctor`."""
    launch = commands.add_parser(
        "launch",
        help="run a command in several processes of this machine",
        description="Run a command of mnist-gan in several processes joined on this "
        "machine's\nCPUs. When one dies all are ended, and started again from the last "
        "checkpoint.",
        epilog=_LAUNCH_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    launch.add_argument(
        "--processes", type=whole(1, 64), required=True, metavar="N", help="how many"
    )
    launch.add_argument(
        "--devices",
        type=whole(1, 64),
        default=1,
        metavar="D",
        help="simulated in each process (default: 1)",
    )
    launch.add_argument(
        "--restarts",
        type=whole(0, 1000),
        default=3,
        metavar="R",
        help="after a crash, at most (default: 3); those after a preemption are free",
    )
    launch.add_argument(
        "--logs", metavar="DIR", help="a file a process (default: a new folder)"
    )
    launch.add_argument(
        "rest", nargs=argparse.REMAINDER, metavar="-- COMMAND", help="such as train ..."
    )
    doctor = commands.add_parser(
        "doctor",
        help="check devices, processes and versions in a minute",
        description="Print what a run would find here: versions, hosts, devices; try "
        "one sum over\nall devices and one barrier; and say what sits unused.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_join(doctor)


def launch(arguments: argparse.Namespace, interrupted: Interrupts) -> int:
    """Runs `mnist-gan launch`."""
    from mnist_gan._launch import Job, supervise  # noqa: PLC0415  (see above)

    rest = arguments.rest
    job = Job(
        command=rest[1:] if rest[:1] == ["--"] else rest,
        processes=arguments.processes,
        devices=arguments.devices,
        restarts=arguments.restarts,
        logs=arguments.logs,
    )
    return supervise(job, interrupted, sys.stdout)


def doctor(arguments: argparse.Namespace, interrupted: Interrupts) -> int:
    """Runs `mnist-gan doctor`."""
    from mnist_gan import _terminal  # noqa: PLC0415  (see above)
    from mnist_gan._doctor import examine  # noqa: PLC0415
    from mnist_gan._runtime import runtime  # noqa: PLC0415

    with runtime(join_of(arguments), interrupted) as found:
        healthy = examine(found, _terminal.console(quiet=not found.hosts.first))
    return _exits.DONE if healthy else _exits.USER
